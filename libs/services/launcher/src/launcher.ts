import { type Channel, streamSpecs } from '@dovetail/contracts';
import { Cluster } from '@dovetail/core-cluster';
import {
  type DebugState,
  type Epoch,
  type Readiness,
  type Service,
  Stopper,
  type StopSignal,
} from '@dovetail/core-ports';
import { busOutbox, Decisions, type Outbox, untilDone } from '@dovetail/service-kit';

import { watchCluster, watchedKinds } from './cluster/watches.js';
import type { LauncherConfig } from './config.js';
import type { LauncherDeps } from './deps.js';
import { Knowledge } from './discovery/knowledge.js';
import { LauncherEpoch } from './launcher-epoch.js';
import { inOffice } from './office.js';
import { UntoldPlans } from './tell/untold-plans.js';

/**
 * The launcher admits plans, launches what was admitted, takes nodes from launch to initialized,
 * and keeps classes, pools and the catalog up to date. Two run and one leads; both watch and know
 * the region, so that the other can take over at once. A standby is ready once it knows the
 * cluster.
 */
export const createLauncher = (deps: LauncherDeps, config: LauncherConfig): Service =>
  new Launcher(deps, config);

class Launcher implements Service {
  readonly #deps: LauncherDeps;
  readonly #config: LauncherConfig;
  readonly #cluster = new Cluster(watchedKinds);
  readonly #knowledge: Knowledge;
  readonly #channel: Channel;
  /** It outlives epochs: what a leader has decided stays true after it. */
  readonly #outbox: Outbox;
  readonly #decisions: Decisions;
  /** It outlives epochs, so that it hears what solvers told before one began. */
  readonly #untoldPlans: UntoldPlans;
  /** Undefined while another launcher leads. */
  #epoch: LauncherEpoch | undefined;

  constructor(deps: LauncherDeps, config: LauncherConfig) {
    this.#deps = deps;
    this.#config = config;
    this.#knowledge = new Knowledge(deps, config);
    const { bus, hash, clock, log } = deps;
    const traced = deps.traces === undefined ? {} : { traces: deps.traces };
    const cluster = config.clusterName;
    this.#channel = { bus, cluster, hash, source: 'launcher', clock, ...traced };
    this.#outbox = busOutbox(deps);
    this.#decisions = new Decisions({ channel: this.#channel, outbox: this.#outbox, log });
    this.#untoldPlans = new UntoldPlans({
      channel: this.#channel,
      decisions: this.#decisions,
      log,
    });
  }

  async run(outer: StopSignal): Promise<void> {
    // One listener on the caller's signal; our many loops listen here.
    const stop = new Stopper(outer);
    const { kube, bus, leadership } = this.#deps;
    const kubernetes = await untilDone(
      this.#deps,
      'kubernetes-version',
      () => kube.serverVersion(),
      stop,
    );
    if (kubernetes === undefined) return;
    const streams = streamSpecs(this.#config.clusterName);
    await Promise.all([
      untilDone(this.#deps, 'streams', () => bus.ensureStreams(streams), stop).then(() =>
        this.#untoldPlans.run(stop),
      ),
      watchCluster(this.#deps, this.#cluster, kubernetes, stop),
      this.#knowledge.run(stop),
      this.#outbox.run(stop),
      leadership.run(stop, (epoch) => this.#lead(epoch)),
    ]);
  }

  async #lead(epoch: Epoch): Promise<void> {
    this.#epoch = new LauncherEpoch(
      {
        ...inOffice(this.#deps, epoch.stop),
        cluster: this.#cluster,
        knowledge: this.#knowledge,
        channel: this.#channel,
        outbox: this.#outbox,
        decisions: this.#decisions,
        untoldPlans: this.#untoldPlans,
        epoch,
      },
      this.#config,
    );
    try {
      await this.#epoch.run();
    } finally {
      this.#epoch = undefined;
    }
  }

  ready(): Readiness {
    return {
      watches: this.#cluster.synced(),
      region: this.#knowledge.region !== undefined,
      cluster: this.#knowledge.cluster !== undefined,
      bus: this.#deps.bus.connected(),
    };
  }

  debugState(): DebugState {
    const { leadership } = this.#deps;
    const [cluster, knowledge] = [this.#cluster, this.#knowledge];
    return {
      leading: leadership.held(),
      epoch: leadership.epoch(),
      unsynced: cluster.unsynced(),
      region: knowledge.region?.revision ?? null,
      cluster: knowledge.cluster?.identity ?? null,
      counts: {
        pods: cluster.pods.size,
        nodes: cluster.nodes.size,
        claims: cluster.claims.size,
        pools: cluster.pools.size,
        classes: cluster.nodeClasses.size,
      },
      malformed: cluster
        .unreadable()
        .map(
          ({ resource, object, failure }) =>
            `${resource.kind}/${object.metadata.name}: ${failure.field}`,
        ),
      ...(this.#epoch === undefined ? {} : { thisEpoch: this.#epoch.debugState() }),
    };
  }
}
