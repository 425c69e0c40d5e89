/** Longer names are never near to a known one. */
const lengthMax = 60;

/**
 * The number of letters to add, drop, change or swap with the next one, to make one word of the
 * other (Damerau and Levenshtein's distance, where no letter moves twice).
 */
function distance(from: string, to: string): number {
  let before: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const change = from[i - 1] === to[j - 1] ? 0 : 1;
      let least = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + change);
      if (i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1])
        least = Math.min(least, (before[j - 2] ?? 0) + 1);
      row.push(least);
    }
    [before, last] = [last, row];
  }
  return last[to.length] ?? 0;
}

/**
 * The known word that a user may have meant: the nearest one, if few letters are different. Case
 * counts for nothing. Undefined if there is none.
 */
export function nearest(word: string, known: Iterable<string>): string | undefined {
  if (word.length > lengthMax) return undefined;
  const lower = word.toLowerCase();
  let best: string | undefined;
  // One letter of a short word is as much as two of a longer one.
  let least = word.length <= 5 ? 1 : 2;
  for (const one of known) {
    if (Math.abs(one.length - word.length) > least) continue;
    const far = distance(lower, one.toLowerCase());
    if (far > least || (far === least && best !== undefined)) continue;
    [best, least] = [one, far];
  }
  return best;
}
