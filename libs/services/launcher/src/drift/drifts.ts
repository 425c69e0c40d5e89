import {
  annotations,
  isWithoutPool,
  type NodeClaim,
  type NodeClass,
  poolKey,
} from '@dovetail/core-api';
import {
  classKey,
  type Cluster,
  type ClusterChange,
  instanceIdOf,
  isStatusChange,
} from '@dovetail/core-cluster';
import {
  type Drift,
  driftedType,
  type DriftFacts,
  driftOf,
  hashMigration,
  isTypeMissing,
} from '@dovetail/core-disruption';
import { isoSeconds } from '@dovetail/core-kube-model';
import {
  type Clock,
  type Instances,
  type Log,
  messageOf,
  type StopSignal,
  type Vitals,
} from '@dovetail/core-ports';
import {
  type Again,
  conditionObjects,
  conditionOf,
  isTrue,
  withCondition,
  withoutCondition,
  WorkQueue,
} from '@dovetail/service-kit';

import type { ClusterWriter } from '../cluster/cluster-writer.js';
import type { ClassCatalog } from '../discovery/class-catalog.js';
import { SeenInstances } from './seen-instances.js';

/** The ports and parts that `Drifts` works with. */
export type DriftsDeps = {
  readonly clock: Clock;
  readonly log: Log;
  readonly vitals: Vitals;
  readonly cloud: Pick<Instances, 'instancesById'>;
  readonly cluster: Cluster;
  readonly writer: ClusterWriter;
  readonly catalog: Pick<ClassCatalog, 'discovered' | 'typesOf'>;
};

/** How often a claim is looked at without any change (Karpenter's nodeclaim.disruption). */
const everyMs = 300_000;
/** Pool, class and claims change in bursts, and discovery follows its class a moment later. */
const settleMs = 2_000;
/** Looks wait for EC2 nearly all of their time, and share their questions. */
const looksMax = 200;
/** The first delay after a failed look, and the longest: as those of a claim's lifecycle. */
const [retryMs, retryMaxMs] = [1_000, 60_000];

/**
 * Finds the nodes that are no longer what their pool and class ask for. It writes the condition
 * `Drifted` of their claims, by which the reaper replaces them, and takes it off again. It also
 * brings the hashes of claims to our version.
 */
export class Drifts {
  readonly #deps: DriftsDeps;
  readonly #queue: WorkQueue;
  readonly #instances: SeenInstances;

  constructor(deps: DriftsDeps) {
    this.#deps = deps;
    // A second early counts as due, because looks are as far apart as this time.
    this.#instances = new SeenInstances(deps.clock, deps.cloud, everyMs - 1_000);
    this.#queue = new WorkQueue({
      clock: deps.clock,
      concurrency: looksMax,
      retryMs,
      retryMaxMs,
      watch: { vitals: deps.vitals, name: 'drifts' },
      onError: (uid, error, failures) =>
        deps.log.warn(
          'drift-not-decided',
          `deciding whether a node has drifted failed: ${messageOf(error)}; trying again`,
          { claim: deps.cluster.claims.get(uid)?.name ?? uid, failures },
        ),
    });
  }

  /** Works until `stop`: on every claim at first, and on those that a change is about. */
  async run(stop: StopSignal): Promise<void> {
    const { cluster } = this.#deps;
    const end = cluster.subscribe((change) => this.#heard(change));
    for (const claim of cluster.claims.values()) this.#queue.add(claim.uid);
    await this.#queue.run((uid) => this.#look(uid, stop), stop);
    end();
  }

  #heard(change: ClusterChange): void {
    const { kind, after, uid } = change;
    if (after === undefined) return;
    if (kind === 'claim') this.#queue.addAfter(uid, settleMs);
    if (change.kind === 'pool' && isStatusChange(change)) return;
    const { claims } = this.#deps.cluster;
    const touched =
      kind === 'pool'
        ? claims.by('pool', poolKey(after.identity))
        : kind === 'nodeclass'
          ? claims.by('class', classKey(after.ref))
          : [];
    for (const claim of touched) this.#queue.addAfter(claim.uid, settleMs);
  }

  async #look(uid: string, stop: StopSignal): Promise<Again> {
    const { cluster, catalog } = this.#deps;
    const held = cluster.claims.get(uid);
    if (held === undefined || held.deletionMs !== undefined || isWithoutPool(held))
      return undefined;
    const pool = cluster.pools.one('key', poolKey(held.pool));
    const key = classKey(held.classRef);
    const nodeClass = catalog.discovered(key)?.nodeClass;
    const claim = await this.#migrated(held, {
      ...(pool === undefined ? {} : { pool }),
      ...(nodeClass === undefined ? {} : { nodeClass }),
    });
    if (claim === undefined) return undefined;
    const facts = {
      claim,
      ...(pool === undefined ? {} : { pool }),
      ...(nodeClass === undefined ? {} : { nodeClass }),
      types: catalog.typesOf(key, pool?.kubelet),
    };
    const instance = await this.#instanceOf(claim, nodeClass, stop);
    const drift = driftOf({
      ...facts,
      ...(instance === undefined ? {} : { instance }),
      typeMissingMs: await this.#typeMissingMs(facts),
    });
    await this.#write(claim, drift);
    return { afterMs: everyMs };
  }

  /** The claim with hashes of our version; undefined when it is gone. */
  async #migrated(
    claim: NodeClaim,
    of: Pick<DriftFacts, 'pool' | 'nodeClass'>,
  ): Promise<NodeClaim | undefined> {
    if (Object.keys(hashMigration(claim, of)).length === 0) return claim;
    return this.#deps.writer.changeClaim(claim, (now) => {
      const hashes = hashMigration(now, of);
      return Object.keys(hashes).length === 0 ? undefined : { metadata: { annotations: hashes } };
    });
  }

  /** Only an initialized node can be replaced, so that others are not worth a call. */
  async #instanceOf(
    claim: NodeClaim,
    nodeClass: NodeClass | undefined,
    stop: StopSignal,
  ): Promise<DriftFacts['instance']> {
    const id = instanceIdOf(claim);
    if (id === undefined || nodeClass === undefined) return undefined;
    return isTrue(claim.conditions, 'Initialized') ? this.#instances.of(id, stop) : undefined;
  }

  /**
   * How long the type of a claim is missing. Since when is written on the claim, because a launcher
   * may not live for as long as that takes.
   */
  async #typeMissingMs(facts: Pick<DriftFacts, 'claim' | 'types'>): Promise<number> {
    const { claim, types } = facts;
    // Without a catalog nothing is known.
    if (types.size === 0) return 0;
    const nowMs = this.#deps.clock.nowMs();
    const isMissing = isTypeMissing(facts);
    const sinceMs = missingSinceMs(claim);
    if (isMissing && sinceMs !== undefined) return Math.max(0, nowMs - sinceMs);
    if (!isMissing && claim.annotations[annotations.typeMissing] === undefined) return 0;
    const written = isMissing ? isoSeconds(nowMs) : null;
    await this.#deps.writer.changeClaim(claim, () => ({
      metadata: { annotations: { [annotations.typeMissing]: written } },
    }));
    return 0;
  }

  async #write(claim: NodeClaim, drift: Drift): Promise<void> {
    if (drift.kind === 'unknown') return;
    const { clock, log, writer } = this.#deps;
    const before = conditionOf(claim.conditions, driftedType)?.reason;
    await writer.changeClaimStatus(claim, (now) => {
      const conditions =
        drift.kind === 'none'
          ? withoutCondition(now.conditions, driftedType)
          : withCondition(
              now.conditions,
              { type: driftedType, status: 'True', ...drift },
              clock.nowMs(),
            );
      return conditions === now.conditions
        ? undefined
        : { status: { conditions: conditionObjects(conditions) } };
    });
    if (drift.kind === 'none' ? before === undefined : before === drift.reason) return;
    const about = { claim: claim.name, node: claim.nodeName ?? '' };
    if (drift.kind === 'none')
      log.info('drift-ended', `${claim.name} is again what its pool and class ask for`, about);
    else
      log.info('node-drifted', `${claim.name} has drifted: ${drift.reason}: ${drift.message}`, {
        ...about,
        reason: drift.reason,
      });
  }
}

/** Since when the type of a claim is missing, as its annotation says. Undefined: it does not. */
function missingSinceMs({ annotations: held }: NodeClaim): number | undefined {
  const sinceMs = Date.parse(held[annotations.typeMissing] ?? '');
  return Number.isNaN(sinceMs) ? undefined : sinceMs;
}
