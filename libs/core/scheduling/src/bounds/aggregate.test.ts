import { highsSolver } from '@dovetail/adapter-highs';
import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';

import {
  aggregateBound,
  fewestNodesWithin,
  integerAggregateBound,
  resourcePriceBound,
} from './aggregate.js';
import type { Column } from './columns.js';
import type { BoundProblem, DemandClass, HostRule } from './problem.js';

const lp = highsSolver();
afterAll(() => lp.close());
const limits = { timeMsMax: 10_000 };

const column = (room: readonly number[], dollars: number, most = Infinity): Column => ({
  room: Float64Array.from(room),
  priceMicrosPerHour: dollars * 1e6,
  admits: Uint8Array.of(1),
  most,
});
const problem = (
  demand: readonly number[],
  buyable: readonly Column[],
  over: Partial<BoundProblem> = {},
): BoundProblem => ({
  classes: [],
  rules: [],
  buyable,
  existing: [],
  demand: Float64Array.from(demand),
  scales: new Float64Array(demand.length).fill(1),
  balanced: false,
  nodesMin: 0,
  ...over,
});
const rule = (mostEver: number): HostRule => ({ mostEver, most: () => mostEver, least: () => 0 });
const pods = (count: number): DemandClass => ({
  requests: Float64Array.of(1),
  count,
  admission: 0,
  limitedBy: [0],
  countedBy: [0],
});
const dollarsOf = async (one: BoundProblem): Promise<readonly number[]> =>
  [resourcePriceBound(one), aggregateBound(one), await integerAggregateBound(one, lp, limits)].map(
    (micros) => Math.round(micros) / 1e6,
  );

describe('dollars an hour by one resource, by all in fractions, and by all in whole nodes', () => {
  const small = column([2, 2], 1);
  const large = column([8, 8], 3);
  test.each<[string, BoundProblem, readonly number[]]>([
    ['nothing is wanted', problem([0, 0], [small]), [0, 0, 0]],
    ['half a node is wanted', problem([1, 1], [small]), [0.5, 0.5, 1]],
    ['the larger type is cheaper by the unit', problem([4, 4], [small, large]), [1.5, 1.5, 2]],
    [
      'each resource has a cheap type of its own',
      problem([4, 4], [column([4, 0], 1), column([0, 4], 1)]),
      [1, 2, 2],
    ],
    ['a resource that no type has', problem([2, 5], [column([2, 0], 1)]), [1, 1, 0]],
    [
      'only one of the cheap type is left',
      problem([8, 8], [small, column([4, 4], 1, 1)]),
      [2, 2, 3],
    ],
  ])('when %s', async (_, one, expected) => {
    expect(await dollarsOf(one)).toEqual(expected);
  });

  test.each<[string, readonly number[], readonly number[]]>([
    ['all that existing nodes have is free', [3, 3], [0.5, 0.5, 1]],
    ['what they have too much of is not sold', [9, 3], [0.5, 0.5, 1]],
    ['nothing is bought when it is enough', [9, 9], [0, 0, 0]],
  ])('%s', async (_, room, expected) => {
    const existing = [column(room, 0, 1)];
    expect(await dollarsOf(problem([4, 4], [small], { existing }))).toEqual(expected);
  });

  test.each<[string, Partial<BoundProblem>, number]>([
    ['one for any pods at all', {}, 1],
    ['one for each domain that rules demand', { nodesMin: 3 }, 3],
    ['one for each pod that must be alone', { rules: [rule(1)], classes: [pods(4)] }, 4],
    ['one for two pods that may be two', { rules: [rule(2)], classes: [pods(5)] }, 3],
    [
      'none when pods could share nodes that exist',
      { rules: [rule(1)], classes: [pods(4)], existing: [column([0, 0], 0, 1)] },
      1,
    ],
  ])('whole nodes are as many as rules demand: %s', async (_, over, nodes) => {
    const one = problem([1, 1], [small], over);
    expect(await integerAggregateBound(one, lp, limits)).toBeCloseTo(nodes * 1e6, 0);
  });
});

describe('the fewest nodes', () => {
  const small = column([2, 2], 1);
  const large = column([8, 8], 5);
  test.each<[string, number, readonly number[], number]>([
    ['is that of the large type where the price allows it', 5, [8, 8], 1],
    ['is that of the small type where only that is cheap enough', 4, [8, 8], 4],
    ['is mixed where the price allows some large ones', 9, [14, 14], 4],
    ['is none for nothing', 0, [0, 0], 0],
  ])('%s', async (_, dollars, demand, nodes) => {
    const one = problem(demand, [small, large]);
    expect(await fewestNodesWithin(one, dollars * 1e6, lp, limits)).toBe(nodes);
  });
  test('counts what existing nodes have no room for', async () => {
    const one = problem([8, 8], [small], { existing: [column([5, 5], 0, 1)] });
    expect(await fewestNodesWithin(one, 9e6, lp, limits)).toBe(2);
  });
});

test('knowing more never lowers a bound: one resource, all in fractions, all in whole nodes', () => {
  const columns = fc.record({
    room: fc.tuple(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 20 })),
    dollars: fc.integer({ min: 1, max: 50 }),
  });
  return fc.assert(
    fc.asyncProperty(
      fc.array(columns, { minLength: 1, maxLength: 5 }),
      fc.tuple(fc.integer({ min: 0, max: 200 }), fc.integer({ min: 0, max: 200 })),
      async (offers, demand) => {
        const buyable = offers.map(({ room, dollars }) => column(room, dollars));
        const [one, all, whole] = await dollarsOf(problem(demand, buyable));
        expect(one).toBeLessThanOrEqual((all ?? NaN) * (1 + 1e-6) + 1e-6);
        expect(all).toBeLessThanOrEqual((whole ?? NaN) * (1 + 1e-6) + 1e-6);
      },
    ),
    { numRuns: 60, seed: 1 },
  );
});
