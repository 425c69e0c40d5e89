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
import { clusterName, hash, Mortal, type Stage } from '@dovetail/sim-stage';

import { guardedBus } from './guarded-bus.js';

export const serviceNames = ['pod-watcher', 'solver', 'launcher', 'reaper'] as const;
export type ServiceName = (typeof serviceNames)[number];

/** The ports of a process that reach outside. */
export type Ports = {
  readonly kube: KubeApi;
  readonly cloud: Cloud;
  readonly queue: InterruptionQueue;
  readonly bus: ReturnType<Stage['connect']>;
};
export type Process = Mortal<Ports>;

/** As the services' settings have it by default. */
const leaseMs = 15_000;

/** The dependencies of a process besides its ports. */
function around(stage: Stage, name: ServiceName, replica: string, life: Process) {
  const { clock, log, metrics } = stage;
  const deps = { ...life.ports, clock, log, metrics, hash, vitals: noVitals };
  const leadership = (): Leadership =>
    leaseLeadership({
      ...deps,
      namespace: 'kube-system',
      name: `dovetail-${name}`,
      identity: replica,
      durationMs: leaseMs,
    });
  return { deps, leadership, channel: { ...stage.channel, bus: life.ports.bus, source: name } };
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
  solver: ({ deps, channel }, replica, stop) => {
    const { clock } = deps;
    const engine = new SolverEngine({
      cluster: clusterName,
      solver: replica,
      hash,
      nowMs: () => clock.nowMs(),
    });
    const port = inThread(engine, clock);
    return createSolver({ ...deps, channel, engine: port }, defaultSolverConfig).run(stop);
  },
  launcher: ({ deps, leadership }, _replica, stop) =>
    createLauncher(
      { ...deps, leadership: leadership(), userData: userDataRenderer },
      { clusterName, region: 'us-west-2', ...defaultLauncherConfig },
    ).run(stop),
  reaper: ({ deps, leadership }, _replica, stop) =>
    createReaper(
      { ...deps, leadership: leadership() },
      // Under-used nodes go where a story's pool says so.
      { clusterName, ...defaultReaperConfig, consolidation: 'all' },
    ).run(stop),
};

/** A planted bug: what a service's ports do instead of what it asks. */
export type Sabotage = (service: ServiceName, ports: Ports) => Ports;

/** Starts a replica of a service on the stage, as a process that can be killed. */
export function startService(
  stage: Stage,
  name: ServiceName,
  replica: string,
  sabotage: Sabotage = (_service, ports) => ports,
): Process {
  const { kube, cloud, log } = stage;
  const denied = (what: string): void => log.error('denied', `${replica}: ${what}`);
  const bus = guardedBus(stage.connect(), busRights(clusterName, name), denied);
  const life: Process = new Mortal(
    sabotage(name, { kube, cloud, queue: cloud, bus }),
    undefined,
    stage.stop.signal,
  );
  starts[name](around(stage, name, replica, life), replica, life.stop).catch((error: unknown) =>
    stage.log.error('died', `${replica}: ${String(error)}`),
  );
  return life;
}
