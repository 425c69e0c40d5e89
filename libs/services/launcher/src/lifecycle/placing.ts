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
  /** How long a node stays closed after our own watch has shown the last of its bindings. */
  readonly openAfterMs: number;
};

const bindingsInParallel = 32;
/** How soon to look again whether the watch shows the bindings. */
const lookAgainMs = 50;

/** The pods that were bound to a node, and since when the watch shows them all there. */
type Bound = { readonly podUids: readonly string[]; readonly shownMs?: number };

/**
 * Puts a bin's pods where the plan has them: bound while the node is closed to others, then the node opens. kube-scheduler hears of nodes
 * and of pods in two streams, and the first may be ahead: told of an open node before it is told of the bindings, it takes the node for
 * empty and overfills it. So the node opens a while after the bindings have come back to us, as they have come to everybody by then.
 */
export class Placing {
  readonly #deps: PlacingDeps;
  /** By node UID; of nodes that are still closed. Not needed after a crash: until another leads, everybody has heard. */
  readonly #bound = new Map<string, Bound>();

  constructor(deps: PlacingDeps) { this.#deps = deps; }

  /** The pods of the claim's promise that are bound for them; the others are left to the scheduler. */
  bindable(claim: NodeClaim): readonly Pod[] {
    const { world, clock, placement } = this.#deps;
    if (placement === 'scheduler') return [];
    const volumeOf = (namespace: string, name: string): PersistentVolumeClaim | undefined => world.persistentVolumeClaims.one('key', `${namespace}/${name}`);
    return (livePromise(world, claim.uid, clock.nowMs())?.waiting ?? []).filter((pod) => needsScheduler(pod, volumeOf) === undefined);
  }

  /** `open` once the node is, or if it was never closed by us; else when to look again at the latest. */
  async place(node: Node, claim: NodeClaim): Promise<'open' | { readonly againInMs: number }> {
    const { clock, log, metrics } = this.#deps;
    const sinceMs = cordonedSinceMs(node);
    if (sinceMs === undefined) return 'open';
    const leftMs = sinceMs + this.#deps.deadlineMs - clock.nowMs();
    if (notInitialized(node, claim) !== undefined) {
      if (leftMs > 0) return { againInMs: leftMs };
      log.warn('placement-deadline', 'a node was not usable in time for its pods to be placed, it opens to everyone', { node: node.name, claim: claim.name });
      metrics.count('dovetail_placements_total', { outcome: 'deadline' });
    } else if (!isRetiring(node, claim)) {
      if (!this.#bound.has(node.uid)) this.#remember(node.uid, await this.#bindAll(node, claim));
      const waitMs = this.#waitMs(node.uid);
      if (waitMs > 0 && leftMs > 0) return { againInMs: waitMs };
    }
    await this.#deps.writer.changeNode(node, opening);
    this.#bound.delete(node.uid);
    return 'open';
  }

  #remember(nodeUid: string, podUids: readonly string[]): void {
    for (const uid of this.#bound.keys()) if (this.#deps.world.nodes.get(uid) === undefined) this.#bound.delete(uid);
    this.#bound.set(nodeUid, { podUids });
  }

  /** How long the node has to stay closed yet, as far as can be said now: 0 when everybody must have heard of its pods. */
  #waitMs(nodeUid: string): number {
    const { world, clock, openAfterMs } = this.#deps;
    const bound = this.#bound.get(nodeUid);
    if (bound === undefined || bound.podUids.length === 0) return 0;
    const shown = bound.podUids.every((uid) => { const pod = world.pods.get(uid); return pod === undefined || pod.nodeName !== undefined; });
    if (!shown) return lookAgainMs;
    const shownMs = bound.shownMs ?? clock.nowMs();
    this.#bound.set(nodeUid, { ...bound, shownMs });
    return Math.max(0, shownMs + openAfterMs - clock.nowMs());
  }

  /** Binds the promised pods that hold; answers with those that are bound now, here or elsewhere. */
  async #bindAll(node: Node, claim: NodeClaim): Promise<readonly string[]> {
    const { log, metrics } = this.#deps;
    const wanted = this.bindable(claim);
    const pods = this.#thatHold(node, wanted);
    const broken = wanted.filter((pod) => !pods.includes(pod));
    for (const pod of broken) {
      log.warn('placement-broken', 'a planned pod no longer fits its node, it is planned again', { node: node.name, pod: `${pod.namespace}/${pod.name}` });
      metrics.count('dovetail_placements_total', { outcome: 'broken' });
    }
    const bound: string[] = [];
    await inParallel(pods, bindingsInParallel, async (pod) => { if (await this.#bind(pod, node.name)) bound.push(pod.uid); });
    if (broken.length > 0) await this.#release(claim, broken);
    return bound;
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

  /** False when the pod is left to the scheduler. */
  async #bind(pod: Pod, nodeName: string): Promise<boolean> {
    const { kube, log, metrics } = this.#deps;
    try {
      await kube.bind({ namespace: pod.namespace, name: pod.name, uid: pod.uid }, nodeName);
      metrics.count('dovetail_placements_total', { outcome: 'bound' });
      log.debug('pod-bound', 'a planned pod was bound', { pod: `${pod.namespace}/${pod.name}`, node: nodeName });
      return true;
    } catch (error) {
      // Gone, or bound by somebody else meanwhile: either way it is placed or nobody's.
      if (error instanceof KubeError && (error.code === 'conflict' || error.code === 'not-found')) return true;
      if (error instanceof KubeError && (error.code === 'denied' || error.code === 'invalid')) {
        log.error('pod-not-bound', 'a planned pod could not be bound and is left to the scheduler', { pod: `${pod.namespace}/${pod.name}`, node: nodeName, error: error.message });
        metrics.count('dovetail_placements_total', { outcome: 'refused' });
        return false;
      }
      throw error;
    }
  }
}
