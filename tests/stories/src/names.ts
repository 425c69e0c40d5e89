import { compareText } from '@dovetail/core-kube-model';
/** Gives random names stable ones, in the order in which they are first seen. */
export class Names {
  readonly #stable = new Map<string, string>();
  readonly #counts = new Map<string, number>();

  /** Names a thing: `web-x7k2f` of the family `web` becomes `web-1`. */
  add(family: string, name: string): string {
    const known = this.#stable.get(name);
    if (known !== undefined) return known;
    const count = (this.#counts.get(family) ?? 0) + 1;
    this.#counts.set(family, count);
    this.#stable.set(name, `${family}-${String(count)}`);
    return `${family}-${String(count)}`;
  }

  /** The cluster's name of a thing. Throws if nothing has this stable name. */
  actual(stable: string): string {
    for (const [name, known] of this.#stable) if (known === stable) return name;
    throw new Error(`the story has no ${stable}; it has ${[...this.#stable.values()].join(', ')}`);
  }

  /** The text with every known name replaced. */
  replaceIn(text: string): string {
    let replaced = text;
    const longestFirst = [...this.#stable].sort(([a], [b]) => b.length - a.length);
    for (const [name, stable] of longestFirst) replaced = replaced.replaceAll(name, stable);
    return replaced;
  }
}

/** `db-1, web-2, web-1, web-3` as `db-1, web-1..3`. */
export function shortList(names: readonly string[]): string {
  const runs: { family: string; first: number; last: number }[] = [];
  for (const name of names.toSorted(byFamilyThenCount)) {
    const { family, count } = partsOf(name);
    const run = runs.at(-1);
    if (run?.family === family && run.last + 1 === count) run.last += 1;
    else runs.push({ family, first: count, last: count });
  }
  return runs.map(runText).join(', ');
}

type Run = { readonly family: string; readonly first: number; readonly last: number };

function runText({ family, first, last }: Run): string {
  if (last === 0) return family;
  return first === last
    ? `${family}-${String(first)}`
    : `${family}-${String(first)}..${String(last)}`;
}

function partsOf(name: string): { readonly family: string; readonly count: number } {
  const [, family = name, count = '0'] = /^(.*)-(\d+)$/.exec(name) ?? [];
  return { family, count: Number(count) };
}

function byFamilyThenCount(a: string, b: string): number {
  const [left, right] = [partsOf(a), partsOf(b)];
  if (left.family !== right.family) return compareText(left.family, right.family);
  return left.count - right.count;
}
