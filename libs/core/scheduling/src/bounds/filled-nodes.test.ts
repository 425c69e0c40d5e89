import { highsSolver } from '@dovetail/adapter-highs';
import { at } from '@dovetail/core-invariant';
import { afterAll, describe, expect, test } from 'vitest';

import { Random } from '../testing/random.js';
import type { Column } from './columns.js';
import { filledNodesBound } from './filled-nodes.js';
import type { BoundProblem, DemandClass, HostRule } from './problem.js';

const lp = highsSolver();
afterAll(() => lp.close());
const limits = { timeMsMax: 10_000 };

type Pods = {
  readonly amounts: readonly number[];
  readonly count: number;
  readonly apart: boolean;
};

const column = (amounts: readonly number[], dollars: number): Column => ({
  room: Float64Array.from(amounts),
  priceMicrosPerHour: dollars * 1e6,
  admits: Uint8Array.of(1),
  most: Infinity,
});
const cap = (most: number): HostRule => ({ mostEver: most, most: () => most, least: () => 0 });

/** A problem whose amounts are their own scale. `most` pods that keep apart may share a node. */
function problem(pods: readonly Pods[], buyable: readonly Column[], most = 1): BoundProblem {
  const classes = pods.map(({ amounts, count, apart }): DemandClass => ({
    requests: Float64Array.from(amounts),
    count,
    admission: 0,
    limitedBy: apart ? [0] : [],
    countedBy: apart ? [0] : [],
  }));
  const size = at(buyable, 0).room.length;
  return {
    classes,
    rules: [cap(most)],
    buyable,
    existing: [],
    demand: Float64Array.from({ length: size }, (_, r) =>
      pods.reduce((sum, { amounts, count }) => sum + at(amounts, r) * count, 0),
    ),
    scales: new Float64Array(size).fill(1),
    balanced: false,
    nodesMin: 0,
  };
}

/** The least price of nodes for all pods, by trying every way to share them. */
function leastPrice({ classes, buyable }: BoundProblem, most: number): number {
  const pods = classes.flatMap((cls) => Array.from({ length: cls.count }, () => cls));
  const nodes: DemandClass[][] = [];
  let best = Infinity;
  const priceOf = (held: readonly DemandClass[]): number => {
    if (held.filter(({ limitedBy }) => limitedBy.length > 0).length > most) return Infinity;
    return Math.min(
      Infinity,
      ...buyable
        .filter(({ room }) =>
          [...room].every(
            (amount, r) => held.reduce((sum, cls) => sum + (cls.requests[r] ?? 0), 0) <= amount,
          ),
        )
        .map(({ priceMicrosPerHour }) => priceMicrosPerHour),
    );
  };
  const place = (index: number): void => {
    const pod = pods[index];
    const price = nodes.reduce((sum, held) => sum + priceOf(held), 0);
    if (price >= best) return;
    if (pod === undefined) best = price;
    else
      for (let node = 0; node <= nodes.length; node += 1) {
        const isNew = node === nodes.length;
        if (isNew) nodes.push([]);
        at(nodes, node).push(pod);
        place(index + 1);
        at(nodes, node).pop();
        if (isNew) nodes.pop();
      }
  };
  place(0);
  return best;
}

describe('the bound by filled nodes', () => {
  const nodes = [column([1000], 1), column([2000], 2)];

  test.each([
    // In amounts alone 5,600 would do, on six nodes.
    ['pods of which one and no part of another fits a node', 700, 4, 4, 8],
    ['pods that keep apart, each with room for others', 100, 4, 0, 4],
    ['pods of which three fit two nodes only if they could be cut', 600, 3, 0, 3],
  ])('knows %s', async (_, amount, apart, others, dollars) => {
    const pods = [
      { amounts: [amount], count: apart, apart: true },
      { amounts: [amount], count: others, apart: false },
    ].filter(({ count }) => count > 0);
    expect((await filledNodesBound(problem(pods, nodes), lp, limits)) / 1e6).toBeCloseTo(
      dollars,
      6,
    );
  });

  test('counts the other resources for all nodes together', async () => {
    const rich = [column([1000, 10], 1), column([2000, 20], 2)];
    const pods = [
      { amounts: [900, 0], count: 2, apart: true },
      { amounts: [100, 10], count: 5, apart: false },
    ];
    // Five nodes have the second resource for five pods.
    expect((await filledNodesBound(problem(pods, rich), lp, limits)) / 1e6).toBeCloseTo(5, 6);
  });

  test.each([
    ['no rule limits pods', problem([{ amounts: [700], count: 8, apart: false }], nodes)],
    [
      'some node exists',
      {
        ...problem([{ amounts: [700], count: 8, apart: true }], nodes),
        existing: [column([1000], 0)],
      },
    ],
    ['amounts are fractions', problem([{ amounts: [0.7], count: 8, apart: true }], nodes)],
    ['some pod fits no node', problem([{ amounts: [2100], count: 8, apart: true }], nodes)],
  ])('is none if %s', async (_, given) => {
    expect(await filledNodesBound(given, lp, limits)).toBe(0);
  });

  test.each([1, 2])(
    'is no more than the least price of any few pods of which %i share a node',
    async (most) => {
      const random = new Random(most);
      for (let round = 0; round < 60; round += 1) {
        const buyable = [1, 2, 4].map((size) =>
          column(
            [size * 1000 - random.pick([0, 100]), size * random.pick([20, 40])],
            size * random.pick([0.9, 1, 1.1]),
          ),
        );
        const pods = Array.from({ length: 1 + random.below(4) }, () => ({
          amounts: [random.pick([100, 250, 500, 700, 1500]), random.pick([0, 3, 10, 25])],
          count: 1 + random.below(2),
          apart: random.chance(0.5),
        }));
        const given = problem(pods, buyable, most);
        const best = leastPrice(given, most);
        const bound = await filledNodesBound(given, lp, limits);
        expect({ round, best, excess: Math.max(0, bound - best * (1 + 1e-9)) }).toEqual({
          round,
          best,
          excess: 0,
        });
      }
    },
  );
});
