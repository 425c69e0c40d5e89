import { describe, expect, test } from 'vitest';

import { Random } from '../testing/random.js';
import { type Candidates, FewCandidates, SizeTable, TableCandidates } from './candidates.js';
import { type Size } from './packing.js';

const perUnit = Float64Array.of(3, 1, 0);

function sizesOf(random: Random, count: number): readonly Size[] {
  const sizes = Array.from({ length: count }, (_, index): Size => {
    const requests = Float64Array.of(random.below(6), random.below(12), 1);
    return {
      requests,
      worth: 3 * (requests[0] as number) + (requests[1] as number),
      kinds: [index],
    };
  });
  return sizes.sort((a, b) => b.worth - a.worth);
}

/**
 * Finds the size of the highest score by looking at every size; the first among equals.
 */
function everySize(
  sizes: readonly Size[],
  node: { readonly used: Float64Array; readonly room: Float64Array },
  pass: (size: Size) => boolean,
): Size | undefined {
  const score = ({ requests }: Size): number =>
    requests.reduce(
      (sum, amount, r) =>
        sum +
        (perUnit[r] as number) * (1 - (node.used[r] as number) / (node.room[r] as number)) * amount,
      0,
    );
  return sizes
    .filter(pass)
    .reduce<Size | undefined>(
      (best, size) => (score(size) > (best === undefined ? 0 : score(best)) ? size : best),
      undefined,
    );
}

/** Of each eighth of mixtures the most valuable size, in the order of sizes. */
function mostOfEachMixture(sizes: readonly Size[]): readonly Size[] {
  const mixtureOf = ({ requests, worth }: Size): number =>
    worth > 0 ? Math.min(7, Math.floor(((3 * (requests[0] as number)) / worth) * 8)) : 0;
  return sizes.filter(
    (size, at) => sizes.findIndex((other) => mixtureOf(other) === mixtureOf(size)) === at,
  );
}

describe('the size that suits a node best', () => {
  test.each<
    [
      string,
      (table: SizeTable, sizes: readonly Size[]) => Candidates,
      (sizes: readonly Size[]) => readonly Size[],
    ]
  >([
    [
      'in a table is, of the most valuable of each mixture that fit',
      (table) => new TableCandidates(table),
      mostOfEachMixture,
    ],
    [
      'in a short list is, of all that fit',
      (_table, sizes) => new FewCandidates(perUnit, sizes),
      (sizes) => sizes,
    ],
  ])(
    '%s, the one worth most by what is left, while nodes fill and sizes run out',
    (_where, candidatesOf, compared) => {
      let asked = 0;
      for (let seed = 1; seed <= 300; seed += 1) {
        const random = new Random(seed);
        const sizes = sizesOf(random, 1 + random.below(40));
        const table = new SizeTable(perUnit, sizes);
        const gone = new Set<Size>();
        for (let fill = 0; fill < 4; fill += 1) {
          const node = { used: new Float64Array(3), room: Float64Array.of(16, 40, 12) };
          const candidates = candidatesOf(table, sizes);
          const refused = new Set<Size>();
          const fits = (size: Size): boolean =>
            !gone.has(size) &&
            !refused.has(size) &&
            size.requests.every(
              (amount, r) => (node.used[r] as number) + amount <= (node.room[r] as number),
            );
          for (;;) {
            const expected = everySize(compared(sizes.filter(fits)), node, fits);
            const found = candidates.best(node, (size) => (fits(size) ? size : undefined));
            expect(found?.requests).toEqual(expected?.requests);
            expect(found).toBe(expected);
            asked += 1;
            if (found === undefined) break;
            found.requests.forEach((amount, r) => {
              node.used[r] = (node.used[r] as number) + amount;
            });
            if (random.chance(0.3)) refused.add(found);
            if (random.chance(0.2)) {
              gone.add(found);
              table.drop(found);
            }
          }
        }
      }
      expect(asked).toBeGreaterThan(5_000);
    },
  );

  test.each([
    ['what asks for the resource of which much is left', [8, 0, 0], [1, 4]],
    ['what asks for the other, once that is the scarce one', [0, 30, 0], [4, 1]],
  ])('is %s', (_sentence, used, expected) => {
    const sizes = [
      [4, 1],
      [1, 4],
    ].map(([cpu = 0, memory = 0], index): Size => ({
      requests: Float64Array.of(cpu, memory, 1),
      worth: cpu + memory,
      kinds: [index],
    }));
    const candidates = new TableCandidates(new SizeTable(Float64Array.of(1, 1, 0), sizes));
    expect(
      [
        ...(candidates.best(
          { used: Float64Array.from(used), room: Float64Array.of(16, 40, 12) },
          (size) => size,
        )?.requests ?? []),
      ].slice(0, 2),
    ).toEqual(expected);
  });
});
