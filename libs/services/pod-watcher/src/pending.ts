import type { PodPromise, StateValue, Verdict } from '@dovetail/contracts';
import { annotations, parsePromise, type Pool } from '@dovetail/core-api';
import {
  compareText,
  isActive,
  type Namespace,
  type Owner,
  type Pod,
} from '@dovetail/core-kube-model';
import { kubeResources } from '@dovetail/core-ports';

import { Backoff } from './backoff.js';
import type { Arrival } from './batches.js';
import { groupsOf } from './groups.js';
import { Promises } from './promises.js';
import { Waiting } from './waiting.js';

/** Replicas that an owner (ReplicaSet) wants, by its UID. */
export type OwnerReplicas = { readonly uid: string; readonly replicas: number };

/**
 * The pods that need a plan: those that the watches show, without those that have promised room or
 * back off.
 */
export class Pending {
  readonly #pods = new Map<string, Pod>();
  readonly #waiting = new Waiting();
  readonly #ownedPods = new Map<string, Set<string>>();
  readonly #pools = new Map<string, Pool>();
  readonly #namespaces = new Map<string, Namespace>();
  readonly #owners = new Map<string, number>();
  readonly #nodes = new Set<string>();
  readonly #promises = new Promises((uid) => this.#nodes.has(uid));
  /** Claims and nodes. When one goes, limits and zones have room again. */
  readonly #holders = new Set<string>();
  readonly backoff = new Backoff({
    refused: { firstMs: 20, mostMs: 5_000 },
    unplaced: { firstMs: 5_000, mostMs: 300_000 },
    // Each try costs a plan, and only a change of the pod or of a release can help.
    alone: { firstMs: 60_000, mostMs: 3_600_000 },
  });

  /** Takes in an object. Returns true if it could help unplaced pods. */
  set(uid: string, state: StateValue): boolean {
    if (state.kind === 'pod') this.#setPod(uid, state.value);
    // An object that is being deleted gets no more pods, so its promises have ended.
    if (state.kind === 'claim' || state.kind === 'node')
      this.#promises.written(
        uid,
        parsePromise(
          state.value.deletionMs === undefined
            ? state.value.annotations[annotations.promise]
            : undefined,
        ),
      );
    if (state.kind === 'claim' || state.kind === 'node') this.#holders.add(uid);
    if (state.kind === 'node') this.#nodes.add(uid);
    if (state.kind === 'namespace') this.#namespaces.set(uid, state.value);
    if (state.kind === 'pool') return this.#setPool(uid, state.value);
    return state.kind === 'nodeclass' || state.kind === 'storageclass' || state.kind === 'pvc';
  }

  #setPod(uid: string, pod: Pod): void {
    this.#pods.set(uid, pod);
    this.#waiting.set(pod);
    if (pod.owner !== undefined) this.#owned(pod.owner.uid).add(uid);
  }

  #setPool(uid: string, pool: Pool): boolean {
    const before = this.#pools.get(uid);
    this.#pools.set(uid, pool);
    return (
      before === undefined || before.generation !== pool.generation || before.ready !== pool.ready
    );
  }

  /** An object is gone. Returns true if that could help unplaced pods. */
  gone(uid: string): boolean {
    const pod = this.#pods.get(uid);
    this.#pods.delete(uid);
    this.#waiting.delete(uid);
    if (pod?.owner !== undefined) this.#disown(pod.owner.uid, uid);
    this.backoff.forget(uid);
    this.#promises.forget(uid);
    this.#nodes.delete(uid);
    this.#namespaces.delete(uid);
    const room = this.#holders.delete(uid);
    return this.#pools.delete(uid) || room || pod?.nodeName !== undefined;
  }

  /** Records how many replicas an owner wants. */
  owner(owner: OwnerReplicas): void {
    this.#owners.set(owner.uid, owner.replicas);
  }

  /** An owner has gone. */
  ownerGone(uid: string): void {
    this.#owners.delete(uid);
  }

  /** Takes the launcher's verdict on a pod. `cutMs` is the time at which its batch was cut. */
  verdict(verdict: Verdict, nowMs: number, cutMs?: number): void {
    this.backoff.apply(verdict, nowMs, cutMs);
    this.#promises.judged(verdict.podUid, verdict.outcome === 'admitted' ? nowMs : undefined);
  }

  /** Takes the state feed's record of a promise; undefined when it has ended. */
  published(holderUid: string, promise: PodPromise | undefined): void {
    this.#promises.published(holderUid, promise);
  }

  /** The state feed was lost, and its promises with it. The launcher publishes them again. */
  forgetPublished(): void {
    this.#promises.forgetPublished();
  }

  /** The number of pods that need a node now, including promised ones and those that back off. */
  get count(): number {
    return this.#waiting.inNeed().length;
  }

  /** Whether the pod still waits for a place, as far as the scheduler is concerned. */
  waits(podUid: string): boolean {
    return this.#waiting.has(podUid);
  }

  /** The pods that have room promised on a claim or node. */
  promisedBy(holderUid: string): readonly string[] {
    return this.#promises.of(holderUid);
  }

  /** Groups of the pods to plan now, of those that `isPlannable` lets through. */
  groups(nowMs: number, isPlannable: (pod: Pod) => boolean): ReadonlyMap<string, readonly Pod[]> {
    const wanted = this.#waiting
      .inNeed()
      .filter(({ uid }) => !this.#promises.has(uid, nowMs) && !this.backoff.waits(uid, nowMs))
      .filter(isPlannable);
    const sorted = wanted.toSorted((a, b) => compareText(a.uid, b.uid));
    const isAlone = ({ uid }: Pod): boolean => this.backoff.isAlone(uid);
    const [alone, together] = [sorted.filter(isAlone), sorted.filter((pod) => !isAlone(pod))];
    return new Map([
      ...groupsOf(together, [...this.#pools.values()], [...this.#namespaces.values()]),
      ...alone.map((pod) => [`pod ${pod.uid}`, [pod]] as const),
    ]);
  }

  /**
   * Whether more pods of the same owners will come. None, if each owner has made all its replicas
   * and all their unplaced pods are here. Some, if an owner has not made them all. Unknown, if an
   * owner counts no replicas.
   *
   * Pods and their owners come by two watches, and either may lag behind. So pods are waited for,
   * too, if their ReplicaSet is not seen yet or has more pods than it wanted when it was seen.
   */
  arrivalOf(pods: readonly Pod[], nowMs: number): Arrival {
    const owners = new Map(pods.map((pod) => [pod.owner?.uid ?? '', pod.owner]));
    // Most looks are at pods that are still arriving, and then no pod needs to be counted.
    for (const uid of owners.keys())
      if ((this.#ownedPods.get(uid)?.size ?? 0) < (this.#owners.get(uid) ?? 0)) return 'arriving';
    const batch = new Set(pods.map((pod) => pod.uid));
    let all: Arrival = 'complete';
    for (const [uid, owner] of owners) {
      const one = this.#arrivalFor(uid, owner, batch, nowMs);
      if (one === 'arriving') return one;
      if (one === 'unknown') all = one;
    }
    return all;
  }

  #arrivalFor(
    uid: string,
    owner: Owner | undefined,
    batch: ReadonlySet<string>,
    nowMs: number,
  ): Arrival {
    const wanted = this.#owners.get(uid);
    if (wanted === undefined) return countsReplicas(owner) ? 'arriving' : 'unknown';
    const settled = this.#settledOf(uid, batch, nowMs);
    if (settled === wanted) return 'complete';
    return settled > wanted || this.#madeBy(uid) < wanted ? 'arriving' : 'unknown';
  }

  /** The next end of a pod's backoff or of a promise; undefined when there is neither. */
  nextMs(nowMs: number): number | undefined {
    const ends = [this.#promises.nextEndMs(nowMs), this.backoff.nextMs(nowMs)].filter(
      (each) => each !== undefined,
    );
    return ends.length === 0 ? undefined : Math.min(...ends);
  }

  #owned(ownerUid: string): Set<string> {
    const known = this.#ownedPods.get(ownerUid);
    if (known !== undefined) return known;
    const fresh = new Set<string>();
    this.#ownedPods.set(ownerUid, fresh);
    return fresh;
  }

  /** An owner without pods is forgotten: a cluster that runs Jobs has a new one every minute. */
  #disown(ownerUid: string, uid: string): void {
    const known = this.#ownedPods.get(ownerUid);
    known?.delete(uid);
    if (known?.size === 0) this.#ownedPods.delete(ownerUid);
  }

  /** The pods that an owner has made and that count as its replicas. */
  #madeBy(ownerUid: string): number {
    let made = 0;
    for (const uid of this.#ownedPods.get(ownerUid) ?? []) {
      const pod = this.#pods.get(uid);
      if (pod !== undefined && isActive(pod)) made += 1;
    }
    return made;
  }

  /**
   * The number of an owner's pods that are bound to stay, have promised room, or are in the batch.
   * A pod that is being deleted does not count, because its successor is still to come.
   */
  #settledOf(ownerUid: string, batch: ReadonlySet<string>, nowMs: number): number {
    let settled = 0;
    for (const uid of this.#ownedPods.get(ownerUid) ?? []) {
      const pod = this.#pods.get(uid);
      if (pod === undefined || !isActive(pod)) continue;
      if (pod.nodeName !== undefined || batch.has(uid) || this.#promises.has(uid, nowMs))
        settled += 1;
    }
    return settled;
  }
}

/** Whether pod-watcher follows how many replicas an owner of this kind wants. */
const countsReplicas = (owner: Owner | undefined): boolean =>
  owner?.kind === kubeResources.replicaSets.kind && owner.apiVersion.startsWith('apps/');
