import { annotations, parsePromise, renderPromise, type NodeClaim } from '@dovetail/core-api';
import { needsScheduler, type Node, type PersistentVolumeClaim, type Pod } from '@dovetail/core-kube-model';
import { KubeError, type Clock, type KubeApi, type Log, type Metrics } from '@dovetail/core-ports';
import type { CheckBin } from '../admission/judged.js';
import { promiseWithout } from '../admission/promising.js';
import type { CatalogView } from '../world/catalog-view.js';
import { inParallel } from '../loop/in-parallel.js';
import { livePromise } from '../world/promises.js';
import { existingNodes, isRetiring } from '../world/snapshot.js';
import type { World } from '../world/world.js';
import type { Writer } from '../world/writer.js';
import { cordonedSinceMs, opening } from './registering.js';
import { notInitialized } from './steps.js';

export type PlacingDeps = {
  readonly kube: KubeApi; readonly clock: Clock; readonly log: Log; readonly metrics: Metrics; readonly world: World; readonly writer: Writer; readonly catalog: CatalogView;
  readonly checker: () => CheckBin;
  readonly placement: 'bind' | 'scheduler';
  readonly deadlineMs: number;
};

const bindingsInParallel = 32;

/** Puts a bin's pods where the plan has them: bound while the node is closed to others, then the node opens. */
export class Placing {
  readonly #deps: PlacingDeps;

  constructor(deps: PlacingDeps) { this.#deps = deps; }

  /** The pods of the claim's promise that are bound for them; the others are left to the scheduler. */
  bindable(claim: NodeClaim): readonly Pod[] {
    const { world, clock, placement } = this.#deps;
    if (placement === 'scheduler') return [];
    const volumeOf = (namespace: string, name: string): PersistentVolumeClaim | undefined => world.persistentVolumeClaims.one('key', `${namespace}/${name}`);
    return (livePromise(world, claim.uid, clock.nowMs())?.waiting ?? []).filter((pod) => needsScheduler(pod, volumeOf) === undefined);
  }

  /** True once the node is open, or was never closed by us. Undefined result of a wait: milliseconds until the deadline. */
  async place(node: Node, claim: NodeClaim): Promise<'open' | { readonly deadlineInMs: number }> {
    const { clock, log, metrics } = this.#deps;
    const sinceMs = cordonedSinceMs(node);
    if (sinceMs === undefined) return 'open';
    const leftMs = sinceMs + this.#deps.deadlineMs - clock.nowMs();
    if (notInitialized(node, claim) !== undefined) {
      if (leftMs > 0) return { deadlineInMs: leftMs };
      log.warn('placement-deadline', 'a node was not usable in time for its pods to be placed, it opens to everyone', { node: node.name, claim: claim.name });
      metrics.count('dovetail_placements_total', { outcome: 'deadline' });
    } else if (!isRetiring(node, claim)) {
      await this.#bindAll(node, claim);
    }
    await this.#deps.writer.changeNode(node, opening);
    return 'open';
  }

  async #bindAll(node: Node, claim: NodeClaim): Promise<void> {
    const { log, metrics } = this.#deps;
    const wanted = this.bindable(claim);
    const pods = this.#thatHold(node, wanted);
    const broken = wanted.filter((pod) => !pods.includes(pod));
    for (const pod of broken) {
      log.warn('placement-broken', 'a planned pod no longer fits its node, it is planned again', { node: node.name, pod: `${pod.namespace}/${pod.name}` });
      metrics.count('dovetail_placements_total', { outcome: 'broken' });
    }
    await inParallel(pods, bindingsInParallel, (pod) => this.#bind(pod, node.name));
    if (broken.length > 0) await this.#release(claim, broken);
  }

  /** Takes pods out of the claim's promise: there is no room to wait for, and whoever is promised nothing is planned again. */
  async #release(claim: NodeClaim, pods: readonly Pod[]): Promise<void> {
    await this.#deps.writer.changeClaim(claim, (now) => {
      const held = parsePromise(now.annotations[annotations.promise]);
      if (held === undefined) return undefined;
      const left = promiseWithout(held, { podUids: pods.map((pod) => pod.uid), admission: held.admission });
      return { metadata: { annotations: { [annotations.promise]: left === undefined ? null : renderPromise(left) } } };
    });
  }

  /** All of the pods when they hold together; else those that hold one after the other. */
  #thatHold(node: Node, pods: readonly Pod[]): readonly Pod[] {
    const { world, catalog, clock, checker } = this.#deps;
    const uids = new Set(pods.map((pod) => pod.uid));
    // Room that is promised to the others of the bin is no room taken: each of them is asked about by itself.
    const nodes = existingNodes(world, catalog, clock.nowMs()).map((each) =>
      each.uid === node.uid ? { ...each, promisedPods: each.promisedPods.filter((pod) => !uids.has(pod.uid)) } : each);
    const check = checker();
    const holds = (some: readonly Pod[]): boolean =>
      check({ bin: { nodeName: node.name, nodeUid: node.uid, podUids: some.map((pod) => pod.uid), topologyGroups: [] }, pods: some, nodes, beside: { newNodes: [], placements: [] } }).length === 0;
    if (pods.length === 0 || holds(pods)) return pods;
    return pods.reduce<readonly Pod[]>((kept, pod) => (holds([...kept, pod]) ? [...kept, pod] : kept), []);
  }

  async #bind(pod: Pod, nodeName: string): Promise<void> {
    const { kube, log, metrics } = this.#deps;
    try {
      await kube.bind({ namespace: pod.namespace, name: pod.name, uid: pod.uid }, nodeName);
      metrics.count('dovetail_placements_total', { outcome: 'bound' });
      log.debug('pod-bound', 'a planned pod was bound', { pod: `${pod.namespace}/${pod.name}`, node: nodeName });
    } catch (error) {
      // Gone, or bound by somebody else meanwhile: either way it is placed or nobody's.
      if (error instanceof KubeError && (error.code === 'conflict' || error.code === 'not-found')) return;
      if (error instanceof KubeError && (error.code === 'denied' || error.code === 'invalid')) {
        log.error('pod-not-bound', 'a planned pod could not be bound and is left to the scheduler', { pod: `${pod.namespace}/${pod.name}`, node: nodeName, error: error.message });
        metrics.count('dovetail_placements_total', { outcome: 'refused' });
        return;
      }
      throw error;
    }
  }
}
