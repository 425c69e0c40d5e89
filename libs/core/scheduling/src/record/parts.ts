import type { Hash } from '@dovetail/core-ports';

import { readWritten, written } from './written.js';

/** A piece of a record, named by its content: equal pieces of many records are kept once. */
export type RecordPart = { readonly id: string; readonly text: string };

/** An item of a list. */
type Item = Readonly<Record<never, unknown>>;

/** The most items of one run. Larger runs are fewer parts; a change rewrites more of them. */
const runMax = 32;
/** One in so many items ends a run, on average. */
const runMean = 8;
/** The most characters of one part. In UTF-8 it fits into one message of the bus. */
const partCharsMax = 128 * 1024;
/** Digits of a part's id: 128 bits, as those of a plan's. */
const idDigits = 32;

/** FNV-1a: runs must be cut alike by every solver, and this needs no cryptography. */
function fnv(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1)
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193) >>> 0;
  return hash;
}

/** The name that an item is known by; empty if it has none. */
const keyOf = (item: Item): string => {
  const { uid, name } = item as { readonly uid?: string; readonly name?: string };
  return uid ?? name ?? '';
};

/**
 * Cuts a list in runs. The cuts follow from the items' own names, so that an item that comes or
 * goes changes its own run and no other.
 */
function* runsOf<T extends Item>(items: readonly T[]): Generator<readonly T[]> {
  let run: T[] = [];
  for (const item of items) {
    run.push(item);
    if (run.length < runMax && fnv(keyOf(item)) % runMean !== 0) continue;
    yield run;
    run = [];
  }
  if (run.length > 0) yield run;
}

/** Pieces of a text, none of which ends within a character. */
function* piecesOf(text: string): Generator<string> {
  for (let at = 0; at < text.length;) {
    const end = at + partCharsMax;
    const isWithin = /[\uD800-\uDBFF]/u.test(text[end - 1] ?? '');
    const next = isWithin ? end - 1 : end;
    yield text.slice(at, next);
    at = next;
  }
}

type Run = { readonly items: readonly unknown[]; readonly ids: readonly string[] };

/**
 * Writes lists as parts. A run whose items are the very same objects as before is not written
 * again, so that a record of a large cluster costs what has changed since the last.
 */
export class PartWriter {
  readonly #hash: Hash;
  readonly #isKept: (id: string) => boolean;
  readonly #known = new WeakMap<object, Run>();

  /** `isKept` tells whether a part is kept already, and for long enough. */
  constructor(hash: Hash, isKept: (id: string) => boolean) {
    this.#hash = hash;
    this.#isKept = isKept;
  }

  /**
   * Yields the parts of a list that have to be kept, and undefined between them, so that its caller
   * can do other work. Returns the ids of all parts, run by run.
   */
  *list(items: readonly Item[]): Generator<RecordPart | undefined, PartIds> {
    const ids: (readonly string[])[] = [];
    for (const run of runsOf(items)) {
      ids.push(yield* this.#run(run));
      yield undefined;
    }
    return ids;
  }

  *#run(items: readonly Item[]): Generator<RecordPart, readonly string[]> {
    const [first = {}] = items;
    const known = this.#known.get(first);
    const isSame =
      known?.items.length === items.length && items.every((item, at) => item === known.items[at]);
    if (isSame && known.ids.every(this.#isKept)) return known.ids;
    const ids: string[] = [];
    for (const text of piecesOf(written(items))) {
      const id = this.#hash.sha256Hex(text).slice(0, idDigits);
      ids.push(id);
      if (!this.#isKept(id)) yield { id, text };
    }
    this.#known.set(first, { items, ids });
    return ids;
  }
}

/** The ids of a list's parts: those of each run. */
export type PartIds = readonly (readonly string[])[];

/** The list that was written as these parts. Undefined: one of them is missing. */
export function listOf(
  ids: PartIds,
  partOf: (id: string) => string | undefined,
): readonly unknown[] | undefined {
  const items: unknown[] = [];
  for (const run of ids) {
    const pieces = run.map(partOf);
    if (pieces.includes(undefined)) return undefined;
    items.push(...(readWritten(pieces.join('')) as readonly unknown[]));
  }
  return items;
}
