import type { NodeClaim, PromiseAnnotation } from '@dovetail/core-api';
import {
  isActive,
  isReschedulable,
  type Node,
  noResources,
  type Pod,
  type Resources,
  sumResources,
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
  /** The room by amount that is still kept. */
  readonly reserved: Resources;
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
 * Room for a replaced node's pods that does not name them is kept until that node is gone; pods
 * that come back later are planned like any other pod.
 */
export function hasEnded(
  promise: Pick<PromiseAnnotation, 'untilMs' | 'replaces' | 'forPodUids'>,
  nowMs: number,
  isNode: (uid: string) => boolean,
): boolean {
  const replaced = promise.forPodUids === undefined ? promise.replaces?.nodeUid : undefined;
  return hasExpired(promise, nowMs) || (replaced !== undefined && !isNode(replaced));
}

/** Whether a pod runs where it must leave, and its successor will need another place. */
const isToMove = (pod: Pod): boolean => pod.nodeName !== undefined && isReschedulable(pod);

/**
 * The room by amount that a promise still keeps. Each pod's share is kept until its successor may
 * be there, who then finds it free: bought once, it is used by those that it was bought for.
 */
export function reservedNow(
  promise: Pick<PromiseAnnotation, 'reserved' | 'forPodUids'>,
  podOf: (uid: string) => Pod | undefined,
): Resources {
  const { reserved = noResources, forPodUids = [] } = promise;
  if (forPodUids.length === 0) return reserved;
  const left = forPodUids.flatMap((uid) => podOf(uid) ?? []).filter(isToMove);
  return left.length === 0 ? noResources : sumResources(left.map(({ requests }) => requests));
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
 * once none of them waits any more, or has to move.
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
  const reserved = reservedNow(promise, (uid) => cluster.pods.get(uid));
  const isAmount = promise.reserved !== undefined && promise.forPodUids === undefined;
  return waiting.length === 0 && !isAmount && reserved === noResources
    ? undefined
    : { holder, promise, waiting, reserved };
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
  return { pods: live?.waiting ?? [], reserved: live?.reserved ?? noResources };
}

/** The live promises that keep room for the successor of a pod, in order of the holder's UID. */
export const roomFor = (cluster: Cluster, podUid: string, nowMs: number): readonly LivePromise[] =>
  cluster.promises
    .roomsOf(podUid)
    .flatMap((holderUid) => livePromise(cluster, holderUid, nowMs) ?? []);
