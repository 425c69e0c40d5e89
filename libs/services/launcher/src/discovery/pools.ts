import { poolKey } from '@dovetail/core-api';
import { kubeletProblems } from '@dovetail/core-ec2-model';
import { formatResources, sumResources, type Resources } from '@dovetail/core-kube-model';
import { kubeResources, type Clock, type Log, type Metrics, type StopSignal } from '@dovetail/core-ports';
import { isTrue, withCondition, withRoot, type NewCondition } from '../lifecycle/conditions.js';
import { KeyedQueue, type Again } from '../loop/keyed-queue.js';
import type { KubeEvents } from '../tell/kube-events.js';
import type { StatusWriter } from '../world/status-writer.js';
import { classKey, type MalformedRow, type PoolRow, type World } from '../world/world.js';
import type { Catalog } from './catalog.js';

export type PoolsDeps = { readonly clock: Clock; readonly log: Log; readonly metrics: Metrics; readonly world: World; readonly catalog: Catalog; readonly status: StatusWriter; readonly events: KubeEvents; readonly problemOf: (classUid: string) => NewCondition | undefined; readonly isTold: (classUid: string) => boolean };

const poolSteps = ['ValidationSucceeded', 'NodeClassReady'] as const;
/** Counted resources that a pool's status always shows (Karpenter's zero base). */
const zeroBase: Resources = { cpu: 0, memory: 0, pods: 0, 'ephemeral-storage': 0 };

/** Keeps the status of pools: what their nodes add up to, and whether they can be used. */
export class Pools {
  readonly #deps: PoolsDeps;
  readonly #queue: KeyedQueue;
  readonly #said = new Map<string, string>();

  constructor(deps: PoolsDeps) {
    this.#deps = deps;
    this.#queue = new KeyedQueue(deps.clock);
  }

  /** The pools of a class want a look: it became ready, or stopped being so. */
  classChanged(key: string): void {
    for (const pool of this.#deps.world.pools.by('class', key)) this.#queue.add(pool.uid);
  }

  async run(stop: StopSignal): Promise<void> {
    const { world, log } = this.#deps;
    const end = world.subscribe((kind, uid) => {
      if (kind === 'pool' && uid !== '') this.#queue.add(uid);
      if (kind === 'nodeclass') { const row = world.nodeClasses.get(uid); if (row !== undefined) this.classChanged(classKey(row.ref)); }
      if (kind !== 'claim') return;
      const claim = world.claims.get(uid);
      const pool = claim === undefined ? undefined : world.pools.one('key', poolKey(claim.pool));
      if (pool !== undefined) this.#queue.addAfter(pool.uid, settleMs, stop);
    });
    for (const pool of world.pools.values()) this.#queue.add(pool.uid);
    for (const row of world.malformed()) this.#queue.add(row.object.metadata.uid ?? '');
    await this.#queue.run({ concurrency: 4, retryMs: 500, retryMaxMs: 10_000 }, (uid) => this.#look(uid), (uid, error) => {
      log.debug('pool-status-not-written', 'the status of a pool could not be written, it is tried again', { uid, error: String(error) });
    }, stop);
    end();
  }

  async #look(uid: string): Promise<Again> {
    const { world, status } = this.#deps;
    // Pods and nodes have no status of ours to say it in.
    const malformed = world.malformed().find((row) => row.object.metadata.uid === uid && row.resource.group.startsWith('karpenter.') && row.resource.plural !== 'nodeclaims');
    if (malformed !== undefined) { await this.#tellMalformed(malformed); return undefined; }
    const pool = world.pools.get(uid);
    if (pool === undefined) return undefined;
    const resource = pool.identity.kind === 'NodePool' ? kubeResources.nodePools : kubeResources.provisioners;
    const { used, nodes } = this.#usageOf(pool);
    const nodeClassGeneration = world.nodeClasses.one('key', classKey(pool.classRef))?.generation;
    const ready = this.#classReadyOf(pool);
    this.#tellProblem(pool, ready);
    await status.write(resource, pool, {
      fields: { resources: formatResources({ ...used, nodes }), ...(pool.identity.kind === 'NodePool' ? { nodes, ...(nodeClassGeneration === undefined ? {} : { nodeClassObservedGeneration: nodeClassGeneration }) } : {}) },
      conditions: (held, nowMs) => withRoot(
        withCondition(withCondition(held, { type: 'ValidationSucceeded', status: 'True', reason: 'ValidationSucceeded' }, nowMs), ready, nowMs), poolSteps, nowMs),
    });
    return { afterMs: refreshMs };
  }

  /** A pool that cannot be used is said once for each cause: in the log, counted, and as an Event where `kubectl describe` shows it. */
  #tellProblem(pool: PoolRow, ready: NewCondition): void {
    const problem = ready.status === 'False' ? `${ready.reason}: ${ready.message ?? ''}` : '';
    if ((this.#said.get(pool.uid) ?? '') === problem) return;
    this.#said.set(pool.uid, problem);
    const { log, metrics, events } = this.#deps;
    const name = poolKey(pool.identity);
    if (problem === '') {
      log.info('pool-usable', `${name} can be used again`, { pool: name });
      return;
    }
    log.warn('pool-not-usable', `${name} cannot be used: ${ready.message ?? ''}`, { pool: name, reason: ready.reason });
    metrics.count('dovetail_pools_not_usable_total', { reason: ready.reason });
    const apiVersion = pool.identity.kind === 'NodePool' ? 'karpenter.sh/v1' : 'karpenter.sh/v1alpha5';
    events.tell({ about: { apiVersion, kind: pool.identity.kind, name: pool.name, uid: pool.uid }, type: 'Warning', reason: ready.reason, message: ready.message ?? '' });
  }

  #usageOf(pool: PoolRow): { readonly used: Resources; readonly nodes: number } {
    const launched = this.#deps.world.claims.by('pool', poolKey(pool.identity)).filter((claim) => isTrue(claim.conditions, 'Launched'));
    const used = sumResources([zeroBase, ...launched.map((claim) => this.#deps.world.nodeOfClaim(claim)?.capacity ?? claim.capacity)]);
    for (const [type, amount] of Object.entries(used)) this.#deps.metrics.set('karpenter_nodepools_usage', amount, { nodepool: pool.name, resource_type: type });
    for (const [type, amount] of Object.entries(pool.limits)) this.#deps.metrics.set('karpenter_nodepools_limit', amount, { nodepool: pool.name, resource_type: type });
    return { used, nodes: launched.length };
  }

  #classReadyOf(pool: PoolRow): NewCondition {
    const { world, catalog, problemOf, isTold } = this.#deps;
    const type = 'NodeClassReady';
    const [wrong] = kubeletProblems(pool.kubelet ?? {});
    if (wrong !== undefined) return { type, status: 'False', reason: 'InvalidKubeletConfiguration', message: `${wrong.field.replace('spec.kubelet', 'spec.kubeletConfiguration')} is ${wrong.value}: ${wrong.remedy}` };
    const key = classKey(pool.classRef);
    const row = world.nodeClasses.one('key', key);
    if (row === undefined) return { type, status: 'False', reason: 'NodeClassNotFound', message: `there is no ${key}: create it, or correct the pool's reference` };
    if (row.deletionMs !== undefined) return { type, status: 'False', reason: 'NodeClassTerminating', message: `${key} is being deleted` };
    const discovered = catalog.discovered(key);
    if (discovered === undefined) return { type, status: 'Unknown', reason: 'NodeClassReadinessUnknown', message: `${key} has not been looked up yet` };
    const problem = problemOf(row.uid);
    if (!discovered.nodeClass.ready) return { type, status: 'False', reason: problem?.reason ?? 'NodeClassNotReady', message: problem?.message ?? `${key} is not ready` };
    // Ready before solvers know its types, a pool would have its first pods refused.
    if (!isTold(row.uid)) return { type, status: 'Unknown', reason: 'NodeClassReadinessUnknown', message: `what ${key} can boot has not been published yet` };
    return { type, status: 'True', reason: type };
  }

  async #tellMalformed(row: MalformedRow): Promise<void> {
    const { name, uid } = row.object.metadata;
    if (uid === undefined) return;
    const message = `${row.failure.field} is ${row.failure.value}: ${row.failure.remedy}`;
    const isPool = row.resource.plural === 'nodepools' || row.resource.plural === 'provisioners';
    await this.#deps.status.write(row.resource, { name, uid }, {
      fields: {},
      conditions: (held, nowMs) => withRoot(withCondition(held, { type: 'ValidationSucceeded', status: 'False', reason: isPool ? 'NodePoolValidationFailed' : 'NodeClassValidationFailed', message }, nowMs), ['ValidationSucceeded'], nowMs),
    });
  }
}

/** Claims come and go in bursts; their pool is added up once for each burst. */
const settleMs = 500;
const refreshMs = 30_000;
