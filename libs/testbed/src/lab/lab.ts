import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { RunningPart } from '../part.js';
import { startCloud, startKubernetes, startBus, type Bus, type Kubernetes } from './outside.js';
import type { LabOptions } from './options.js';
import { serviceEnv, startService } from './services.js';
import { type Supervisor, supervise } from './supervisor.js';

/** A running lab: every part by name, and where to reach it. */
export type Lab = {
  readonly options: LabOptions;
  readonly kubeconfig: string;
  readonly natsUrl: string;
  readonly cloudUrl: string;
  /** nats-server, the parts of Kubernetes, cloud, pod-watcher, solver-0…, launcher, reaper. */
  readonly parts: ReadonlyMap<string, RunningPart>;
  readonly bus: Bus;
  readonly kubernetes: Kubernetes;
  /** Which parts are real and which are twins, a line each. */
  readonly inventory: readonly string[];
  /** Absent unless asked for. */
  readonly supervisor?: Supervisor;
  /** Lets time pass for the services and twins at once: adds to the clock offset that they all read. */
  advanceClock(byMs: number): Promise<void>;
  stop(): Promise<void>;
};

/** Starts every part, in the order in which they need each other, and returns when all services are ready. */
export async function startLab(options: LabOptions): Promise<Lab> {
  await rm(join(options.dir, 'ready'), { force: true });
  await mkdir(options.dir, { recursive: true });
  const clockFile = join(options.dir, 'clock-offset-ms');
  await writeFile(clockFile, '0');
  const parts = new Map<string, RunningPart>();
  try {
    return await startAll(options, clockFile, parts);
  } catch (error) {
    for (const part of [...parts.values()].toReversed()) await part.stop().catch(() => undefined);
    throw error;
  }
}

async function startAll(options: LabOptions, clockFile: string, parts: Map<string, RunningPart>): Promise<Lab> {
  const [bus, kubernetes] = await Promise.all([startBus(options, parts), startKubernetes(options, clockFile, parts)]);
  await options.prepare(kubernetes.kubeconfig);
  const cloud = await startCloud(options, { clockFile, kubeconfig: kubernetes.kubeconfig }, parts);
  const env = serviceEnv(options, { natsUrl: bus.url, kubeconfig: kubernetes.kubeconfig, cloudUrl: cloud.url, clockFile });
  const names = ['pod-watcher', ...Array.from({ length: options.solvers }, (_, index) => `solver-${index}`), 'launcher', 'reaper'];
  await Promise.all(names.map((name) => startService(options, name, env, parts)));
  const supervisor = options.supervise ? supervise(parts, options.progress) : undefined;
  let offsetMs = 0;
  return {
    options, bus, kubernetes, parts, ...(supervisor === undefined ? {} : { supervisor }), kubeconfig: kubernetes.kubeconfig, natsUrl: bus.url, cloudUrl: cloud.url,
    inventory: [bus.description, kubernetes.description, cloud.description, `services: ${names.join(', ')}: real, a process each`],
    async advanceClock(byMs) {
      offsetMs += byMs;
      await writeFile(clockFile, String(offsetMs));
    },
    async stop() {
      await supervisor?.stop();
      for (const part of [...parts.values()].toReversed()) await part.stop();
    },
  };
}
