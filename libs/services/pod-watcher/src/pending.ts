import { annotations, parsePromise, type Pool } from '@dovetail/core-api';
import type { PodPromise, StateValue, Verdict } from '@dovetail/contracts';
import { isActive, type Pod } from '@dovetail/core-kube-model';
import { Backoff } from './backoff.js';
import type { Arrival } from './batches.js';
import { groupsOf } from './groups.js';
import { Promises } from './promises.js';
import { Waiting } from './waiting.js';

/** Replicas that an owner (ReplicaSet) wants, by its UID. */
export type OwnerReplicas = { readonly uid: string; readonly replicas: number };

/** The pods that need a plan: seen through watches and verdicts, less what is promised or waits. */
export class Pending {
  private readonly pods = new Map<string, Pod>();
  private readonly waiting = new Waiting();
  private readonly ownedPods = new Map<string, Set<string>>();
  private readonly pools = new Map<string, Pool>();
  private readonly owners = new Map<string, number>();
  private readonly promises = new Promises();
  /** Claims and nodes: when one goes, limits and zones have room again. */
  private readonly holders = new Set<string>();
  readonly backoff = new Backoff({ refused: { firstMs: 20, mostMs: 5_000 }, unplaced: { firstMs: 5_000, mostMs: 300_000 } });

  /** Takes in an object; true when it could help pods that could not be placed. */
  set(uid: string, state: StateValue): boolean {
    if (state.kind === 'pod') this.setPod(uid, state.value);
    // Nothing will be bound to what is being deleted: its promises have ended.
    if (state.kind === 'claim' || state.kind === 'node') this.promises.written(uid, parsePromise(state.value.deletionMs === undefined ? state.value.annotations[annotations.promise] : undefined));
    if (state.kind === 'claim' || state.kind === 'node') this.holders.add(uid);
    if (state.kind === 'pool') return this.setPool(uid, state.value);
    return state.kind === 'nodeclass' || state.kind === 'storageclass' || state.kind === 'pvc';
  }

  private setPod(uid: string, pod: Pod): void {
    this.pods.set(uid, pod);
    this.waiting.set(pod);
    if (pod.owner !== undefined) this.owned(pod.owner.uid).add(uid);
  }

  private setPool(uid: string, pool: Pool): boolean {
    const before = this.pools.get(uid);
    this.pools.set(uid, pool);
    return before === undefined || before.generation !== pool.generation || before.ready !== pool.ready;
  }

  /** An object has gone; true when that could help pods that could not be placed. */
  gone(uid: string): boolean {
    const pod = this.pods.get(uid);
    this.pods.delete(uid);
    this.waiting.delete(uid);
    if (pod?.owner !== undefined) this.owned(pod.owner.uid).delete(uid);
    this.backoff.forget(uid);
    this.promises.forget(uid);
    const room = this.holders.delete(uid);
    return this.pools.delete(uid) || room || pod?.nodeName !== undefined;
  }

  owner(owner: OwnerReplicas): void {
    this.owners.set(owner.uid, owner.replicas);
  }

  ownerGone(uid: string): void {
    this.owners.delete(uid);
    this.ownedPods.delete(uid);
  }

  verdict(verdict: Verdict, nowMs: number, cutMs?: number): void {
    this.backoff.apply(verdict, nowMs, cutMs);
    this.promises.judged(verdict.podUid, verdict.outcome === 'admitted' ? nowMs : undefined);
  }

  /** What the state feed says a claim or node promises; undefined when nothing any more. */
  told(holderUid: string, promise: PodPromise | undefined): void {
    this.promises.told(holderUid, promise);
  }

  /** The state feed was lost: what it said of promises is not known now. */
  forgetTold(): void {
    this.promises.forgetTold();
  }

  get count(): number {
    return this.waiting.inNeed().length;
  }

  /** Whether the pod waits for a place, as far as the scheduler is concerned. */
  waits(podUid: string): boolean {
    return this.waiting.has(podUid);
  }

  /** The pods that a claim or node promises room to. */
  promisedBy(holderUid: string): readonly string[] {
    return this.promises.of(holderUid);
  }

  /** Groups of pods to plan now. */
  groups(nowMs: number): ReadonlyMap<string, readonly Pod[]> {
    const promised = this.promises.now(nowMs);
    const wanted = this.waiting.inNeed().filter((pod) => !promised.has(pod.uid) && !this.backoff.waits(pod.uid, nowMs));
    return groupsOf(wanted.toSorted((a, b) => (a.uid < b.uid ? -1 : 1)), [...this.pools.values()]);
  }

  /**
   * What is to come of the pods' owners: nothing when each has made all that it wants, and those without a place are here; something
   * when one has not. Of pods without an owner that counts replicas nothing is known.
   */
  arrivalOf(pods: readonly Pod[], nowMs: number): Arrival {
    const batch = new Set(pods.map((pod) => pod.uid));
    const promised = this.promises.now(nowMs);
    const owners = [...new Set(pods.map((pod) => pod.owner?.uid ?? ''))].map((uid) => ({ uid, wanted: this.owners.get(uid) }));
    if (owners.every(({ uid, wanted }) => wanted !== undefined && this.settledOf(uid, batch, promised) >= wanted)) return 'complete';
    return owners.some(({ uid, wanted }) => wanted !== undefined && this.madeBy(uid) < wanted) ? 'arriving' : 'unknown';
  }

  /** When a wait or a promise ends next. */
  nextMs(nowMs: number): number | undefined {
    const ends = [this.promises.nextEndMs(nowMs), this.backoff.nextMs(nowMs)].filter((each) => each !== undefined);
    return ends.length === 0 ? undefined : Math.min(...ends);
  }

  private owned(ownerUid: string): Set<string> {
    const known = this.ownedPods.get(ownerUid);
    if (known !== undefined) return known;
    const fresh = new Set<string>();
    this.ownedPods.set(ownerUid, fresh);
    return fresh;
  }

  /** Pods that an owner has made and that count for it. */
  private madeBy(ownerUid: string): number {
    let made = 0;
    for (const uid of this.ownedPods.get(ownerUid) ?? []) {
      const pod = this.pods.get(uid);
      if (pod !== undefined && isActive(pod)) made += 1;
    }
    return made;
  }

  /** Pods of an owner that are bound and stay, promised a place, or in the batch. What is being deleted has a successor that is still to come. */
  private settledOf(ownerUid: string, batch: ReadonlySet<string>, promised: ReadonlySet<string>): number {
    let settled = 0;
    for (const uid of this.ownedPods.get(ownerUid) ?? []) {
      const pod = this.pods.get(uid);
      if (batch.has(uid) || promised.has(uid) || (pod?.nodeName !== undefined && isActive(pod))) settled += 1;
    }
    return settled;
  }
}
