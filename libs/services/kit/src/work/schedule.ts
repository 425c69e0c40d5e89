import { at, present } from '@dovetail/core-invariant';

type Entry = { readonly key: string; readonly atMs: number; readonly order: number };

const isBefore = (left: Entry, right: Entry): boolean =>
  left.atMs < right.atMs || (left.atMs === right.atMs && left.order < right.order);

/**
 * Keys with the time at which each is due. A key has one time: the earliest that was asked for. A
 * binary heap with lazy deletion makes a wake-up cheap while thousands of keys wait.
 *
 * Invariant: the entry of every key in `#dueOf` is in `#heap`; entries of `#heap` that are not in
 * `#dueOf` are stale. No entry of `#heap` is before its parent.
 */
export class Schedule {
  readonly #dueOf = new Map<string, Entry>();
  #heap: Entry[] = [];
  #order = 0;

  /** Keys that wait for their time. */
  get size(): number {
    return this.#dueOf.size;
  }

  has(key: string): boolean {
    return this.#dueOf.has(key);
  }

  /** Makes the key due at this time, unless it is due earlier. */
  add(key: string, atMs: number): void {
    const held = this.#dueOf.get(key);
    if (held !== undefined && held.atMs <= atMs) return;
    const entry = { key, atMs, order: (this.#order += 1) };
    this.#dueOf.set(key, entry);
    this.#heap.push(entry);
    this.#rise(this.#heap.length - 1);
  }

  clear(): void {
    this.#dueOf.clear();
    this.#heap = [];
  }

  /** The time at which the next key is due; undefined when there is none. */
  nextMs(): number | undefined {
    this.#dropStale();
    return this.#heap[0]?.atMs;
  }

  /** Takes the keys that are due now: by time, and among equal times in the order they came. */
  takeDue(nowMs: number): readonly string[] {
    const due: string[] = [];
    for (let next = this.nextMs(); next !== undefined && next <= nowMs; next = this.nextMs()) {
      const { key } = this.#pop();
      this.#dueOf.delete(key);
      due.push(key);
    }
    return due;
  }

  /** An entry is stale when its key has become due earlier. */
  #dropStale(): void {
    for (let top = this.#heap[0]; top !== undefined; top = this.#heap[0]) {
      if (this.#dueOf.get(top.key) === top) return;
      this.#pop();
    }
  }

  #pop(): Entry {
    const top = at(this.#heap, 0);
    const last = present(this.#heap.pop(), 'a heap with a top has a last entry');
    if (this.#heap.length > 0) {
      this.#heap[0] = last;
      this.#sink();
    }
    return top;
  }

  #rise(from: number): void {
    for (let index = from; index > 0;) {
      const parent = (index - 1) >> 1;
      if (!isBefore(at(this.#heap, index), at(this.#heap, parent))) return;
      this.#swap(parent, index);
      index = parent;
    }
  }

  #sink(): void {
    for (let index = 0; ;) {
      const least = this.#leastChild(index);
      if (least === undefined || !isBefore(at(this.#heap, least), at(this.#heap, index))) return;
      this.#swap(index, least);
      index = least;
    }
  }

  #leastChild(index: number): number | undefined {
    const left = 2 * index + 1;
    const right = left + 1;
    if (left >= this.#heap.length) return undefined;
    if (right >= this.#heap.length) return left;
    return isBefore(at(this.#heap, right), at(this.#heap, left)) ? right : left;
  }

  #swap(left: number, right: number): void {
    const held = at(this.#heap, left);
    this.#heap[left] = at(this.#heap, right);
    this.#heap[right] = held;
  }
}
