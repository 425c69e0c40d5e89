import { describe, expect, test } from 'vitest';

import { checkPlan, defaultPlanOptions, plan } from '../index.js';
import { diverseWorld, fakeTypes } from '../testing/diverse.js';
import { gibibytes, podsOf, selecting } from '../testing/objects.js';
import { planScenario } from '../testing/scenario.js';

// A fifth of the pods keep away from each other, so that a world of n pods needs n/5 nodes in any
// case.
describe('nodes beyond those that anti-affinity needs', () => {
  test.each([
    ['one is spared, and the others grow for less', 8, 100, 3, 26_753_610],
    ['one is spared for nothing', 8, 100, 5, 22_032_383],
    ['two are spared', 12, 400, 4, 104_496_446],
    ['two are spared by heirs that turn into their type', 12, 200, 6, 49_100_737],
  ])('%s', (_sentence, types, pods, seed, priceBefore) => {
    const world = diverseWorld(pods, seed);
    const snapshot = {
      ...world.snapshot,
      pools: world.snapshot.pools.map(({ pool }) => ({ pool, instanceTypes: fakeTypes(types) })),
    };
    const made = plan(snapshot, world.pods, { ...defaultPlanOptions, stepsMax: 0 });
    expect(checkPlan(snapshot, world.pods, made, defaultPlanOptions)).toEqual([]);
    expect(made.newNodes).toHaveLength(pods / 5);
    expect(made.priceMicrosPerHour).toBeLessThanOrEqual(priceBefore);
  });

  test('a mix of cpu and memory that is nearly balanced leaves neither to the end', () => {
    const world = diverseWorld(500);
    const made = plan(world.snapshot, world.pods, { ...defaultPlanOptions, stepsMax: 0 });
    expect(made.newNodes).toHaveLength(100);
    // With a price for cpu alone, memory was left to the end, and the plan cost $119.29.
    expect(made.priceMicrosPerHour).toBeLessThan(115_000_000);
  });

  test('are kept where it would cost more to do without: large pods beside small ones that must be apart', () => {
    const apart = {
      labels: { app: 'apart' },
      requests: { cpu: 100, memory: gibibytes(0.1), pods: 1 },
      requiredPodAntiAffinity: [
        {
          topologyKey: 'kubernetes.io/hostname',
          selector: selecting({ app: 'apart' }),
          namespaces: [],
        },
      ],
    };
    const made = planScenario({
      pods: [
        ...podsOf('apart', 2, apart),
        ...podsOf('large', 3, { requests: { cpu: 7800, memory: gibibytes(14), pods: 1 } }),
      ],
      types: fakeTypes(8),
      options: { stepsMax: 0 },
    });
    expect(made.unplaced).toEqual([]);
    expect(made.newNodes).toHaveLength(3);
  });
});
