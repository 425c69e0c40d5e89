import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { isUnavailable, type Unavailable } from '../obtain/obtained.js';
import { TestbedError } from '../process/errors.js';
import type { RunningPart } from '../process/part.js';
import { freePort } from '../process/ports.js';
import { startKarpenter } from './karpenter.js';
import type { LabOptions } from './options.js';
import { type Bus, type Kubernetes, startBus, startCloud, startKubernetes } from './outside.js';
import {
  type Addresses,
  serviceEnv,
  serviceNames,
  startService,
  startServicesTogether,
} from './services.js';
import { supervise, type Supervisor } from './supervisor.js';

/** A running lab: its parts by name, and their addresses. */
export type Lab = {
  readonly options: LabOptions;
  readonly kubeconfig: string;
  /**
   * nats://…, or http://… without a nats-server: others can then only follow its streams. Empty
   * with Karpenter, which needs no bus.
   */
  readonly natsUrl: string;
  readonly cloudUrl: string;
  /**
   * nats-server, the parts of Kubernetes, cloud, pod-watcher, solver-0…, launcher and reaper.
   * Without a nats-server, `services` stands for all services. With Karpenter, `karpenter` does.
   */
  readonly parts: Map<string, RunningPart>;
  readonly bus: Bus;
  readonly kubernetes: Kubernetes;
  /** One line per part, which says whether it is real or a twin. */
  readonly inventory: readonly string[];
  /** Absent unless asked for. */
  readonly supervisor?: Supervisor;
  /** Moves time on for services and twins at once, by the clock offset that they all read. */
  advanceClock(byMs: number): Promise<void>;
  stop(): Promise<void>;
};

const clockFileOf = (options: LabOptions): string => join(options.dir, 'clock-offset-ms');

/** Starts every part in the order of need. Returns when all services are ready. */
export async function startLab(options: LabOptions): Promise<Lab> {
  await rm(join(options.dir, 'ready'), { force: true });
  await mkdir(options.dir, { recursive: true });
  const clockFile = clockFileOf(options);
  await writeFile(clockFile, '0');
  const parts = new Map<string, RunningPart>();
  try {
    return await startAll(options, clockFile, parts);
  } catch (error) {
    for (const part of [...parts.values()].toReversed()) await part.stop().catch(() => undefined);
    throw error;
  }
}

async function startAll(
  options: LabOptions,
  clockFile: string,
  parts: Map<string, RunningPart>,
): Promise<Lab> {
  const [found, kubernetes] = await Promise.all([
    options.karpenter === undefined ? startBus(options, parts) : withoutBus,
    startKubernetes(options, clockFile, parts),
  ]);
  for (const part of [found, kubernetes])
    if (!isUnavailable(part)) options.progress(part.description);
  await options.prepare(kubernetes.kubeconfig);
  const cloud = await startCloud(options, { clockFile, kubeconfig: kubernetes.kubeconfig }, parts);
  options.progress(cloud.description);
  const at = { kubeconfig: kubernetes.kubeconfig, cloudUrl: cloud.url, clockFile };
  const { bus, services } = await startAutoscaler(options, found, at, parts);
  options.progress(services);
  const supervisor = options.supervise ? supervise(parts, options.progress) : undefined;
  return {
    options,
    bus,
    kubernetes,
    parts,
    ...(supervisor === undefined ? {} : { supervisor }),
    kubeconfig: kubernetes.kubeconfig,
    natsUrl: bus.url,
    cloudUrl: cloud.url,
    inventory: inventoryOf(options, parts, [bus, kubernetes, cloud, { description: services }]),
    advanceClock: clockAdvancer(clockFile),
    async stop() {
      await supervisor?.stop();
      for (const part of [...parts.values()].toReversed()) await part.stop();
    },
  };
}

/** One line per part, and one about the console if it was asked for. */
function inventoryOf(
  options: LabOptions,
  parts: ReadonlyMap<string, RunningPart>,
  all: readonly { readonly description: string }[],
): readonly string[] {
  const lines = all.map(({ description }) => description);
  if (options.console !== true) return lines;
  const page = parts.get('console')?.pageUrl;
  return [...lines, `console: ${page ?? 'left out, because it needs a nats-server'}`];
}

/** Starts the services of a lab that was started without them. Returns when all are ready. */
export async function startServices(lab: Lab): Promise<void> {
  const { options, bus, kubeconfig, cloudUrl } = lab;
  const at = { kubeconfig, cloudUrl, clockFile: clockFileOf(options) };
  const parts = new Map<string, RunningPart>();
  await startApart(options, bus, at, parts);
  for (const [name, part] of parts) lab.parts.set(name, part);
}

/** Starts one more replica of a service, such as `launcher-1`. Returns when it is ready. */
export async function startReplica(lab: Lab, name: string): Promise<RunningPart> {
  const { options, bus, kubeconfig, cloudUrl } = lab;
  const at = { kubeconfig, cloudUrl, clockFile: clockFileOf(options) };
  return startService(options, name, { ...serviceEnv(options, at), NATS_URL: bus.url }, lab.parts);
}

/**
 * Adds to the offset in the file, which `dovetail lab clock` adds to as well. The file is replaced
 * at once, so that no reader finds it empty.
 */
function clockAdvancer(clockFile: string): Lab['advanceClock'] {
  return async (byMs) => {
    const offsetMs = Number(await readFile(clockFile, 'utf8')) + byMs;
    await writeFile(`${clockFile}.new`, String(offsetMs));
    await rename(`${clockFile}.new`, clockFile);
  };
}

type Services = {
  readonly bus: Bus;
  /** Their line of the inventory. */
  readonly services: string;
};

/** The bus of a lab with Karpenter. */
const withoutBus: Bus = {
  url: '',
  description: 'nats-server: left out, because Karpenter needs no bus',
  wipeStore: () => Promise.resolve(),
};

async function startAutoscaler(
  options: LabOptions,
  found: Bus | Unavailable,
  at: Addresses,
  parts: Map<string, RunningPart>,
): Promise<Services> {
  if (options.servicesLeftOut === true) return withoutServices(found);
  if (isUnavailable(found)) return await startTogether(options, found, at, parts);
  if (options.karpenter === undefined) return await startApart(options, found, at, parts);
  parts.set('karpenter', await startKarpenter(options, options.karpenter, at));
  const services = `Karpenter ${options.karpenter.version}: real, its AWS controller instead of our services`;
  return { bus: found, services };
}

/** Without a nats-server, a lab without services has no bus either. */
function withoutServices(found: Bus | Unavailable): Services {
  const services = 'services: left out';
  if (!isUnavailable(found)) return { bus: found, services };
  const description = `nats-server: left out (${found.unavailable.split('\n', 1)[0] ?? ''})`;
  return { bus: { ...withoutBus, description }, services };
}

async function startApart(
  options: LabOptions,
  bus: Bus,
  at: Addresses,
  parts: Map<string, RunningPart>,
): Promise<Services> {
  const env = { ...serviceEnv(options, at), NATS_URL: bus.url };
  const names = serviceNames(options);
  await Promise.all(names.map((name) => startService(options, name, env, parts)));
  return { bus, services: `services: ${names.join(', ')}: real, a process each` };
}

async function startTogether(
  options: LabOptions,
  { unavailable }: Unavailable,
  at: Addresses,
  parts: Map<string, RunningPart>,
): Promise<Services> {
  const busPort = await freePort();
  const url = `http://127.0.0.1:${busPort}`;
  const description = `nats-server: left out (${unavailable.split('\n', 1)[0] ?? ''}); the services share one process and the bus in it, decisions can be followed at ${url}`;
  options.progress(description);
  await startServicesTogether(options, serviceEnv(options, at), { busPort }, parts);
  const wipeStore = (): Promise<never> =>
    Promise.reject(
      new TestbedError({
        failed: 'the in-process bus has no store of its own',
        remedy: 'end the part `services`: its streams end with it',
      }),
    );
  return {
    bus: { url, description, wipeStore },
    services: `services: ${serviceNames({ ...options, console: false }).join(', ')}: real, all in one process`,
  };
}
