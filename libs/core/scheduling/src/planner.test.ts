import { describe, expect, test } from 'vitest';

import { buildInSequence } from './compose/sequence.js';
import { checkPlan, type Plan, plan } from './index.js';
import { type GeneratedWorld, legacyWorld, mixedWorld } from './testing/worlds.js';
import { worldOf } from './world/world.js';

const seeds = (from: number, count: number): readonly number[] =>
  Array.from({ length: count }, (_, index) => from + index);
const planned = ({ snapshot, pods, options }: GeneratedWorld): Plan =>
  plan(snapshot, pods, options);
const plans = new Map<number, Plan>();
/** The plan of the world of this seed. Each is planned once, and all laws are asked of it. */
function planOf(seed: number): Plan {
  const known = plans.get(seed) ?? planned(mixedWorld(seed));
  plans.set(seed, known);
  return known;
}

describe('in every generated world', () => {
  test.each(seeds(1, 5).map((block) => [block * 20 - 19, block * 20]))(
    'the checker finds nothing wrong, and each pod is placed or explained (seeds %i to %i)',
    (from, to) => {
      for (const seed of seeds(from, to - from + 1)) {
        const [world, made] = [mixedWorld(seed), planOf(seed)];
        expect({
          seed,
          violations: checkPlan(world.snapshot, world.pods, made, world.options),
        }).toEqual({ seed, violations: [] });
        expect(made.unplaced.filter((one) => one.reasons.length === 0)).toEqual([]);
      }
    },
  );

  test('of Provisioners, too', () => {
    for (const seed of seeds(1, 40)) {
      const world = legacyWorld(seed);
      const made = planned(world);
      expect({
        seed,
        violations: checkPlan(world.snapshot, world.pods, made, world.options),
      }).toEqual({ seed, violations: [] });
      expect(made.unplaced.filter((one) => one.reasons.length === 0)).toEqual([]);
      // The types that size nodes never cost a pod its place.
      const everyType = planOf(seed).unplaced.length;
      expect({ seed, fewer: made.unplaced.length > everyType }).toEqual({ seed, fewer: false });
    }
  });

  test('equal snapshot, seed and steps give equal bytes', () => {
    for (const seed of seeds(1, 25))
      expect(JSON.stringify(planned(mixedWorld(seed)))).toBe(JSON.stringify(planOf(seed)));
  });

  test('a plan that the clock ended is planned again from its steps; only reasons know of the time', () => {
    const decisions = (made: Plan) => ({
      ...made,
      newNodes: made.newNodes.map(({ notes: _, ...node }) => node),
      unplaced: made.unplaced.map(({ podUid }) => podUid),
    });
    const endedAt: number[] = [];
    for (const seed of seeds(5000, 30)) {
      const world = mixedWorld(seed);
      let asked = 0;
      const shouldStop = (): boolean => (asked += 1) > seed % 20;
      const ended = planned({ ...world, options: { ...world.options, stepsMax: 200, shouldStop } });
      const again = planned({ ...world, options: { ...world.options, stepsMax: ended.steps } });
      expect(decisions(again)).toEqual(decisions(ended));
      endedAt.push(ended.steps);
    }
    expect(endedAt.filter((steps) => steps > 0 && steps < 200).length).toBeGreaterThan(5);
  });

  test('the order in which pods and nodes are told does not show', () => {
    for (const seed of seeds(26, 25)) {
      const world = mixedWorld(seed);
      const turned = {
        ...world,
        pods: [...world.pods].reverse(),
        snapshot: {
          ...world.snapshot,
          nodes: [...world.snapshot.nodes].reverse(),
          daemonSets: [...world.snapshot.daemonSets].reverse(),
        },
      };
      expect(JSON.stringify(planned(turned))).toBe(JSON.stringify(planOf(seed)));
    }
  });

  test('more steps never cost more', () => {
    for (const seed of seeds(3000, 15)) {
      const world = mixedWorld(seed);
      const [none, many] = [0, 200].map((stepsMax) =>
        planned({ ...world, options: { ...world.options, stepsMax } }),
      ) as [Plan, Plan];
      if (many.unplaced.length === none.unplaced.length)
        expect(many.priceMicrosPerHour).toBeLessThanOrEqual(none.priceMicrosPerHour);
    }
  });

  test('no plan costs more than first-fit-decreasing class by class, where that places the same pods', () => {
    for (const seed of seeds(1, 100)) {
      const { snapshot, pods, options } = mixedWorld(seed);
      const made = planOf(seed);
      const { engine, left } = buildInSequence(worldOf(snapshot, pods, options));
      const placed = left.reduce((sum, count) => sum + count, 0);
      if (placed === made.unplaced.length)
        expect({
          seed,
          dearer:
            made.priceMicrosPerHour >
            engine.fresh.reduce((sum, bin) => sum + engine.priceOf(bin), 0),
        }).toEqual({ seed, dearer: false });
    }
  });
});

test('a pod that is asked for twice is planned once', () => {
  const { snapshot, pods, options } = mixedWorld(1);
  expect(plan(snapshot, [...pods, ...pods], options)).toEqual(plan(snapshot, pods, options));
});

test('a budget that is over at once still places everything that can be placed', () => {
  for (const seed of seeds(6000, 15)) {
    const world = mixedWorld(seed);
    const unhurried = planned({ ...world, options: { ...world.options, stepsMax: 0 } });
    const hurried = planned({
      ...world,
      options: { ...world.options, stepsMax: 1_000_000, shouldStop: () => true },
    });
    expect(hurried.unplaced.map((one) => one.podUid)).toEqual(
      unhurried.unplaced.map((one) => one.podUid),
    );
  }
});
