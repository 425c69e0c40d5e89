import type { NodeClaim, PromiseAnnotation } from '@dovetail/core-api';
import {
  isActive,
  type Node,
  noResources,
  type Pod,
  type Resources,
} from '@dovetail/core-kube-model';

import type { Cluster } from './cluster.js';
import { isBeingDeleted } from './retiring.js';

/** A claim or a node, as the holder of a promise. */
type PromiseHolder =
  | { readonly kind: 'NodeClaim'; readonly value: NodeClaim }
  | { readonly kind: 'Node'; readonly value: Node };

/** A promise that binds now: its holder, and the pods that it still waits for. */
export type LivePromise = {
  readonly holder: PromiseHolder;
  readonly promise: PromiseAnnotation;
  /** The promised pods that exist and are not bound yet. */
  readonly waiting: readonly Pod[];
};

/** The room that a promise keeps on a claim or node. */
export type PromisedRoom = {
  /** Pods that have been promised a place and are not bound. */
  readonly pods: readonly Pod[];
  /** Room kept by amount, for pods that come back as others (replacements). */
  readonly reserved: Resources;
};

/** Whether a pod may still take up its promise: it has no node and is neither ended nor ending. */
export const isWaiting = (pod: Pod): boolean => pod.nodeName === undefined && isActive(pod);

/** Whether the promise has run out. One without a time lasts until its pods are bound. */
export const hasExpired = (promise: Pick<PromiseAnnotation, 'untilMs'>, nowMs: number): boolean =>
  promise.untilMs !== undefined && promise.untilMs <= nowMs;

/**
 * Whether the promise binds no more, whatever became of its holder and pods. It ends at `untilMs`.
 * Room for a replaced node's pods is kept until that node is gone; pods that come back later are
 * planned like any other pod.
 */
export function hasEnded(
  promise: Pick<PromiseAnnotation, 'untilMs' | 'replaces'>,
  nowMs: number,
  isNode: (uid: string) => boolean,
): boolean {
  const replaced = promise.replaces?.nodeUid;
  return hasExpired(promise, nowMs) || (replaced !== undefined && !isNode(replaced));
}

function holderOf(cluster: Cluster, uid: string): PromiseHolder | undefined {
  const claim = cluster.claims.get(uid);
  if (claim !== undefined) return { kind: 'NodeClaim', value: claim };
  const node = cluster.nodes.get(uid);
  return node === undefined ? undefined : { kind: 'Node', value: node };
}

/**
 * Returns the holder's promise if it binds now. A promise ends with its holder, and a holder that
 * is being deleted promises nothing. It also ends at `untilMs`. A promise that only names pods ends
 * once none of them waits any more.
 */
export function livePromise(
  cluster: Cluster,
  holderUid: string,
  nowMs: number,
): LivePromise | undefined {
  const promise = cluster.promises.of(holderUid);
  const isNode = (uid: string): boolean => cluster.nodes.get(uid) !== undefined;
  if (promise === undefined || hasEnded(promise, nowMs, isNode)) return undefined;
  const holder = holderOf(cluster, holderUid);
  if (holder === undefined || isBeingDeleted(undefined, holder.value)) return undefined;
  const waiting = promise.podUids.flatMap((uid) => cluster.pods.get(uid) ?? []).filter(isWaiting);
  return waiting.length === 0 && promise.reserved === undefined
    ? undefined
    : { holder, promise, waiting };
}

/**
 * The live promise that holds the pod; undefined when the pod is free. Of several, the holder with
 * the first UID.
 */
export function promiseHolding(
  cluster: Cluster,
  podUid: string,
  nowMs: number,
): LivePromise | undefined {
  for (const holderUid of cluster.promises.holdersOf(podUid)) {
    const live = livePromise(cluster, holderUid, nowMs);
    if (live?.waiting.some((pod) => pod.uid === podUid) === true) return live;
  }
  return undefined;
}

/** The room that the holder's own promise keeps now. */
export function promisedRoom(cluster: Cluster, holderUid: string, nowMs: number): PromisedRoom {
  const live = livePromise(cluster, holderUid, nowMs);
  return { pods: live?.waiting ?? [], reserved: live?.promise.reserved ?? noResources };
}
