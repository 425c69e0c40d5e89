import { streamSpecs, type Channel } from '@dovetail/contracts';
import type { KubernetesVersion } from '@dovetail/core-api';
import type { StopSignal } from '@dovetail/core-ports';
import type { LauncherConfig } from './config.js';
import type { LauncherDeps } from './deps.js';
import { Knowledge } from './discovery/knowledge.js';
import { Leading } from './leading.js';
import { Stopper } from '@dovetail/core-ports';
import { watchWorld } from './world/watches.js';
import { World } from './world/world.js';

export type Launcher = {
  /** Runs until `stop`; resolves when everything has ended. Outside systems that are away are waited for, by name in the log. */
  run(stop: StopSignal): Promise<void>;
  /** What the launcher believes now, as JSON, for /debug/state. */
  debugState(): Readonly<Record<string, unknown>>;
  /** Why it is not ready to work; empty when it is. A standby is ready once it knows the cluster. */
  notReady(): readonly string[];
};

/**
 * The launcher: admits plans, launches what was admitted, takes nodes from launch to initialised, and keeps classes, pools and the
 * catalog up to date. Two run, one leads; both watch and know the region, so that the other can take over at once.
 */
export function createLauncher(deps: LauncherDeps, config: LauncherConfig): Launcher {
  const world = new World();
  const knowledge = new Knowledge(deps, config);
  const channel: Channel = { bus: deps.bus, cluster: config.clusterName, hash: deps.hash, source: 'launcher', clock: deps.clock };
  let leading: Leading | undefined;
  return {
    async run(outer) {
      // One listener on the caller's signal; our many loops listen here.
      const stop = new Stopper(outer);
      const kubernetes = await untilDone(deps, 'kubernetes-version', () => deps.kube.serverVersion(), stop);
      if (kubernetes === undefined) return;
      await Promise.all([
        ensureStreams(deps, config.clusterName, stop),
        watchWorld(deps, world, kubernetes, stop),
        knowledge.run(stop),
        deps.leadership.run(stop, async (term) => {
          leading = new Leading({ ...deps, world, knowledge, channel, term }, config);
          try { await leading.run(); } finally { leading = undefined; }
        }),
      ]);
    },
    debugState: () => ({
      leading: deps.leadership.held(), epoch: deps.leadership.epoch(), unsynced: world.unsynced(), region: knowledge.region?.revision ?? null, cluster: knowledge.cluster?.identity ?? null,
      counts: { pods: world.pods.size, nodes: world.nodes.size, claims: world.claims.size, pools: world.pools.size, classes: world.nodeClasses.size },
      malformed: world.malformed().map((row) => `${row.resource.kind}/${row.object.metadata.name}: ${row.failure.field}`),
      ...(leading === undefined ? {} : { term: leading.debugState() }),
    }),
    notReady: () => [
      ...world.unsynced().map((kind) => `${kind}s have not been read yet`),
      ...(knowledge.region === undefined ? ['instance types and prices have not been read yet'] : []),
      ...(knowledge.cluster === undefined ? ['the cluster\'s endpoint, CA and version are not known yet'] : []),
      ...(deps.bus.connected() ? [] : ['the bus is not connected']),
    ],
  };
}

/** Runs a launcher until `stop`. See `createLauncher`. */
export const runLauncher = (deps: LauncherDeps, config: LauncherConfig, stop: StopSignal): Promise<void> => createLauncher(deps, config).run(stop);

const retryMs = 1_000;

async function ensureStreams(deps: LauncherDeps, cluster: string, stop: StopSignal): Promise<void> {
  await untilDone(deps, 'streams', () => deps.bus.ensureStreams(streamSpecs(cluster)), stop);
}

async function untilDone<T = KubernetesVersion>(deps: LauncherDeps, what: string, act: () => Promise<T>, stop: StopSignal): Promise<T | undefined> {
  while (!stop.aborted) {
    try {
      return await act();
    } catch (error) {
      deps.log.warn('start-waits', `${what} cannot be had yet, tried again in ${retryMs / 1000} s`, { what, error: String(error) });
      await deps.clock.sleep(retryMs, stop);
    }
  }
  return undefined;
}
