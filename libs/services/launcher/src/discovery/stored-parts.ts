/**
 * The parts of catalogs that the stream holds, by the class's UID. The stream keeps a part until a
 * tombstone replaces it, so the launcher drops the parts that no catalog needs any more.
 */
export class StoredParts {
  readonly #parts = new Map<string, Set<number>>();

  add(classUid: string, part: number): void {
    this.#parts.set(classUid, this.of(classUid).add(part));
  }

  remove(classUid: string, part: number): void {
    const parts = this.of(classUid);
    parts.delete(part);
    if (parts.size === 0) this.#parts.delete(classUid);
  }

  clear(): void {
    this.#parts.clear();
  }

  /** The parts of one class. */
  of(classUid: string): Set<number> {
    return new Set(this.#parts.get(classUid));
  }

  /** UIDs of the classes with parts. */
  classes(): Iterable<string> {
    return this.#parts.keys();
  }
}
