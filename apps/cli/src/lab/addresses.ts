import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

/** The files in which a lab or a demo of this folder leaves its addresses. */
export const labFiles = {
  nats: '.lab/nats-url',
  reaper: '.lab/reaper-url',
  cloud: '.lab/cloud-url',
  kubeconfig: '.lab/kubeconfig',
  /** Milliseconds that the lab's services and twins add to the machine's clock. A demo has none. */
  clock: '.lab/clock-offset-ms',
} as const;

/** An address of the lab that runs in this folder. Undefined: none runs here. */
export function labAddress(of: 'nats' | 'reaper' | 'cloud'): string | undefined {
  try {
    return readFileSync(labFiles[of], 'utf8').trim() || undefined;
  } catch {
    return undefined;
  }
}

/** Whether a kubeconfig is the one that a lab of this folder leaves. */
export const isLabKubeconfig = (path: string): boolean =>
  resolve(path) === resolve(labFiles.kubeconfig);

/** The time of this folder's lab in milliseconds since 1970; `dovetail lab clock` moves it on. */
export function labNowMs(): number {
  try {
    return Date.now() + (Number(readFileSync(labFiles.clock, 'utf8')) || 0);
  } catch {
    return Date.now();
  }
}
