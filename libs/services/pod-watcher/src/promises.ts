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
  readonly #admittedMs = new Map<string, number>();
  readonly #isNode: (uid: string) => boolean;

  /** `isNode` tells whether a node with this UID is there. */
  constructor(isNode: (uid: string) => boolean) {
    this.#isNode = isNode;
  }

  /** Takes the annotation of a claim or node; undefined when it has none. */
  written(holderUid: string, promise: Promised | undefined): void {
    put(this.#written, holderUid, promise);
  }

  /** Takes the state feed's record of a promise; undefined when it has ended. */
  published(holderUid: string, promise: Promised | undefined): void {
    put(this.#published, holderUid, promise);
  }

  /** The state feed was lost. */
  forgetPublished(): void {
    this.#published.clear();
  }

  /** A pod was admitted at a time, or (undefined) was not admitted. */
  judged(podUid: string, admittedMs: number | undefined): void {
    put(this.#admittedMs, podUid, admittedMs);
  }

  /** The claim, node or pod is gone. */
  forget(uid: string): void {
    for (const held of [this.#written, this.#published, this.#admittedMs]) held.delete(uid);
  }

  /** The pods that have room promised on a claim or node. */
  of(holderUid: string): readonly string[] {
    return [
      ...(this.#written.get(holderUid)?.podUids ?? []),
      ...(this.#published.get(holderUid)?.podUids ?? []),
    ];
  }

  /** All pods that have promised room now. */
  now(nowMs: number): ReadonlySet<string> {
    const uids = new Set<string>();
    for (const promise of this.#all())
      if (!hasEnded(promise, nowMs, this.#isNode)) for (const uid of promise.podUids) uids.add(uid);
    for (const [uid, atMs] of this.#admittedMs) {
      if (atMs + admittedGraceMs > nowMs) uids.add(uid);
      else this.#admittedMs.delete(uid);
    }
    return uids;
  }

  /** The next time at which a promise ends; undefined when none has an end. */
  nextEndMs(nowMs: number): number | undefined {
    let next = Number.POSITIVE_INFINITY;
    const consider = (endMs: number | undefined): void => {
      if (endMs !== undefined && endMs > nowMs) next = Math.min(next, endMs);
    };
    for (const { untilMs } of this.#all()) consider(untilMs);
    for (const atMs of this.#admittedMs.values()) consider(atMs + admittedGraceMs);
    return next === Number.POSITIVE_INFINITY ? undefined : next;
  }

  *#all(): Iterable<Promised> {
    yield* this.#written.values();
    yield* this.#published.values();
  }
}

function put<T>(held: Map<string, T>, key: string, value: T | undefined): void {
  if (value === undefined) held.delete(key);
  else held.set(key, value);
}
