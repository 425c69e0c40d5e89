import type { Pod } from '@dovetail/core-kube-model';
import { describe, expect, test } from 'vitest';

import { RandomNumbers } from '../improve/random-numbers.js';
import { defaultPlanOptions } from '../options.js';
import { totalPrice } from '../pack/bins.js';
import { exhaustivePodsMax } from '../pack/exhaustive.js';
import type { PlanOptions } from '../snapshot.js';
import {
  gibibytes,
  offeringOf,
  podsOf as podsNamed,
  poolOf,
  selecting,
  snapshotOf,
  typeOf,
} from '../testing/objects.js';
import { type World, worldOf } from '../world/world.js';
import {
  cheaperStart,
  drawnStart,
  hasDomains,
  leftIn,
  podsOf,
  redrawn,
  type Start,
} from './start.js';

/** Nodes of four cores, which cost three times as much in zone `b`. */
const type = typeOf({
  name: 'm.4',
  cpuMillis: 4_000,
  memoryBytes: gibibytes(16),
  offerings: [offeringOf('a', 'on-demand', 100), offeringOf('b', 'on-demand', 300)],
});
const spread = (maxSkew: number, topologyKey = 'topology.kubernetes.io/zone'): Partial<Pod> => ({
  labels: { app: 'web' },
  topologySpread: [
    {
      maxSkew,
      topologyKey,
      whenUnsatisfiable: 'DoNotSchedule',
      selector: selecting({ app: 'web' }),
      nodeAffinityPolicy: 'Honor',
      nodeTaintsPolicy: 'Ignore',
    },
  ],
});
const worldWith = (
  count: number,
  over: Partial<Pod> = {},
  options: Partial<PlanOptions> = {},
): World =>
  worldOf(
    snapshotOf({ pools: [{ pool: poolOf('default'), instanceTypes: [type] }] }),
    podsNamed('p', count, { requests: { cpu: 1_500 }, ...over }),
    { ...defaultPlanOptions, ...options },
  );
const never = (): boolean => false;
const priceOf = ({ first }: Start): number => totalPrice(first.bins);

describe('a first start', () => {
  test.each([
    ['without rules', 6, {}, 300],
    ['that spread evenly over two zones', 6, spread(1), 2 * 100 + 2 * 300],
    ['that may lean to the cheaper zone by two pods', 6, spread(2), 2 * 100 + 300],
  ])('of pods %s has all of them, on the cheapest nodes', (_what, count, over, price) => {
    const world = worldWith(count, over);
    const start = cheaperStart(world, never);
    expect(podsOf(world)).toBe(count);
    expect(leftIn(start)).toBe(0);
    expect(priceOf(start)).toBe(price);
  });

  test('counts the pods that no node holds', () =>
    expect(leftIn(cheaperStart(worldWith(3, { requests: { cpu: 5_000 } }), never))).toBe(3));
});

test.each([
  ['have domains if they spread over zones', spread(1), true],
  ['have none if they spread over hosts', spread(1, 'kubernetes.io/hostname'), false],
  ['have none without a rule', {}, false],
])('pods %s', (_what, over, expected) => expect(hasDomains(worldWith(2, over))).toBe(expected));

test.each([1, 2, 3])('a start that is drawn by seed %d keeps to the rules', (seed) => {
  const world = worldWith(8, spread(1));
  const start = drawnStart(world, new RandomNumbers(seed));
  expect(leftIn(start)).toBe(0);
  expect(priceOf(start)).toBe(2 * 100 + 2 * 300);
});

describe('drawing anew', () => {
  const after = (world: World, stop = never): ReturnType<typeof redrawn> & { first: Start } => {
    const first = cheaperStart(world, never);
    return { first, ...redrawn(world, first, stop) };
  };
  test('never leaves out more pods nor costs more, and its steps give the same again', () => {
    const world = (): World => worldWith(7, spread(2), { stepsMax: 20 });
    const [one, again] = [after(world()), after(world())];
    expect(one.steps).toBeGreaterThan(0);
    expect(leftIn(one.start)).toBeLessThanOrEqual(leftIn(one.first));
    expect(priceOf(one.start)).toBeLessThanOrEqual(priceOf(one.first));
    expect([again.steps, priceOf(again.start)]).toEqual([one.steps, priceOf(one.start)]);
  });

  test.each<[string, World, () => boolean]>([
    ['no steps are left', worldWith(6, spread(2), { stepsMax: 0 }), never],
    ['the time is over', worldWith(6, spread(2), { stepsMax: 20 }), () => true],
    ['there are many pods', worldWith(exhaustivePodsMax + 1, spread(2), { stepsMax: 20 }), never],
    [
      'nodes that exist are to be filled',
      worldWith(6, spread(2), { stepsMax: 20, existingNodes: 'filled' }),
      never,
    ],
  ])('takes no step when %s', (_why, world, stop) => {
    const { first, start, steps } = after(world, stop);
    expect(steps).toBe(0);
    expect(start).toBe(first);
  });
});
