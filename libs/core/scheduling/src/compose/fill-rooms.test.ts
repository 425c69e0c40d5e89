import type { Pod } from '@dovetail/core-kube-model';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { checkPlan } from '../check/check.js';
import { defaultPlanOptions } from '../options.js';
import { plan } from '../planner.js';
import { Engine } from '../rooms/engine.js';
import { ItemTable } from '../rooms/items.js';
import type { PlanOptions, Snapshot } from '../snapshot.js';
import { gibibytes, nodeOf, podOf, poolOf, selecting, snapshotOf } from '../testing/objects.js';
import { asking, typesBy } from '../testing/packing.js';
import { mixedWorld } from '../testing/worlds.js';
import { worldOf } from '../world/world.js';
import { assignAll } from './assign.js';

fc.configureGlobal({ seed: 1 });

const types = typesBy([2, 8, 100], [4, 16, 190], [8, 32, 380]);
const filled = { ...defaultPlanOptions, existingNodes: 'filled' } as const;

/** A cluster of nodes with so many cores and GiB free. */
const running = (...rooms: readonly (readonly [cores: number, gib: number])[]): Snapshot =>
  snapshotOf({
    pools: [{ pool: poolOf('default'), instanceTypes: types }],
    nodes: rooms.map(([cores, gib], index) => {
      const amounts = { cpu: cores * 1000, memory: gibibytes(gib), pods: 110 };
      return nodeOf(`n${String(index)}`, { capacity: amounts, allocatable: amounts });
    }),
  });

const podsBy = (...sizes: readonly (readonly [cores: number, gib: number])[]): readonly Pod[] =>
  sizes.map(([cores, gib], index) => podOf(`p${String(index)}`, asking(cores, gib)));

/** The pods that each existing node takes, by name, before new nodes are thought of. */
function placed(snapshot: Snapshot, pods: readonly Pod[], options: PlanOptions) {
  const engine = new Engine(worldOf(snapshot, pods, options));
  assignAll(engine, new ItemTable(), 'emptiest');
  return engine.existing.map(({ contents }) =>
    [...contents].flatMap(([{ cls }, count]) => cls.uids.slice(0, count)).toSorted(),
  );
}

describe('existing nodes that are filled', () => {
  test('take the pods that leave the least room, where first-fit leaves one out', () => {
    const snapshot = running([6, 24], [8, 32]);
    const pods = podsBy([5, 20], [3, 12], [3, 12], [3, 12]);
    const count = (options: PlanOptions): number => placed(snapshot, pods, options).flat().length;
    expect([count(defaultPlanOptions), count(filled)]).toEqual([3, 4]);
  });

  test('take pods whose cpu and memory run out together', () =>
    expect(placed(running([4, 16]), podsBy([3, 3], [1, 13], [2.5, 2], [2.5, 2]), filled)).toEqual([
      ['p0', 'p1'],
    ]));

  test('leave their room to pods under rules first', () => {
    const anti = [
      { topologyKey: 'kubernetes.io/hostname', selector: selecting({ app: 'a' }), namespaces: [] },
    ];
    const ruled = podOf('ruled', {
      ...asking(1, 4),
      labels: { app: 'a' },
      requiredPodAntiAffinity: anti,
    });
    expect(placed(running([4, 16]), [...podsBy([4, 16]), ruled], filled)).toEqual([['ruled']]);
  });

  test('take what fits if nothing can be bought', () => {
    const snapshot = { ...running([4, 16]), pools: [] };
    expect(plan(snapshot, podsBy([3, 3]), filled).placements).toHaveLength(1);
  });

  test('obey every rule that the checker knows, in mixed clusters', () =>
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1_000 }), (seed) => {
        const { snapshot, pods, options } = mixedWorld(seed);
        const made = plan(snapshot, pods, { ...options, existingNodes: 'filled' });
        expect(checkPlan(snapshot, pods, made, options)).toEqual([]);
      }),
      { numRuns: 40 },
    ));

  test('give the same plan for the same input', () => {
    const { snapshot, pods, options } = mixedWorld(7);
    const made = (): unknown => plan(snapshot, pods, { ...options, existingNodes: 'filled' });
    expect(made()).toEqual(made());
  });
});
