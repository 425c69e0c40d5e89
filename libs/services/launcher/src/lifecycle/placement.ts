import type { NodeClaim } from '@dovetail/core-api';
import { type Cluster, isRetiring, livePromise } from '@dovetail/core-cluster';
import {
  needsScheduler,
  type Node,
  type PersistentVolumeClaim,
  type Pod,
} from '@dovetail/core-kube-model';
import { KubeError, type PodBindings } from '@dovetail/core-ports';
import { expectedDaemonSets } from '@dovetail/core-scheduling';
import { inParallel } from '@dovetail/service-kit';

import type { ClusterWriter } from '../cluster/cluster-writer.js';
import { cordonedSinceMs, openedNode } from './node-changes.js';
import { notInitialized } from './node-readiness.js';
import { type FitDeps, podsThatFit, type ReleaseDeps, releaseUnfit } from './pods-that-fit.js';

/**
 * The means to bind pods, the checker of their places, and the limits of waiting in milliseconds.
 */
export type PlacementDeps = FitDeps &
  ReleaseDeps & {
    readonly kube: PodBindings;
    readonly cluster: Cluster;
    readonly writer: ClusterWriter;
    readonly placement: 'bind' | 'scheduler';
    readonly deadlineMs: number;
    /** How long a node stays closed after our own watch has shown the last of its bindings. */
    readonly openAfterMs: number;
  };

/**
 * Bindings written side by side. They trade the API server's share for the time until a node opens.
 */
const bindingsInParallel = 32;
/**
 * How soon to look again whether the watch shows the bindings; it usually does within milliseconds.
 */
const lookAgainMs = 50;

/**
 * How long a node waits for the pods of a daemonset of which nobody has seen a pod yet. Admission
 * may have made them larger than the template says, and planned pods would take their room. The
 * daemonset controller makes them within milliseconds; two seconds cover a busy one.
 */
const daemonWaitMs = 2_000;

/** The pods that were bound to a node, and since when our watch shows all of them there. */
type Bound = {
  readonly podUids: Set<string>;
  /** All pods that were tried, also those that did not fit or were refused. */
  readonly tried: Set<string>;
  shownMs: number | undefined;
};

/**
 * Binds a bin's pods while their node is closed to others; then the node opens. kube-scheduler
 * watches nodes and pods in two streams. If it sees an open node before the bindings, it takes the
 * node for empty and overfills it. So the node opens some time after our own watch has shown the
 * bindings.
 */
export class Placement {
  readonly #deps: PlacementDeps;
  /**
   * The closed nodes, by UID. A successor does not need it: by then every watch has shown the
   * bindings.
   */
  readonly #bound = new Map<string, Bound>();
  /** Since when usable nodes wait for daemon pods, by UID. A successor waits anew. */
  readonly #waitingMs = new Map<string, number>();

  constructor(deps: PlacementDeps) {
    this.#deps = deps;
  }

  /** The pods of the claim's promise that we bind; the others are left to kube-scheduler. */
  bindable(claim: NodeClaim): readonly Pod[] {
    const { cluster, clock, placement } = this.#deps;
    if (placement === 'scheduler') return [];
    const volumeOf = (namespace: string, name: string): PersistentVolumeClaim | undefined =>
      cluster.persistentVolumeClaims.one('key', `${namespace}/${name}`);
    return (livePromise(cluster, claim.uid, clock.nowMs())?.waiting ?? []).filter(
      (pod) => needsScheduler(pod, volumeOf) === undefined,
    );
  }

  /**
   * Answers `open` once the node is open, or when we never closed it; otherwise when to look again.
   */
  async place(node: Node, claim: NodeClaim): Promise<'open' | { readonly againInMs: number }> {
    const { clock, log, metrics } = this.#deps;
    const sinceMs = cordonedSinceMs(node);
    if (sinceMs === undefined) return 'open';
    const leftMs = sinceMs + this.#deps.deadlineMs - clock.nowMs();
    if (notInitialized(node, claim) !== undefined) {
      if (leftMs > 0) return { againInMs: leftMs };
      log.warn(
        'placement-deadline',
        'a node was not usable in time for its pods; it opens to everyone',
        { node: node.name, claim: claim.name },
      );
      metrics.count('dovetail_placements_total', { outcome: 'deadline' });
    } else if (!isRetiring(node, claim)) {
      if (!this.#bound.has(node.uid) && this.#awaitsDaemons(node))
        return { againInMs: lookAgainMs };
      await this.#bindUntried(node, claim);
      const waitMs = this.#waitMs(node.uid);
      if (waitMs > 0 && leftMs > 0) return { againInMs: waitMs };
    }
    await this.#deps.writer.changeNode(node, openedNode);
    this.#bound.delete(node.uid);
    return 'open';
  }

  /**
   * Whether pods of a daemonset are still to come whose size is not known: neither one for this
   * node nor one elsewhere has been made.
   */
  #awaitsDaemons(node: Node): boolean {
    const { checker, clock, cluster } = this.#deps;
    const nowMs = clock.nowMs();
    const sinceMs = this.#waitingMs.get(node.uid) ?? nowMs;
    const unseen = [...cluster.daemonSets.values()].filter(
      ({ uid }) => cluster.pods.by('daemonset', uid).length === 0,
    );
    if (unseen.length === 0 || nowMs >= sinceMs + daemonWaitMs) return false;
    if (expectedDaemonSets(checker.node(node, nowMs), unseen).length === 0) return false;
    this.#waitingMs.set(node.uid, sinceMs);
    return true;
  }

  /**
   * Binds the promised pods that were not tried yet. A closed node may be promised to more pods:
   * a later plan sees its room.
   */
  async #bindUntried(node: Node, claim: NodeClaim): Promise<void> {
    const before = this.#bound.get(node.uid);
    const wanted = this.bindable(claim).filter((pod) => before?.tried.has(pod.uid) !== true);
    if (before !== undefined && wanted.length === 0) return;
    this.#forgetGone();
    const bound: Bound = before ?? { podUids: new Set(), tried: new Set(), shownMs: undefined };
    this.#bound.set(node.uid, bound);
    await this.#bindAll({ node, claim, bound }, wanted);
    for (const { uid } of wanted) bound.tried.add(uid);
  }

  #forgetGone(): void {
    for (const held of [this.#bound, this.#waitingMs])
      for (const uid of held.keys())
        if (this.#deps.cluster.nodes.get(uid) === undefined) held.delete(uid);
  }

  /**
   * How long the node stays closed, in milliseconds; 0 once every watch must have shown its pods.
   */
  #waitMs(nodeUid: string): number {
    const { cluster, clock, openAfterMs } = this.#deps;
    const bound = this.#bound.get(nodeUid);
    if (bound === undefined || bound.podUids.size === 0) return 0;
    const shown = [...bound.podUids].every((uid) => {
      const pod = cluster.pods.get(uid);
      return pod === undefined || pod.nodeName !== undefined;
    });
    if (!shown) return lookAgainMs;
    bound.shownMs ??= clock.nowMs();
    return Math.max(0, bound.shownMs + openAfterMs - clock.nowMs());
  }

  /**
   * Binds the promised pods that still fit. Each one that is bound now, here or elsewhere, is
   * remembered at once: another one may fail, and the next try finds the node with the pods on it.
   */
  async #bindAll(
    {
      node,
      claim,
      bound,
    }: { readonly node: Node; readonly claim: NodeClaim; readonly bound: Bound },
    wanted: readonly Pod[],
  ): Promise<void> {
    const pods = await podsThatFit(this.#deps, node, wanted);
    await inParallel(pods, bindingsInParallel, async (pod) => {
      if (await this.#bind(pod, node.name)) {
        bound.podUids.add(pod.uid);
        bound.shownMs = undefined;
      }
      bound.tried.add(pod.uid);
    });
    const holder = { kind: 'NodeClaim', value: claim } as const;
    const unfit = wanted.filter((pod) => !pods.includes(pod));
    await releaseUnfit(this.#deps, { node, holder }, unfit);
  }

  /** Answers false when the pod is left to kube-scheduler. */
  async #bind(pod: Pod, nodeName: string): Promise<boolean> {
    const { kube, log, metrics } = this.#deps;
    try {
      await kube.bind({ namespace: pod.namespace, name: pod.name, uid: pod.uid }, nodeName);
      metrics.count('dovetail_placements_total', { outcome: 'bound' });
      log.debug('pod-bound', 'a planned pod was bound', {
        pod: `${pod.namespace}/${pod.name}`,
        node: nodeName,
      });
      return true;
    } catch (error) {
      // The pod is gone, or someone else has bound it: nothing is left to do.
      if (error instanceof KubeError && (error.code === 'conflict' || error.code === 'not-found'))
        return true;
      if (error instanceof KubeError && (error.code === 'denied' || error.code === 'invalid')) {
        log.error(
          'pod-not-bound',
          'a planned pod could not be bound; it is left to kube-scheduler',
          { pod: `${pod.namespace}/${pod.name}`, node: nodeName, error: error.message },
        );
        metrics.count('dovetail_placements_total', { outcome: 'refused' });
        return false;
      }
      throw error;
    }
  }
}
