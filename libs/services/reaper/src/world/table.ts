/** What every object of the world has: an identity that is never used again, and the version it was read at. */
export type Stored = { readonly uid: string; readonly resourceVersion: string };

const isOlder = (left: string, right: string): boolean => /^[0-9]+$/.test(left) && /^[0-9]+$/.test(right) && BigInt(left) < BigInt(right);

/** Objects by UID, and by each index under the text that it gives. An older reading never replaces a newer one. */
export class Table<T extends Stored, I extends string = never> {
  readonly #rows = new Map<string, T>();
  readonly #indexes: ReadonlyMap<I, { readonly keyOf: (row: T) => string | undefined; readonly rows: Map<string, Map<string, T>> }>;

  constructor(indexes: Readonly<Record<I, (row: T) => string | undefined>>) {
    this.#indexes = new Map((Object.entries(indexes) as [I, (row: T) => string | undefined][]).map(([name, keyOf]) => [name, { keyOf, rows: new Map<string, Map<string, T>>() }]));
  }

  /** Puts a row; answers the one that it replaced, or `stale` when a newer one is held. */
  set(row: T): T | 'stale' | undefined {
    const before = this.#rows.get(row.uid);
    if (before !== undefined && isOlder(row.resourceVersion, before.resourceVersion)) return 'stale';
    if (before !== undefined) this.#unindex(before);
    this.#rows.set(row.uid, row);
    for (const { keyOf, rows } of this.#indexes.values()) {
      const key = keyOf(row);
      if (key === undefined) continue;
      const held = rows.get(key) ?? new Map<string, T>();
      held.set(row.uid, row);
      rows.set(key, held);
    }
    return before;
  }

  delete(uid: string): T | undefined {
    const before = this.#rows.get(uid);
    if (before === undefined) return undefined;
    this.#unindex(before);
    this.#rows.delete(uid);
    return before;
  }

  get(uid: string): T | undefined { return this.#rows.get(uid); }
  values(): Iterable<T> { return this.#rows.values(); }
  get size(): number { return this.#rows.size; }
  by(index: I, key: string): readonly T[] { return [...(this.#indexes.get(index)?.rows.get(key)?.values() ?? [])]; }
  one(index: I, key: string | undefined): T | undefined { return key === undefined ? undefined : this.by(index, key)[0]; }

  #unindex(row: T): void {
    for (const { keyOf, rows } of this.#indexes.values()) {
      const key = keyOf(row);
      if (key === undefined) continue;
      const held = rows.get(key);
      held?.delete(row.uid);
      if (held?.size === 0) rows.delete(key);
    }
  }
}
