import { type ClusterKind, volumeKinds } from '@dovetail/core-cluster';
import { kubeResources, messageOf, Stopper, type StopSignal } from '@dovetail/core-ports';

import { admitPlans } from './admission/admit-plans.js';
import { admissionText } from './cluster/admission-mark.js';
import { claimFrom } from './cluster/readings.js';
import type { LauncherConfig } from './config.js';
import { followCatalogStream } from './discovery/catalog-stream.js';
import { showOfferings } from './discovery/offering-samples.js';
import { type EpochDeps, type EpochParts, epochParts } from './epoch-parts.js';
import { recordTransitions } from './lifecycle/transitions.js';
import { livePromises } from './tell/live-promises.js';

/**
 * How often the epoch asks whether all watches have been read; they usually have, while it stood
 * by.
 */
const syncMs = 250;
/**
 * How long admission waits for the kinds that only pods with volumes need, in milliseconds. Lists
 * take seconds. After a longer wait a right is probably missing, and only pods with volumes wait
 * on. A shorter one would refuse such pods while a large list is still being read.
 */
const volumesWaitMs = 30_000;
/**
 * The kinds that launching, registering and binding read. Admission proves its bins on every kind,
 * so it alone waits for the others. Any pod may be under an anti-affinity that selects namespaces
 * by their labels, so no pod goes without these.
 */
const neededKinds: readonly ClusterKind[] = [
  'claim',
  'node',
  'pod',
  'pool',
  'nodeclass',
  'daemonset',
];
/** Pause after a list of the claims that failed. */
const listAgainMs = 500;

/** One epoch of a leading launcher: everything that writes runs here and ends with it. */
export class LauncherEpoch {
  readonly #deps: EpochDeps;
  readonly #config: LauncherConfig;
  /** Undefined until the inherited claims are known. */
  #parts: EpochParts | undefined;

  constructor(deps: EpochDeps, config: LauncherConfig) {
    this.#deps = deps;
    this.#config = config;
  }

  /** The state of the epoch as JSON, for /debug/state. */
  debugState(): Readonly<Record<string, unknown>> {
    const nowMs = this.#deps.clock.nowMs();
    const parts = this.#parts;
    return {
      admission: parts === undefined ? null : admissionText(parts.rounds.head),
      launchesInWork: parts?.launch.inWork() ?? 0,
      catalog: parts?.catalog.revision ?? '',
      avoided: parts?.unavailable.avoided(nowMs) ?? [],
      promises: livePromises(this.#deps.cluster, nowMs),
    };
  }

  /**
   * Works until the epoch ends. Rejects with LeadershipLost when the fence says that another leads.
   */
  async run(): Promise<void> {
    const { stop: epochStop } = this.#deps.epoch;
    await this.#untilSynced('leading', neededKinds, epochStop);
    if (epochStop.aborted) return;
    const inherited = await this.#inheritedClaims(epochStop);
    const parts = epochParts(this.#deps, this.#config, inherited);
    this.#parts = parts;
    const stop = new Stopper(epochStop);
    const endTransitions = recordTransitions(this.#deps.cluster, parts.events);
    showOfferings(this.#deps, parts, stop);
    const endChurn = this.#deps.cluster.subscribe((change) => {
      parts.churn.heard(change);
      parts.vainTypes.heard(change);
      parts.vainPools.heard(change);
    });
    // A loop that ends or fails ends the others.
    const loops = this.#loops(parts, stop).map((loop) => loop.finally(() => stop.abort()));
    const ended = await Promise.allSettled(loops);
    endTransitions();
    endChurn();
    const failed = ended.find((result) => result.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  #loops(parts: EpochParts, stop: StopSignal): readonly Promise<void>[] {
    return [
      parts.feed.run(stop),
      this.#admit(parts, stop),
      parts.events.run(stop),
      parts.voidClaims.run(stop),
      parts.launch.run(stop),
      parts.lifecycle.run(stop),
      parts.displacedPods.run(stop),
      parts.tagger.run(stop),
      parts.classes.run(stop),
      parts.pools.run(stop),
      parts.drifts.run(stop),
      parts.liveKarpenter.run(stop),
      parts.volumeWaiters.run(stop),
      parts.templates.run(stop),
      followCatalogStream(parts, stop),
    ];
  }

  /**
   * Solvers hear of the new epoch before its first round, so that their plans are not of an older
   * one.
   */
  async #admit(parts: EpochParts, stop: StopSignal): Promise<void> {
    const { cluster, clock, log } = this.#deps;
    const { plansPerRoundMax } = this.#config.admission;
    const patience = new Stopper(stop);
    void clock.sleep(volumesWaitMs, patience).then(() => patience.abort());
    await this.#untilSynced('admission', cluster.unsynced(), patience);
    patience.abort();
    const others = cluster.unsynced().filter((kind) => !volumeKinds.some((each) => each === kind));
    await this.#untilSynced('admission', others, stop);
    if (!stop.aborted && !cluster.synced())
      log.warn(
        'volumes-unknown',
        `pods with volumes get no node until the launcher may list ${cluster.unsynced().join(', ')}`,
        { unsynced: cluster.unsynced() },
      );
    await parts.feed.publishHead(parts.rounds.head, stop);
    await admitPlans({ ...parts, reader: parts.channel, plansPerRoundMax }, stop);
  }

  /** Waits for the first lists of these kinds. */
  async #untilSynced(
    waiter: 'leading' | 'admission',
    kinds: readonly ClusterKind[],
    stop: StopSignal,
  ): Promise<void> {
    const { clock, cluster, log } = this.#deps;
    let told = '';
    while (!stop.aborted && !cluster.areSynced(...kinds)) {
      const unsynced = cluster.unsynced().filter((kind) => kinds.includes(kind));
      const text = unsynced.join(', ');
      if (text !== told)
        log.info('waiting-for-watches', `${waiter} waits for the first lists of ${text}`, {
          unsynced,
        });
      told = text;
      await clock.sleep(syncMs, stop);
    }
  }

  /**
   * UIDs of the claims that exist as this epoch begins. They are read after the Lease was taken, so
   * a claim that a deposed leader makes later is not among them.
   */
  async #inheritedClaims(stop: StopSignal): Promise<ReadonlySet<string>> {
    const { kube, clock, log } = this.#deps;
    while (!stop.aborted) {
      try {
        const objects = await kube.list(kubeResources.nodeClaims);
        for (const object of objects) this.#mirrorClaim(object);
        return new Set(objects.flatMap(({ metadata }) => metadata.uid ?? []));
      } catch (error) {
        log.warn(
          'claims-not-listed',
          `listing the claims failed: ${messageOf(error)}; trying again`,
        );
        await clock.sleep(listAgainMs, stop);
      }
    }
    return new Set();
  }

  #mirrorClaim(object: Parameters<typeof claimFrom>[0]): void {
    try {
      this.#deps.cluster.set('claim', claimFrom(object));
    } catch {
      // The watch reports a claim that cannot be read.
    }
  }
}
