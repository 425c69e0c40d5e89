/** Ids that are noted before those of gone claims are looked for the first time. */
const firstLook = 256;

/**
 * Notes on intents by id, for as long as a claim carries them. Without a claim nothing asks for an
 * intent again, and an epoch may last for months.
 */
export class IntentNotes {
  readonly #carried: () => Iterable<string>;
  readonly #ids = new Set<string>();
  /** The number of ids at which those without a claim are dropped. */
  #lookAt = firstLook;

  /** `carried` answers the ids of the intents that claims carry now. */
  constructor(carried: () => Iterable<string>) {
    this.#carried = carried;
  }

  get size(): number {
    return this.#ids.size;
  }

  has(id: string): boolean {
    return this.#ids.has(id);
  }

  add(id: string): void {
    this.#ids.add(id);
    if (this.#ids.size < this.#lookAt) return;
    const carried = new Set(this.#carried());
    for (const held of this.#ids) if (held !== id && !carried.has(held)) this.#ids.delete(held);
    // Looking costs one pass over all claims, so it waits until as many ids again have come.
    this.#lookAt = Math.max(firstLook, 2 * this.#ids.size);
  }
}
