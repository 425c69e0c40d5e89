import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { TestbedError } from '../errors.js';
import { isUnavailable, type Unavailable } from '../obtained.js';
import type { RunningPart } from '../part.js';
import { freePort } from '../ports.js';
import { startCloud, startKubernetes, startBus, type Bus, type Kubernetes } from './outside.js';
import type { LabOptions } from './options.js';
import { type Addresses, serviceEnv, serviceNames, startService, startServicesTogether } from './services.js';
import { type Supervisor, supervise } from './supervisor.js';

/** A running lab: every part by name, and where to reach it. */
export type Lab = {
  readonly options: LabOptions;
  readonly kubeconfig: string;
  /** Where the bus is: nats://…, or without a nats-server http://…, where its streams can be followed and nothing else. */
  readonly natsUrl: string;
  readonly cloudUrl: string;
  /** nats-server, the parts of Kubernetes, cloud, pod-watcher, solver-0…, launcher, reaper; without a nats-server `services` instead of these. */
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
  const [found, kubernetes] = await Promise.all([startBus(options, parts), startKubernetes(options, clockFile, parts)]);
  for (const part of [found, kubernetes]) if (!isUnavailable(part)) options.progress(part.description);
  await options.prepare(kubernetes.kubeconfig);
  const cloud = await startCloud(options, { clockFile, kubeconfig: kubernetes.kubeconfig }, parts);
  options.progress(cloud.description);
  const at = { kubeconfig: kubernetes.kubeconfig, cloudUrl: cloud.url, clockFile };
  const { bus, services } = isUnavailable(found) ? await startTogether(options, found, at, parts) : await startApart(options, found, at, parts);
  options.progress(services);
  const supervisor = options.supervise ? supervise(parts, options.progress) : undefined;
  let offsetMs = 0;
  return {
    options, bus, kubernetes, parts, ...(supervisor === undefined ? {} : { supervisor }), kubeconfig: kubernetes.kubeconfig, natsUrl: bus.url, cloudUrl: cloud.url,
    inventory: [bus.description, kubernetes.description, cloud.description, services],
    async advanceClock(byMs) {
      offsetMs += byMs;
      // At once: whoever reads a file that is being written reads nothing, and would go back in time.
      await writeFile(`${clockFile}.new`, String(offsetMs));
      await rename(`${clockFile}.new`, clockFile);
    },
    async stop() {
      await supervisor?.stop();
      for (const part of [...parts.values()].toReversed()) await part.stop();
    },
  };
}

type Services = { readonly bus: Bus; /** What they are, for the inventory. */ readonly services: string };
type At = Omit<Addresses, 'natsUrl'>;

async function startApart(options: LabOptions, bus: Bus, at: At, parts: Map<string, RunningPart>): Promise<Services> {
  const env = serviceEnv(options, { ...at, natsUrl: bus.url });
  const names = serviceNames(options);
  await Promise.all(names.map((name) => startService(options, name, env, parts)));
  return { bus, services: `services: ${names.join(', ')}: real, a process each` };
}

async function startTogether(options: LabOptions, { unavailable }: Unavailable, at: At, parts: Map<string, RunningPart>): Promise<Services> {
  const busPort = await freePort();
  const url = `http://127.0.0.1:${busPort}`;
  const description = `nats-server: left out (${unavailable.split('\n', 1)[0] ?? ''}); the services share one process and the bus in it, decisions can be followed at ${url}`;
  options.progress(description);
  await startServicesTogether(options, serviceEnv(options, { ...at, natsUrl: url }), { busPort }, parts);
  const wipeStore = (): Promise<never> => Promise.reject(new TestbedError({ failed: 'the in-process bus has no store of its own', remedy: 'end the part `services`: its streams end with it' }));
  return {
    bus: { url, description, wipeStore },
    services: `services: ${serviceNames(options).join(', ')}: real, all in one process`,
  };
}
