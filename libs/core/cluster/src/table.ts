/**
 * The parts that every object in a table has: an identity that is never reused, and the version of
 * its reading.
 */
export type Stored = { readonly uid: string; readonly resourceVersion: string };

/** Picks the key of a row in one index; undefined keeps the row out of that index. */
export type KeyOf<T> = (row: T) => string | undefined;

/**
 * The UIDs under one key of an index. `sorted` holds them in order until one comes or goes, and
 * `rows` holds their rows until one of them changes.
 */
type Bucket<T> = {
  readonly uids: Set<string>;
  sorted: readonly string[] | undefined;
  rows: readonly T[] | undefined;
};

function drop<T>(buckets: Map<string, Bucket<T>>, key: string | undefined, uid: string): void {
  const bucket = key === undefined ? undefined : buckets.get(key);
  if (key === undefined || bucket?.uids.delete(uid) !== true) return;
  bucket.sorted = bucket.rows = undefined;
  if (bucket.uids.size === 0) buckets.delete(key);
}

/**
 * How many gone UIDs a table remembers. A late answer to our own write arrives within seconds of
 * the watch's deletion; 10,000 covers many minutes of deletions and costs about a megabyte.
 */
const goneMax = 10_000;

const none: readonly never[] = [];

const decimal = /^[0-9]+$/;

/**
 * Whether `left` is known to be the older reading. The API server's versions are decimal numbers of
 * up to 64 bits, beyond JavaScript's safe integers. They are therefore compared as text: by length,
 * then by digits. Versions that are not decimal are opaque by Kubernetes' contract and never
 * compared.
 */
export function isOlder(left: string, right: string): boolean {
  if (!decimal.test(left) || !decimal.test(right)) return false;
  const [older, newer] = [left.replace(/^0+/, ''), right.replace(/^0+/, '')];
  return older.length === newer.length ? older < newer : older.length < newer.length;
}

/**
 * Objects by UID, with secondary indexes. A reading that is older than the held one is dropped. The
 * answer to our own write is put here at once, and the later event of the watch must not undo it.
 *
 * Invariant: each row is in an index exactly under the key that `KeyOf` gives for it.
 */
export class Table<T extends Stored, Unique extends string = never, Shared extends string = never> {
  readonly #rows = new Map<string, T>();
  readonly #gone = new Set<string>();
  /** UIDs of rows whose version says nothing about the next reading's. */
  #unversioned = new Set<string>();
  #revision = 0;
  readonly #indexes: ReadonlyMap<
    Unique | Shared,
    { readonly keyOf: KeyOf<T>; readonly buckets: Map<string, Bucket<T>> }
  >;

  /**
   * `unique` are the keys that the API server gives to one object at a time, such as names. Any
   * number of objects may carry a `shared` key, such as a provider ID: a kubelet writes its own.
   */
  constructor(
    unique: Readonly<Record<Unique, KeyOf<T>>>,
    shared: Readonly<Record<Shared, KeyOf<T>>>,
  ) {
    const named = Object.entries({ ...unique, ...shared }) as [Unique | Shared, KeyOf<T>][];
    this.#indexes = new Map(
      named.map(([name, keyOf]) => [name, { keyOf, buckets: new Map<string, Bucket<T>>() }]),
    );
  }

  /** Grows with each change, so that what was drawn from the rows can be kept until the next. */
  get revision(): number {
    return this.#revision;
  }

  /** How many rows there are. */
  get size(): number {
    return this.#rows.size;
  }

  /** The row with this UID. */
  get(uid: string): T | undefined {
    return this.#rows.get(uid);
  }

  /** All rows, in the order of their first arrival. */
  values(): IterableIterator<T> {
    return this.#rows.values();
  }

  /**
   * Puts a row and returns the row that it replaced, if any. Returns undefined if the reading was
   * dropped, because a newer one is held or the object is known to be gone.
   */
  set(row: T): { readonly before?: T } | undefined {
    const before = this.#rows.get(row.uid);
    if (this.#gone.has(row.uid)) return undefined;
    const isVersioned = before !== undefined && !this.#unversioned.delete(row.uid);
    if (isVersioned && isOlder(row.resourceVersion, before.resourceVersion)) return undefined;
    this.#rows.set(row.uid, row);
    this.#revision += 1;
    this.#index(row, before);
    return before === undefined ? {} : { before };
  }

  /**
   * Lets the next reading of each row in, whatever its version, and what was gone come back. A
   * server that was restored from a backup counts its versions from there again.
   */
  forgetVersions(): void {
    this.#gone.clear();
    this.#unversioned = new Set(this.#rows.keys());
  }

  /** As `forgetVersions`, of one row. */
  forgetVersion(uid: string): void {
    if (this.#rows.has(uid)) this.#unversioned.add(uid);
  }

  /**
   * Takes a row out without remembering it: it may come back, for instance once it is readable
   * again.
   */
  remove(uid: string): T | undefined {
    const held = this.#rows.get(uid);
    if (held === undefined) return undefined;
    for (const { keyOf, buckets } of this.#indexes.values()) drop(buckets, keyOf(held), uid);
    this.#rows.delete(uid);
    this.#unversioned.delete(uid);
    this.#revision += 1;
    return held;
  }

  /**
   * Takes a row out and remembers its UID, so that a late answer to our own write cannot bring it
   * back.
   */
  delete(uid: string): T | undefined {
    this.#gone.add(uid);
    const [oldest] = this.#gone;
    if (this.#gone.size > goneMax && oldest !== undefined) this.#gone.delete(oldest);
    return this.remove(uid);
  }

  /** Takes every row out and forgets what is gone. */
  clear(): void {
    this.#rows.clear();
    this.#revision += 1;
    this.#gone.clear();
    this.#unversioned.clear();
    for (const { buckets } of this.#indexes.values()) buckets.clear();
  }

  /**
   * The rows under a key of an index, in order of UID. It is the same list as before if none of
   * them changed.
   */
  by(index: Unique | Shared, key: string): readonly T[] {
    const bucket = this.#indexes.get(index)?.buckets.get(key);
    if (bucket === undefined) return none;
    bucket.sorted ??= [...bucket.uids].sort();
    return (bucket.rows ??= bucket.sorted.flatMap((uid) => this.#rows.get(uid) ?? []));
  }

  /** The row under a key that the API server keeps unique. No key, no row. */
  one(index: Unique, key: string | undefined): T | undefined {
    return key === undefined ? undefined : this.by(index, key)[0];
  }

  /** A row that keeps its key leaves the order of its bucket as it is. */
  #index(row: T, before: T | undefined): void {
    for (const { keyOf, buckets } of this.#indexes.values()) {
      const key = keyOf(row);
      const keyBefore = before === undefined ? undefined : keyOf(before);
      if (key !== keyBefore) drop(buckets, keyBefore, row.uid);
      if (key === undefined) continue;
      const bucket = buckets.get(key) ?? { uids: new Set(), sorted: undefined, rows: undefined };
      if (key !== keyBefore) bucket.sorted = undefined;
      bucket.rows = undefined;
      bucket.uids.add(row.uid);
      buckets.set(key, bucket);
    }
  }
}
