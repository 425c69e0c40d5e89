/** Room promised to pods; it ends at `untilMs` at the latest, where that is known. */
type Promised = { readonly podUids: readonly string[]; readonly untilMs?: number | undefined };

/** How long an admitted pod counts as promised before its claim or node says so itself. */
const admittedGraceMs = 10_000;

/**
 * The pods that have room promised: by what claims and nodes carry, by what the launcher says in the state feed, and for a moment by its
 * verdict alone. The first is the truth and comes by way of a watch; the feed says the same sooner when the API server is busy, and is
 * what solvers go by: a pod that they leave out must not be given to them again and again.
 */
export class Promises {
  readonly #written = new Map<string, Promised>();
  readonly #told = new Map<string, Promised>();
  readonly #admittedMs = new Map<string, number>();

  /** What the annotation of a claim or node says. */
  written(holderUid: string, promise: Promised | undefined): void {
    put(this.#written, holderUid, promise);
  }

  /** What the state feed says. */
  told(holderUid: string, promise: Promised | undefined): void {
    put(this.#told, holderUid, promise);
  }

  /** The state feed was lost. */
  forgetTold(): void {
    this.#told.clear();
  }

  /** A pod was admitted at a time, or (undefined) was not. */
  judged(podUid: string, admittedMs: number | undefined): void {
    put(this.#admittedMs, podUid, admittedMs);
  }

  /** The claim, node or pod is gone. */
  forget(uid: string): void {
    for (const held of [this.#written, this.#told, this.#admittedMs]) held.delete(uid);
  }

  /** The pods that a claim or node promises room to. */
  of(holderUid: string): readonly string[] {
    return [...(this.#written.get(holderUid)?.podUids ?? []), ...(this.#told.get(holderUid)?.podUids ?? [])];
  }

  /** All pods with room promised now. */
  now(nowMs: number): ReadonlySet<string> {
    const uids = new Set<string>();
    for (const { podUids, untilMs } of this.#all()) if (untilMs === undefined || untilMs > nowMs) for (const uid of podUids) uids.add(uid);
    for (const [uid, atMs] of this.#admittedMs) {
      if (atMs + admittedGraceMs > nowMs) uids.add(uid);
      else this.#admittedMs.delete(uid);
    }
    return uids;
  }

  /** When the next one ends by itself. */
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
    yield* this.#told.values();
  }
}

function put<T>(held: Map<string, T>, key: string, value: T | undefined): void {
  if (value === undefined) held.delete(key);
  else held.set(key, value);
}
