import { numberAt } from '@dovetail/core-invariant';
import type { RequirementMismatch } from '@dovetail/core-kube-model';

/** Edits between two words, given up once there are more than `most`. */
export function editDistance(a: string, b: string, most: number): number {
  if (Math.abs(a.length - b.length) > most) return most + 1;
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const change = numberAt(row, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(change, numberAt(row, j) + 1, numberAt(next, j - 1) + 1));
    }
    row = next;
  }
  return row[b.length] ?? most + 1;
}

/** The closest of `known` to a word that is not among them, if one is close enough to be a slip. */
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

/** The offered value that a wanted one is probably a slip of. */
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
