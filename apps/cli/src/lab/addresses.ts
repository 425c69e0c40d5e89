import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

/** The files in which a lab or a demo of this folder leaves its addresses. */
export const labFiles = {
  nats: '.lab/nats-url',
  reaper: '.lab/reaper-url',
  kubeconfig: '.lab/kubeconfig',
} as const;

/** An address of the lab that runs in this folder. Undefined: none runs here. */
export function labAddress(of: 'nats' | 'reaper'): string | undefined {
  try {
    return readFileSync(labFiles[of], 'utf8').trim() || undefined;
  } catch {
    return undefined;
  }
}

/** Whether a kubeconfig is the one that a lab of this folder leaves. */
export const isLabKubeconfig = (path: string): boolean =>
  resolve(path) === resolve(labFiles.kubeconfig);
