import {
  type Condition,
  nodePriceOf,
  type Pool,
  poolHashAnnotations,
  poolKey,
} from '@dovetail/core-api';
import { classKey, type Cluster, isRetiring, type UnreadableObject } from '@dovetail/core-cluster';
import { kubeletProblems } from '@dovetail/core-ec2-model';
import { formatResources, type Resources, sumResources } from '@dovetail/core-kube-model';
import {
  type Clock,
  type KubeObject,
  type KubeResource,
  kubeResources,
  type Log,
  messageOf,
  type Metrics,
  type StopSignal,
  type Vitals,
} from '@dovetail/core-ports';
import {
  aboutPool,
  type Again,
  type ChangedObject,
  changeLive,
  conditionOf,
  type EventRecorder,
  isTrue,
  type KubeChanges,
  type NewCondition,
  type StatusWriter,
  withCondition,
  withRoot,
  WorkQueue,
} from '@dovetail/service-kit';

import { BudgetProblems, budgetsCondition } from './budget-problems.js';
import type { ClassCatalog } from './class-catalog.js';
import { consolidationCondition } from './consolidation-condition.js';
import { withAnnotations } from './kept-annotations.js';
import { classNotReady, classReasonOf, keyOf, sentenceOf, validityOf } from './pool-conditions.js';
import { PoolMetrics } from './pool-metrics.js';
import {
  isChangedSince,
  type RegistrationHealth,
  registrationHealthType,
} from './registration-health.js';

/** The ports and parts that `Pools` works with. */
export type PoolsDeps = {
  readonly kube: KubeChanges;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly vitals: Vitals;
  readonly cluster: Cluster;
  /** Whether under-used nodes are given up. */
  readonly consolidates: boolean;
  readonly catalog: ClassCatalog;
  readonly status: StatusWriter;
  readonly events: EventRecorder;
  /** Why a class is not ready; undefined when it is. */
  readonly problemOf: (classUid: string) => NewCondition | undefined;
  readonly health: RegistrationHealth;
  /** Whether solvers have the class' catalog. */
  readonly isPublished: (classUid: string) => boolean;
};

/** The conditions that a pool's Ready is made of, in Karpenter's names. */
const poolSteps = ['ValidationSucceeded', 'NodeClassReady'] as const;
/** The resources that a pool's status always shows (Karpenter's zero base). */
const zeroBase: Resources = { cpu: 0, memory: 0, pods: 0, 'ephemeral-storage': 0 };

/** Writes the status of pools: the sum of their nodes' resources, and whether they are usable. */
export class Pools {
  readonly #deps: PoolsDeps;
  readonly #queue: WorkQueue;
  readonly #reported = new Map<string, string>();
  readonly #budgets: BudgetProblems;
  readonly #shown: PoolMetrics;

  constructor(deps: PoolsDeps) {
    this.#deps = deps;
    this.#budgets = new BudgetProblems(deps);
    this.#shown = new PoolMetrics(deps);
    this.#queue = new WorkQueue({
      clock: deps.clock,
      // A look is one write, and clusters have few pools: four leave the API server to launches.
      concurrency: 4,
      // A status may be seconds late: quick after a hiccup, then gentle on a server that is down.
      retryMs: 500,
      retryMaxMs: 10_000,
      watch: { vitals: deps.vitals, name: 'pools' },
      onError: (uid, error) =>
        deps.log.debug(
          'pool-status-not-written',
          `writing the status of a pool failed: ${messageOf(error)}; trying again`,
          { uid },
        ),
    });
  }

  /** Looks again at the pools of a class, which became ready or stopped being ready. */
  classChanged(key: string): void {
    for (const pool of this.#deps.cluster.pools.by('class', key)) this.#queue.add(pool.uid);
  }

  async run(stop: StopSignal): Promise<void> {
    const { cluster } = this.#deps;
    const end = cluster.subscribe(({ kind, uid }) => {
      // Classes too: one that cannot be read has its status written here.
      if ((kind === 'pool' || kind === 'nodeclass') && uid !== '') this.#queue.add(uid);
      if (kind === 'nodeclass') {
        const row = cluster.nodeClasses.get(uid);
        const refused = cluster.unreadable().find((one) => one.object.metadata.uid === uid);
        if (row !== undefined) this.classChanged(classKey(row.ref));
        else if (refused !== undefined) this.classChanged(keyOf(refused));
      }
      if (kind !== 'claim') return;
      const claim = cluster.claims.get(uid);
      const pool = claim === undefined ? undefined : cluster.pools.one('key', poolKey(claim.pool));
      if (pool !== undefined) this.#queue.addAfter(pool.uid, settleMs);
    });
    for (const pool of cluster.pools.values()) this.#queue.add(pool.uid);
    for (const row of cluster.unreadable()) this.#queue.add(row.object.metadata.uid ?? '');
    await this.#queue.run((uid) => this.#look(uid), stop);
    end();
  }

  async #look(uid: string): Promise<Again> {
    const { cluster, status } = this.#deps;
    const unreadable = cluster.unreadable().find((row) => row.object.metadata.uid === uid);
    if (unreadable !== undefined && hasStatusOfOurs(unreadable)) {
      await this.#reportUnreadable(unreadable);
      return undefined;
    }
    const pool = cluster.pools.get(uid);
    if (pool === undefined) return this.#forget(uid);
    const valid = validityOf(pool);
    const classReady = this.#classReadyOf(pool);
    this.#reportProblem(pool, valid.status === 'False' ? valid : classReady);
    this.#budgets.tell(pool);
    await this.#keepHash(pool);
    await status.write(objectOf(pool), {
      fields: this.#statusOf(pool),
      conditions: (held, nowMs, object) =>
        withRoot(
          [
            valid,
            classReady,
            ...budgetsCondition(pool, held),
            ...consolidationCondition(pool, held, this.#deps.consolidates),
            ...this.#healthOf(pool, held, object),
          ].reduce((conditions, next) => withCondition(conditions, next, nowMs), held),
          poolSteps,
          nowMs,
        ),
    });
    return { afterMs: refreshMs };
  }

  /** Keeps the hash on a NodePool, by which Karpenter's tools find drift. */
  async #keepHash(pool: Pool): Promise<void> {
    if (pool.identity.kind !== 'NodePool') return;
    await changeLive(this.#deps.kube, objectOf(pool), ({ metadata }) =>
      withAnnotations(metadata, poolHashAnnotations(pool)),
    );
  }

  /** The condition NodeRegistrationHealthy of a NodePool, if it is to change. */
  #healthOf(pool: Pool, held: readonly Condition[], object: KubeObject): readonly NewCondition[] {
    if (pool.identity.kind !== 'NodePool') return [];
    const condition = conditionOf(held, registrationHealthType);
    const isChanged = isChangedSince(object, this.#classGenerationOf(pool));
    const next = this.#deps.health.conditionOf(pool.uid, condition, isChanged);
    return next === undefined ? [] : [next];
  }

  #classGenerationOf({ classRef }: Pool): number | undefined {
    return this.#deps.cluster.nodeClasses.one('key', classKey(classRef))?.generation;
  }

  /** The UID is a class', or a pool's that is gone. */
  #forget(uid: string): undefined {
    this.#deps.health.forget(uid);
    this.#reported.delete(uid);
    this.#budgets.forget(uid);
    this.#shown.forget(uid);
    if (this.#deps.cluster.nodeClasses.get(uid) === undefined) this.#deps.status.forget(uid);
  }

  /** The status that Karpenter writes of a NodePool; of a Provisioner only the resources. */
  #statusOf(pool: Pool): Readonly<Record<string, unknown>> {
    const { used, nodes } = this.#usageOf(pool);
    const resources = formatResources({ ...used, nodes });
    if (pool.identity.kind !== 'NodePool') return { resources };
    const generation = this.#classGenerationOf(pool);
    return {
      resources,
      nodes,
      ...(generation === undefined ? {} : { nodeClassObservedGeneration: generation }),
    };
  }

  /**
   * Reports an unusable pool once for each cause: in the log, as a metric, and as an Event on the
   * pool.
   */
  #reportProblem(pool: Pool, ready: NewCondition): void {
    const problem = ready.status === 'False' ? `${ready.reason}: ${ready.message ?? ''}` : '';
    if ((this.#reported.get(pool.uid) ?? '') === problem) return;
    this.#reported.set(pool.uid, problem);
    const { log, metrics, events } = this.#deps;
    const name = poolKey(pool.identity);
    if (problem === '') {
      log.info('pool-usable', `${name} can be used again`, { pool: name });
      return;
    }
    log.warn('pool-not-usable', `${name} cannot be used: ${ready.message ?? ''}`, {
      pool: name,
      reason: ready.reason,
    });
    metrics.count('dovetail_pools_not_usable_total', { reason: ready.reason });
    events.record({
      about: aboutPool(pool),
      type: 'Warning',
      reason: ready.reason,
      message: ready.message ?? '',
    });
  }

  /**
   * Counts the launched claims of the pool, without those that are being given up (Karpenter). They
   * have no part in its usage and still cost, until their instance is gone.
   */
  #usageOf(pool: Pool): { readonly used: Resources; readonly nodes: number } {
    const { cluster } = this.#deps;
    const paid = cluster.claims
      .by('pool', poolKey(pool.identity))
      .filter((claim) => isTrue(claim.conditions, 'Launched'));
    const launched = paid.filter((claim) => !isRetiring(cluster.nodeOfClaim(claim), claim));
    const used = sumResources([
      zeroBase,
      ...launched.map((claim) => cluster.nodeOfClaim(claim)?.capacity ?? claim.capacity),
    ]);
    const nodes = launched.length;
    this.#shown.show(pool, {
      used: { ...used, nodes },
      priceMicrosPerHour: paid.reduce(
        (sum, claim) => sum + (nodePriceOf(claim)?.priceMicrosPerHour ?? 0),
        0,
      ),
    });
    return { used, nodes };
  }

  /** The condition NodeClassReady, by the first cause that applies. */
  #classReadyOf(pool: Pool): NewCondition {
    const { cluster, catalog, problemOf, isPublished } = this.#deps;
    const [wrong] = kubeletProblems(pool.kubelet ?? {});
    if (wrong !== undefined) return classNotReady.kubelet(wrong);
    const key = classKey(pool.classRef);
    const row = cluster.nodeClasses.one('key', key);
    if (row === undefined) {
      const refused = cluster.unreadable().find((one) => keyOf(one) === key);
      return refused === undefined
        ? classNotReady.notFound(key)
        : classNotReady.refused(key, refused.failure);
    }
    if (row.deletionMs !== undefined) return classNotReady.terminating(key);
    const discovered = catalog.discovered(key);
    if (discovered === undefined) return classNotReady.notLookedUp(key);
    if (!discovered.nodeClass.ready) return classNotReady.problem(key, problemOf(row.uid));
    // If the pool were ready before solvers know its types, its first pods would be refused.
    if (!isPublished(row.uid)) return classNotReady.notPublished(key);
    return { type: 'NodeClassReady', status: 'True', reason: 'NodeClassReady' };
  }

  async #reportUnreadable(row: UnreadableObject): Promise<void> {
    const { name, uid } = row.object.metadata;
    if (uid === undefined) return;
    const message = sentenceOf(row.failure);
    const isPool = row.resource.plural === 'nodepools' || row.resource.plural === 'provisioners';
    const invalid = {
      type: 'ValidationSucceeded',
      status: 'False',
      reason: isPool ? 'NodePoolValidationFailed' : classReasonOf(row.failure.field),
      message,
    } as const;
    await this.#deps.status.write(
      { resource: row.resource, name, uid },
      {
        fields: {},
        conditions: (held, nowMs) =>
          withRoot(withCondition(held, invalid, nowMs), ['ValidationSucceeded'], nowMs),
      },
    );
  }
}

const resourceOf = (pool: Pool): KubeResource =>
  pool.identity.kind === 'NodePool' ? kubeResources.nodePools : kubeResources.provisioners;

const objectOf = (pool: Pool): ChangedObject => ({
  resource: resourceOf(pool),
  name: pool.identity.name,
  uid: pool.uid,
});

/**
 * Karpenter's own kinds, other than NodeClaims, have a status that says why they cannot be read.
 */
const hasStatusOfOurs = ({ resource }: UnreadableObject): boolean =>
  resource.group.startsWith('karpenter.') && resource.plural !== 'nodeclaims';

/** Claims come and go in bursts; their pool is added up once for each burst. */
const settleMs = 500;
/** How often a pool's status is compared with what it should say, without any change. */
const refreshMs = 30_000;
