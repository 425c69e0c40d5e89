import type { PromiseAnnotation } from '@dovetail/core-api';
import { hasEnded } from '@dovetail/core-cluster';

/** Room promised to pods. A record of the state feed does not say which node it replaces. */
type Promised = Pick<PromiseAnnotation, 'podUids' | 'untilMs' | 'replaces' | 'forPodUids'>;

/**
 * How long an admitted pod counts as promised before the annotation of its claim or node shows it.
 */
const admittedGraceMs = 10_000;

/**
 * The pods that have promised room. There are three sources: annotations of claims and nodes, the
 * launcher's records in the state feed, and for a moment a verdict alone.
 *
 * The annotations are the truth and arrive by a watch. The feed is sooner when the API server is
 * busy. Solvers follow the feed and leave such pods out, so they must not be batched again and
 * again.
 */
export class Promises {
  readonly #written = new Map<string, Promised>();
  readonly #published = new Map<string, Promised>();
  /**
   * The promises that name a pod, by its UID. A look at the pods that wait then costs nothing for
   * those that run: the promises of 5,000 nodes name 50,000 pods. Lists, because nearly all have
   * one member, and a set of one takes 200 bytes.
   */
  readonly #byPod = new Map<string, readonly Promised[]>();
  readonly #admittedMs = new Map<string, number>();
  readonly #isNode: (uid: string) => boolean;

  /** `isNode` tells whether a node with this UID is there. */
  constructor(isNode: (uid: string) => boolean) {
    this.#isNode = isNode;
  }

  /** Takes the annotation of a claim or node; undefined when it has none. */
  written(holderUid: string, promise: Promised | undefined): void {
    this.#put(this.#written, holderUid, promise);
  }

  /** Takes the state feed's record of a promise; undefined when it has ended. */
  published(holderUid: string, promise: Promised | undefined): void {
    this.#put(this.#published, holderUid, promise);
  }

  /** The state feed was lost. */
  forgetPublished(): void {
    for (const holderUid of [...this.#published.keys()])
      this.#put(this.#published, holderUid, undefined);
  }

  /** A pod was admitted at a time, or (undefined) was not admitted. */
  judged(podUid: string, admittedMs: number | undefined): void {
    if (admittedMs === undefined) this.#admittedMs.delete(podUid);
    else this.#admittedMs.set(podUid, admittedMs);
  }

  /** The claim, node or pod is gone. */
  forget(uid: string): void {
    for (const held of [this.#written, this.#published]) this.#put(held, uid, undefined);
    this.#admittedMs.delete(uid);
  }

  /** The pods that have room promised on a claim or node. */
  of(holderUid: string): readonly string[] {
    return [
      ...(this.#written.get(holderUid)?.podUids ?? []),
      ...(this.#published.get(holderUid)?.podUids ?? []),
    ];
  }

  /** Whether the pod has promised room now. */
  has(podUid: string, nowMs: number): boolean {
    const admittedMs = this.#admittedMs.get(podUid);
    if (admittedMs !== undefined && admittedMs + admittedGraceMs > nowMs) return true;
    for (const promise of this.#byPod.get(podUid) ?? [])
      if (!hasEnded(promise, nowMs, this.#isNode)) return true;
    return false;
  }

  /** The next time at which a promise ends; undefined when none has an end. */
  nextEndMs(nowMs: number): number | undefined {
    let next = Number.POSITIVE_INFINITY;
    const consider = (endMs: number | undefined): void => {
      if (endMs !== undefined && endMs > nowMs) next = Math.min(next, endMs);
    };
    for (const { untilMs } of this.#all()) consider(untilMs);
    for (const [uid, atMs] of this.#admittedMs)
      if (atMs + admittedGraceMs > nowMs) consider(atMs + admittedGraceMs);
      else this.#admittedMs.delete(uid);
    return next === Number.POSITIVE_INFINITY ? undefined : next;
  }

  *#all(): Iterable<Promised> {
    yield* this.#written.values();
    yield* this.#published.values();
  }

  #put(held: Map<string, Promised>, holderUid: string, promise: Promised | undefined): void {
    const before = held.get(holderUid);
    if (before !== undefined) this.#unname(before);
    if (promise === undefined) {
      held.delete(holderUid);
      return;
    }
    // A value of its own: another holder may give the same one.
    const own = { ...promise };
    held.set(holderUid, own);
    for (const podUid of own.podUids)
      this.#byPod.set(podUid, [...(this.#byPod.get(podUid) ?? []), own]);
  }

  #unname(promise: Promised): void {
    for (const podUid of promise.podUids) {
      const left = (this.#byPod.get(podUid) ?? []).filter((other) => other !== promise);
      if (left.length === 0) this.#byPod.delete(podUid);
      else this.#byPod.set(podUid, left);
    }
  }
}
