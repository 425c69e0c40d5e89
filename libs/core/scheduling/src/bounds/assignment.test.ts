import { highsSolver } from '@dovetail/adapter-highs';
import type { Pod } from '@dovetail/core-kube-model';
import type { LinearProgram, LpSolution, LpSolver } from '@dovetail/core-ports';
import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';

import { plan } from '../index.js';
import { defaultPlanOptions } from '../options.js';
import type { PlanOptions, Snapshot } from '../snapshot.js';
import { nodeOf, podsOf, poolOf, snapshotOf } from '../testing/objects.js';
import { asking, rules, typesBy, workloadPods, workloadsOf } from '../testing/packing.js';
import { worldOf } from '../world/world.js';
import { AssignmentProgram, type NodeRange } from './assignment.js';
import { problemOf } from './problem.js';

fc.configureGlobal({ seed: 1 });
const lp = highsSolver();
afterAll(() => lp.close());
const limits = { timeMsMax: 10_000 };
// The larger type costs less than four of the smaller.
const types = typesBy([1, 4, 100], [4, 16, 300]);
const any: NodeRange = { least: 0, most: 100 };

type Over = { readonly snapshot?: Partial<Snapshot>; readonly options?: Partial<PlanOptions> };
function programFor(pods: readonly Pod[], over: Over = {}, solver: LpSolver = lp) {
  const snapshot = snapshotOf({
    pools: [{ pool: poolOf('default'), instanceTypes: types }],
    ...over.snapshot,
  });
  const options = { ...defaultPlanOptions, ...over.options };
  return new AssignmentProgram(problemOf(worldOf(snapshot, pods, options)), solver, limits);
}
/** Price and nodes of the relaxed optimum, as far as the solver's tolerance does not show. */
async function solved(pods: readonly Pod[], range: NodeRange = any, over?: Over) {
  const { priceMicrosPerHour, nodes } = await programFor(pods, over).solve(range);
  return [
    Number.isFinite(priceMicrosPerHour) ? Math.round(priceMicrosPerHour) : priceMicrosPerHour,
    Number(nodes.toFixed(3)),
  ];
}

/** A solver that answers each program with this, and counts them. */
const answering = (answer: Partial<LpSolution>): LpSolver & { asked: number } => ({
  asked: 0,
  solve({ cost, rowLower }: LinearProgram) {
    this.asked += 1;
    return Promise.resolve({
      status: 'optimal',
      bound: 0,
      columns: new Float64Array(cost.length),
      rowDuals: new Float64Array(rowLower.length),
      steps: 0,
      ...answer,
    });
  },
});

describe('a program that has no answer', () => {
  test('is no bound when the solver gives up', async () => {
    const solver = answering({ status: 'stopped', bound: 7 });
    const range = { least: 2, most: 9 };
    expect(await programFor(podsOf('p', 3), {}, solver).solve(range)).toEqual({
      priceMicrosPerHour: 0,
      nodes: 2,
    });
  });

  test('excludes every plan when no number of nodes in the range will do', async () => {
    const pods = podsOf('p', 3, { ...asking(1, 1), ...rules.apart('w') });
    expect(await solved(pods, { least: 0, most: 2 })).toEqual([Infinity, 2]);
  });

  test('is asked again with every type before it is called infeasible', async () => {
    const many = typesBy(
      ...Array.from({ length: 20 }, (_, i) => [i + 1, 4, 100 * (i + 1)] as const),
    );
    const over = { snapshot: { pools: [{ pool: poolOf('default'), instanceTypes: many }] } };
    const solver = answering({ status: 'infeasible', bound: Infinity });
    await programFor(podsOf('p', 3), over, solver).solve(any);
    expect(solver.asked).toBe(2);
  });

  test('fails with the solver', async () => {
    const failing: LpSolver = { solve: () => Promise.reject(new Error('out of memory')) };
    await expect(programFor(podsOf('p', 3), {}, failing).solve(any)).rejects.toThrow(
      'out of memory',
    );
  });
});

describe('the relaxed optimum', () => {
  test.each<[string, readonly Pod[], NodeRange, Over, readonly [number, number]]>([
    [
      'of pods for which there is room',
      podsOf('p', 4, asking(1, 1)),
      any,
      { snapshot: { nodes: [nodeOf('n')] } },
      [0, 0],
    ],
    ['buys fractions of the best type', podsOf('p', 6, asking(1, 1)), any, {}, [450, 1.5]],
    [
      'buys what existing nodes have no room for',
      podsOf('p', 6, asking(1, 1)),
      any,
      {
        snapshot: {
          pools: [{ pool: poolOf('default'), instanceTypes: types }],
          nodes: [nodeOf('n')],
        },
      },
      [150, 0.5],
    ],
    [
      'buys as many nodes as the range demands',
      podsOf('p', 2, asking(1, 1)),
      { least: 2, most: 9 },
      {},
      [200, 2],
    ],
    ['buys only types that hold a whole pod', podsOf('p', 1, asking(2, 1)), any, {}, [150, 0.5]],
    [
      'buys a node for each pod that is apart',
      podsOf('p', 6, { ...asking(0.5, 1), ...rules.apart('w') }),
      any,
      {},
      [600, 6],
    ],
    [
      'buys only what the pods may use',
      podsOf('p', 4, {
        ...asking(1, 1),
        nodeSelector: { 'node.kubernetes.io/instance-type': 'c1-m4' },
      }),
      any,
      {},
      [400, 4],
    ],
  ])('%s', async (_, pods, range, over, expected) =>
    expect(await solved(pods, range, over)).toEqual(expected),
  );

  test('is that of all types, though few are priced at first', async () => {
    // Of forty types only the last is worth its price, and only for pods of much memory.
    const many = typesBy(
      ...Array.from({ length: 39 }, (_, i) => [i + 1, 4 * (i + 1), 100 * (i + 1)] as const),
      [1, 64, 150] as const,
    );
    const over = { snapshot: { pools: [{ pool: poolOf('default'), instanceTypes: many }] } };
    const pods = [...podsOf('cpu', 30, asking(1, 1)), ...podsOf('memory', 4, asking(0.1, 30))];
    const [found] = await solved(pods, any, over);
    const world = worldOf(snapshotOf(over.snapshot), pods, defaultPlanOptions);
    const problem = problemOf(world);
    // The same program with the useful types alone costs the same.
    const useful = new Set([100, 150]);
    const few = {
      ...problem,
      buyable: problem.buyable.filter(({ priceMicrosPerHour }) => useful.has(priceMicrosPerHour)),
    };
    const least = await new AssignmentProgram(few, lp, limits).solve(any);
    expect(found).toBeLessThanOrEqual(Math.round(least.priceMicrosPerHour));
    expect(found).toBeGreaterThan(0);
  });

  test('never costs less for a narrower range', async () => {
    const pods = podsOf('p', 6, { ...asking(1, 1), ...rules.apart('w') });
    const prices: number[] = [];
    for (const least of [0, 2, 4, 6, 8]) {
      const [price = 0] = await solved(pods, { least, most: 9 });
      prices.push(price);
    }
    expect(prices).toEqual(prices.toSorted((a, b) => a - b));
    expect(prices.at(-1)).toBe(800);
  });
});

test('no plan costs less than the relaxed optimum for its own number of nodes', async () => {
  await fc.assert(
    fc.asyncProperty(workloadsOf('none', 'apart', 'spread', 'zone'), async (workloads) => {
      const pods = workloadPods(workloads);
      const instanceTypes = typesBy([1, 4, 100], [2, 8, 180], [4, 16, 300], [8, 64, 650]);
      const snapshot = { pools: [{ pool: poolOf('default'), instanceTypes }] };
      const made = plan(snapshotOf(snapshot), pods, defaultPlanOptions);
      expect(made.unplaced).toEqual([]);
      const nodes = made.newNodes.length;
      const program = programFor(pods, { snapshot });
      for (const range of [any, { least: nodes, most: nodes }]) {
        const { priceMicrosPerHour } = await program.solve(range);
        expect(priceMicrosPerHour).toBeLessThanOrEqual(made.priceMicrosPerHour);
      }
    }),
    { numRuns: 40 },
  );
});

test('a bound does not depend on the ranges that were asked for before', async () => {
  const program = programFor(podsOf('p', 6, asking(1, 1)));
  const first = await program.solve(any);
  await program.solve({ least: 6, most: 9 });
  expect(await program.solve(any)).toEqual(first);
});
