import { isMap, isScalar, isSeq, LineCounter } from 'yaml';

import { parseAsKubectl } from './yaml.js';

/**
 * The entry of a map that a path goes through. Keys may hold dots, so the longest key that fits
 * wins.
 */
function longestKey(keys: readonly string[], path: string): string | undefined {
  const fits = (key: string): boolean =>
    path === key || path.startsWith(`${key}.`) || path.startsWith(`${key}[`);
  return keys.filter(fits).sort((a, b) => b.length - a.length)[0];
}

/**
 * The line (from 1, within the document) of the field at a path such as `spec.containers[0].image`.
 * A missing field has the line of its nearest existing parent.
 */
export function lineOfField(document: string, path: string): number {
  const counter = new LineCounter();
  let node: unknown = parseAsKubectl(document, counter).contents;
  let offset = (node as { range?: readonly number[] } | null)?.range?.[0] ?? 0;
  for (let rest = path; rest !== '';) {
    const index = /^\[([0-9]+)\]/.exec(rest);
    if (index !== null && isSeq(node)) {
      node = node.items[Number(index[1])];
      rest = rest.slice(index[0].length);
    } else if (isMap(node)) {
      const pairs = new Map(
        node.items.flatMap((pair) =>
          isScalar(pair.key) ? [[String(pair.key.value), pair] as const] : [],
        ),
      );
      const key = longestKey([...pairs.keys()], rest);
      const pair = key === undefined ? undefined : pairs.get(key);
      if (key === undefined || pair === undefined) break;
      offset = (pair.key as { range?: readonly number[] }).range?.[0] ?? offset;
      node = pair.value;
      rest = rest.slice(key.length);
    } else break;
    rest = rest.replace(/^\./, '');
    if (index !== null)
      offset = (node as { range?: readonly number[] } | undefined)?.range?.[0] ?? offset;
  }
  return counter.linePos(offset).line;
}
