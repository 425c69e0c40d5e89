import { userDataRenderer } from '@dovetail/adapter-aws/user-data';
import { busRights } from '@dovetail/contracts';
import {
  type Cloud,
  type InterruptionQueue,
  type KubeApi,
  type Leadership,
  noVitals,
  type StopSignal,
} from '@dovetail/core-ports';
import { leaseLeadership } from '@dovetail/runtime';
import { createLauncher, defaultLauncherConfig } from '@dovetail/service-launcher';
import { createPodWatcher, defaultPodWatcherConfig } from '@dovetail/service-pod-watcher';
import { createReaper, defaultReaperConfig } from '@dovetail/service-reaper';
import {
  createSolver,
  defaultSolverConfig,
  inThread,
  SolverEngine,
} from '@dovetail/service-solver';
import { clusterName, hash, Mortal, packing, ProcessClock, type Stage } from '@dovetail/sim-stage';
import { rightsIn, roleOf } from '@dovetail/test-support/chart-roles';

import { guardedBus } from './guarded-bus.js';
import { guardedKube } from './guarded-kube.js';

export const serviceNames = ['pod-watcher', 'solver', 'launcher', 'reaper'] as const;
export type ServiceName = (typeof serviceNames)[number];

/** The service of this name. Throws if there is none. */
export function serviceOf(word: string): ServiceName {
  const name = serviceNames.find((each) => each === word);
  if (name === undefined) throw new Error(`no such service: ${word}`);
  return name;
}

/** The ports of a process that reach outside. */
export type Ports = {
  readonly kube: KubeApi;
  readonly cloud: Cloud;
  readonly queue: InterruptionQueue;
  readonly bus: ReturnType<Stage['connect']>;
};
/** A replica of a service, and its own clock. */
export type Process = { readonly life: Mortal<Ports>; readonly clock: ProcessClock };

/** As the services' settings have it by default. */
const leaseMs = 15_000;

/** The settings of services that a story changes. */
export type Settings = {
  readonly consolidation: (typeof defaultReaperConfig)['consolidation'];
  /** Karpenter's gate SpotToSpotConsolidation. */
  readonly spotToSpot: boolean;
  /** How often the launcher reads the prices, in milliseconds. */
  readonly priceRefreshMs: number;
  /** Karpenter's gate NodeRepair. */
  readonly nodeRepair: boolean;
  /** Whether solvers keep what plans were made from, which takes time. */
  readonly records: boolean;
};

/** Under-used nodes go where a story's pool says so. */
export const defaultSettings: Settings = {
  consolidation: 'all',
  spotToSpot: false,
  nodeRepair: false,
  priceRefreshMs: defaultLauncherConfig.discovery.priceRefreshMs,
  records: false,
};

/** The dependencies of a process besides its ports. */
function around(
  stage: Stage,
  name: ServiceName,
  replica: string,
  { life, clock, settings }: Process & { readonly settings: Settings },
) {
  const { log, metrics } = stage;
  const scraped = metrics;
  const deps = { ...life.ports, clock, log, metrics, scraped, hash, vitals: noVitals };
  const leadership = (): Leadership =>
    leaseLeadership({
      ...deps,
      monotonicMs: () => stage.clock.nowMs(),
      namespace: 'kube-system',
      name: `dovetail-${name}`,
      identity: replica,
      durationMs: leaseMs,
    });
  const channel = { ...stage.channel, clock, bus: life.ports.bus, source: name };
  const serverClock = { aheadMs: () => clock.nowMs() - stage.clock.nowMs() };
  return { deps, leadership, channel, serverClock, settings };
}
type Around = ReturnType<typeof around>;

const starts: Readonly<
  Record<ServiceName, (given: Around, replica: string, stop: StopSignal) => Promise<void>>
> = {
  'pod-watcher': ({ deps, channel, leadership }, _replica, stop) =>
    createPodWatcher(
      { ...deps, connection: { answered: () => true }, channel, leadership: leadership() },
      defaultPodWatcherConfig,
    ).run(stop),
  solver: ({ deps, channel, settings: { records } }, replica, stop) => {
    const { clock } = deps;
    const engine = new SolverEngine({
      cluster: clusterName,
      solver: replica,
      hash,
      nowMs: () => clock.nowMs(),
      records,
    });
    const port = inThread(engine, clock);
    return createSolver(
      { ...deps, channel, packing, engine: port },
      { ...defaultSolverConfig, records },
    ).run(stop);
  },
  launcher: ({ deps, leadership, settings: { priceRefreshMs } }, _replica, stop) =>
    createLauncher(
      { ...deps, leadership: leadership(), userData: userDataRenderer },
      {
        clusterName,
        region: 'us-west-2',
        ...defaultLauncherConfig,
        discovery: { ...defaultLauncherConfig.discovery, priceRefreshMs },
      },
    ).run(stop),
  reaper: ({ deps, leadership, serverClock, settings }, _replica, stop) =>
    createReaper(
      { ...deps, serverClock, leadership: leadership() },
      {
        clusterName,
        ...defaultReaperConfig,
        gapEveryMs: 0,
        consolidation: settings.consolidation,
        spotToSpot: settings.spotToSpot,
        nodeRepair: settings.nodeRepair,
      },
    ).run(stop),
};

/** Means of a planted bug besides calling ports. */
export type Host = {
  readonly stage: Stage;
  /** Holds the process up for this time. */
  readonly holdUp: (durationMs: number) => void;
};

/** A planted bug: what a service's ports do instead of what it asks. */
export type Sabotage = (service: ServiceName, ports: Ports, host: Host) => Ports;

/** The rights that the chart gives each service in Kubernetes. */
export const kubeRights: ReadonlyMap<ServiceName, ReadonlySet<string>> = new Map(
  serviceNames.map((name) => [name, new Set(rightsIn(roleOf(name)))]),
);

/** Between a replica and the API server: faults, and witnesses of what it does. */
type Between = (service: ServiceName, replica: string, kube: KubeApi) => KubeApi;

/** The stage of a replica, and what stands between it and the rest. */
type StartOptions = {
  readonly between: Between;
  readonly settings: Settings;
  /** Called when the replica asks another service for something. */
  readonly asks: (service: ServiceName) => void;
  /** Called when the replica uses a right in Kubernetes. */
  readonly uses: (service: ServiceName, right: string) => void;
  readonly sabotage?: Sabotage | undefined;
};

const unspoilt: Sabotage = (_service, ports) => ports;

/** Starts a replica of a service on the stage, as a process that can be killed. */
export function startService(
  stage: Stage,
  name: ServiceName,
  replica: string,
  { between, settings, asks, uses, sabotage = unspoilt }: StartOptions,
): Process {
  const { cloud, log } = stage;
  const denied = (what: string): void => log.error('denied', `${replica}: ${what}`);
  const guarded = guardedBus(stage.connect(), busRights(clusterName, name), denied);
  const bus: Ports['bus'] = {
    ...guarded,
    request: (...request) => {
      asks(name);
      return guarded.request(...request);
    },
  };
  const holdUp = (durationMs: number): void => {
    life.pause();
    void stage.clock.sleep(durationMs, stage.stop.signal).then(() => life.wake());
  };
  const kube = guardedKube(between(name, replica, stage.kube), {
    rights: kubeRights.get(name) ?? new Set(),
    used: (right) => uses(name, right),
    denied,
  });
  const ports = { kube, cloud, queue: cloud, bus };
  const life: Mortal<Ports> = new Mortal(
    sabotage(name, ports, { stage, holdUp }),
    undefined,
    stage.stop.signal,
  );
  const process = { life, clock: new ProcessClock(stage.clock, life) };
  starts[name](around(stage, name, replica, { ...process, settings }), replica, life.stop).catch(
    (error: unknown) => stage.log.error('died', `${replica}: ${String(error)}`),
  );
  return process;
}
