import { numberAt } from '@dovetail/core-invariant';
import type { RequirementMismatch } from '@dovetail/core-kube-model';

/**
 * Returns the number of edits between two words: letters that are added, dropped, changed, or
 * swapped with the next. It may stop and return any number above `most` if there are more.
 */
export function editDistance(a: string, b: string, most: number): number {
  if (Math.abs(a.length - b.length) > most) return most + 1;
  let before: readonly number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const change = numberAt(row, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swap = swapped ? numberAt(before, j - 2) + 1 : change;
      next.push(Math.min(change, swap, numberAt(row, j) + 1, numberAt(next, j - 1) + 1));
    }
    [before, row] = [row, next];
  }
  return row[b.length] ?? most + 1;
}

/**
 * Returns the word of `known` that is closest to `word`; undefined if none is close enough for a
 * typing error.
 */
export function closest(word: string, known: Iterable<string>): string | undefined {
  const most = Math.max(1, Math.floor(word.length / 5));
  let best: { readonly text: string; readonly distance: number } | undefined;
  for (const text of [...known].sort()) {
    const distance = editDistance(word.toLowerCase(), text.toLowerCase(), most);
    if (distance <= most && text !== word && (best === undefined || distance < best.distance))
      best = { text, distance };
  }
  return best?.text;
}

const listed = (text: string): readonly string[] =>
  /^In \[(.*)\]$/.exec(text)?.[1]?.split(', ') ?? [];

/** Returns the offered value that a wanted value is probably a typing error of. */
export function closestOffered(
  mismatch: RequirementMismatch,
  known: Iterable<string>,
): string | undefined {
  const offered = [...known, ...listed(mismatch.offered)];
  for (const wanted of listed(mismatch.wanted)) {
    const near = offered.includes(wanted) ? undefined : closest(wanted, offered);
    if (near !== undefined) return near;
  }
  return undefined;
}
