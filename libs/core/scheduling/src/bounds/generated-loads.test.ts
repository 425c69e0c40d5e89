import { highsSolver } from '@dovetail/adapter-highs';
import { at, float64At } from '@dovetail/core-invariant';
import { afterAll, expect, test } from 'vitest';

import { Random } from '../testing/random.js';
import { type Generated, generatedLoads, worthwhileLoads } from './generated-loads.js';
import { fullestLoads, type Item, type Load, type Purchase } from './loads.js';
import { ProgramBuilder } from './program.js';
import type { MayShare } from './sharing.js';

const lp = highsSolver();
afterAll(() => lp.close());

const freely: MayShare = () => true;

type Shop = { readonly items: readonly Item[]; readonly nodes: readonly Purchase[] };

/** A few kinds of pods and nodes, whose sizes leave gaps. */
function shopOf(seed: number): Shop {
  const random = new Random(seed);
  const items = Array.from({ length: 3 }, () => ({
    requests: Float64Array.of(random.pick([2, 3, 5, 7]), random.pick([1, 2, 4])),
    count: random.pick([2, 5, 9]),
  }));
  const nodes = [8, 11, 16].map((size) => ({
    room: Float64Array.of(size, size),
    priceMicrosPerHour: size * 10_000 + random.below(9_000),
    admits: items.map(() => true),
  }));
  return { items, nodes };
}

const pricedOf =
  (items: readonly Item[]) =>
  async ([loads = []]: readonly (readonly Load[])[]) => {
    const program = new ProgramBuilder();
    const rows = items.map(({ count }) => program.row(count, Infinity));
    for (const { counts, priceMicrosPerHour } of loads)
      program.column(
        priceMicrosPerHour / 1e6,
        Infinity,
        counts.map((count, item) => [at(rows, item), count] as const),
      );
    const { bound, rowDuals } = await lp.solve(program.build('fractions'), { timeMsMax: 10_000 });
    return { price: bound, worths: [Float64Array.from(rows, (row) => float64At(rowDuals, row))] };
  };

const generatedFor = ({ items, nodes }: Shop): Promise<Generated> =>
  generatedLoads({ items, places: [nodes], priced: pricedOf(items) });

test.each([1, 2, 3, 4, 5, 6, 7, 8])(
  'the bound of generated loads is that of all loads (shop %i)',
  async (seed) => {
    const shop = shopOf(seed);
    const all = fullestLoads(shop.nodes, shop.items, freely) ?? [];
    const { price } = await pricedOf(shop.items)([all]);
    const { bound } = await generatedFor(shop);
    expect(bound).toBeLessThanOrEqual(price * (1 + 1e-9));
    expect(bound).toBeGreaterThan(price * 0.999);
  },
);

test.each([1, 2, 3, 4, 5, 6, 7, 8])(
  'the loads whose price is near their worth are among the fullest of all (shop %i)',
  async (seed) => {
    const { items, nodes } = shopOf(seed);
    const { worths } = await generatedFor({ items, nodes });
    const all = fullestLoads(nodes, items, freely) ?? [];
    const mine = worths[0] ?? new Float64Array(items.length);
    const near = ({ counts, priceMicrosPerHour }: Load): boolean =>
      priceMicrosPerHour / 1e6 -
        counts.reduce((sum, count, item) => sum + count * float64At(mine, item), 0) <
      0.02 - 1e-9;
    const found = worthwhileLoads(nodes, items, { mayShare: freely, worths: mine, spare: 0.02 });
    const textsOf = (loads: readonly Load[]) => loads.map((load) => JSON.stringify(load)).sort();
    expect(textsOf((found ?? []).filter(near))).toEqual(textsOf(all.filter(near)));
  },
);

test('without an answer of the solver there is no bound', async () => {
  const { items, nodes } = shopOf(1);
  const generated = await generatedLoads({
    items,
    places: [nodes],
    priced: () => Promise.resolve(undefined),
  });
  expect(generated).toEqual({ bound: 0, worths: [] });
});
