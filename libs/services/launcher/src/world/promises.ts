import type { NodeClaim, PromiseAnnotation } from '@dovetail/core-api';
import { isTerminal, type Node, type Pod } from '@dovetail/core-kube-model';
import type { World } from './world.js';

/** A promise that binds now: who holds it, and the pods that it still waits for. */
export type LivePromise = {
  readonly holder: { readonly kind: 'NodeClaim'; readonly value: NodeClaim } | { readonly kind: 'Node'; readonly value: Node };
  readonly promise: PromiseAnnotation;
  /** The promised pods that exist and are not bound yet. */
  readonly waiting: readonly Pod[];
};



/** A pod that may still take up its promise: it exists, is not ending and has no node. */
export const isWaiting = (pod: Pod): boolean => pod.nodeName === undefined && pod.deletionMs === undefined && !isTerminal(pod);

/**
 * Whether the holder's promise binds now. It ends with the holder (a claim or node that is being deleted promises nothing),
 * at `untilMs`, and, when it only names pods, once none of them is waiting any more.
 */
export function livePromise(world: World, holderUid: string, nowMs: number): LivePromise | undefined {
  const promise = world.promiseOf(holderUid);
  if (promise === undefined || (promise.untilMs !== undefined && promise.untilMs <= nowMs)) return undefined;
  const claim = world.claims.get(holderUid);
  const node = world.nodes.get(holderUid);
  const value = claim ?? node;
  if (value === undefined || value.deletionMs !== undefined) return undefined;
  // Room for a replaced node's pods is kept until that node is gone: what comes back after that is planned like any other pod.
  if (promise.replaces !== undefined && world.nodes.get(promise.replaces.nodeUid) === undefined) return undefined;
  const waiting = promise.podUids.flatMap((uid) => world.pods.get(uid) ?? []).filter(isWaiting);
  if (waiting.length === 0 && promise.reserved === undefined) return undefined;
  return { holder: claim !== undefined ? { kind: 'NodeClaim', value: claim } : { kind: 'Node', value: node as Node }, promise, waiting };
}

/** The live promise that holds the pod, other than those of the holders left out; undefined when the pod is free. */
export function promiseHolding(world: World, podUid: string, nowMs: number): LivePromise | undefined {
  for (const holderUid of world.holdersOf(podUid)) {
    const live = livePromise(world, holderUid, nowMs);
    if (live?.waiting.some((pod) => pod.uid === podUid)) return live;
  }
  return undefined;
}
