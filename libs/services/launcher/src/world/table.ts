/** What every object of the world has: an identity that is never used again, and the version it was read at. */
export type Stored = { readonly uid: string; readonly name: string; readonly resourceVersion: string };

/** True when `left` is known to be the older reading. Versions that are not numbers are never compared (they are opaque by contract). */
export function isOlder(left: string, right: string): boolean {
  const [older, newer] = [Number(left), Number(right)];
  return Number.isSafeInteger(older) && Number.isSafeInteger(newer) && older < newer;
}

/**
 * Objects by UID with secondary indexes that are kept as objects come and go. A reading that is older than what is held is
 * dropped: our own writes are put here when the API answers, before the watch tells of them, and the watch must not undo them.
 */
export class Table<T extends Stored, I extends string = never> {
  readonly #rows = new Map<string, T>();
  readonly #gone = new Map<string, string>();
  readonly #keys: Readonly<Record<I, (row: T) => string | undefined>>;
  readonly #indexes = new Map<I, Map<string, Set<string>>>();

  constructor(keys: Readonly<Record<I, (row: T) => string | undefined>>) {
    this.#keys = keys;
    for (const index of Object.keys(keys) as I[]) this.#indexes.set(index, new Map());
  }

  get size(): number { return this.#rows.size; }
  get(uid: string): T | undefined { return this.#rows.get(uid); }
  values(): IterableIterator<T> { return this.#rows.values(); }

  /** False when a newer reading is already held, or the object is known to be gone. */
  set(row: T): boolean {
    const held = this.#rows.get(row.uid);
    if (held !== undefined && isOlder(row.resourceVersion, held.resourceVersion)) return false;
    if (this.#gone.has(row.uid)) return false;
    if (held !== undefined) this.#unindex(held);
    this.#rows.set(row.uid, row);
    for (const [index, entries] of this.#indexes) {
      const key = this.#keys[index](row);
      if (key === undefined) continue;
      const uids = entries.get(key) ?? new Set();
      uids.add(row.uid);
      entries.set(key, uids);
    }
    return true;
  }

  /** Takes a row out without remembering: it may come back (it could not be read for a while). */
  remove(uid: string): T | undefined {
    const held = this.#rows.get(uid);
    if (held === undefined) return undefined;
    this.#unindex(held);
    this.#rows.delete(uid);
    return held;
  }

  /** Remembers that the UID is gone, so that a late answer of our own write does not bring it back. */
  delete(uid: string): T | undefined {
    this.#gone.set(uid, uid);
    if (this.#gone.size > goneMax) this.#gone.delete(this.#gone.keys().next().value ?? '');
    return this.remove(uid);
  }

  /** Rows of an index, in order of UID. */
  by(index: I, key: string): readonly T[] {
    const uids = this.#indexes.get(index)?.get(key);
    if (uids === undefined) return [];
    return [...uids].sort().flatMap((uid) => this.#rows.get(uid) ?? []);
  }

  /** The only row under a key; of several, the one with the first UID. */
  one(index: I, key: string): T | undefined { return this.by(index, key)[0]; }

  #unindex(row: T): void {
    for (const [index, entries] of this.#indexes) {
      const key = this.#keys[index](row);
      if (key === undefined) continue;
      const uids = entries.get(key);
      uids?.delete(row.uid);
      if (uids?.size === 0) entries.delete(key);
    }
  }
}

const goneMax = 10_000;
