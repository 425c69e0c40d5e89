import { describe, expect, test } from 'vitest';

import { compose } from '../compose/compose.js';
import type { PodClass } from '../model/classes.js';
import { defaultPlanOptions } from '../options.js';
import type { Engine } from '../rooms/engine.js';
import {
  gibibytes,
  nodeOf,
  offeringOf,
  podsOf,
  poolOf,
  snapshotOf,
  typeOf,
} from '../testing/objects.js';
import { worldOf } from '../world/world.js';
import { demandOn, demandOnPool, demandPlaced, demandText } from './demand.js';

const requests = (cpu: number) => ({ requests: { cpu } });

/** Two pods of 3 cores, one that fits the node beside one of them, and one that fits nowhere. */
function planned(): Engine {
  const offerings = [offeringOf('a', 'on-demand', 100)];
  const type = typeOf({ name: 'm.4', cpuMillis: 4000, memoryBytes: gibibytes(16), offerings });
  const snapshot = snapshotOf({
    nodes: [nodeOf('n')],
    pools: [
      { pool: poolOf('first', { weight: 1 }), instanceTypes: [type] },
      { pool: poolOf('second'), instanceTypes: [type] },
    ],
  });
  const pods = [
    ...podsOf('big', 2, requests(3000)),
    ...podsOf('small', 1, requests(500)),
    ...podsOf('huge', 1, requests(9000)),
  ];
  return compose(worldOf(snapshot, pods, defaultPlanOptions)).engine;
}

describe('pods by class, as text', () => {
  const pods = [1, 2, 3, 4, 5, 6, 7].flatMap((app) => podsOf(`w${app}`, 8, requests(100 * app)));
  const { classes } = worldOf(snapshotOf(), pods, defaultPlanOptions);
  const textOf = (counts: readonly number[]): string =>
    demandText(
      new Map(counts.map((count, index) => [classes[index] as PodClass, count] as const).reverse()),
    );
  // Classes come largest first: the first is w7.
  test.each<[string, readonly number[], string]>([
    ['none', [], ''],
    ['classes without pods', [0, 0], ''],
    ['one pod', [1], 'default/w7-0'],
    ['several, most first', [2, 0, 3], 'default/w5-0 (3 pods), default/w7-0 (2 pods)'],
    ['as many, in the order of classes', [2, 2], 'default/w7-0 (2 pods), default/w6-0 (2 pods)'],
    [
      'five at most, and how many more',
      [7, 6, 5, 4, 3, 2, 1],
      'default/w7-0 (7 pods), default/w6-0 (6 pods), default/w5-0 (5 pods), ' +
        'default/w4-0 (4 pods), default/w3-0 (3 pods), and 2 more',
    ],
  ])('%s', (_, counts, expected) => expect(textOf(counts)).toBe(expected));
});

describe('what a plan has put', () => {
  const engine = planned();
  const heavy = engine.world.templates.find(({ key }) => key === 'NodePool/first');
  const light = engine.world.templates.find(({ key }) => key === 'NodePool/second');

  test('on some nodes is counted by class', () => {
    const counts = [...demandOn([...engine.existing, ...engine.fresh])].map(
      ([cls, count]) => `${cls.pod.name} ${count}`,
    );
    expect(counts.sort()).toEqual(['big-0 2', 'small-0 1']);
    expect([...demandOn([])]).toEqual([]);
  });

  test('anywhere does not name a pod without a place', () => {
    expect(demandPlaced(engine)).toBe('default/big-0 (2 pods), default/small-0');
  });

  test('on new nodes of a pool leaves out existing nodes and other pools', () => {
    if (heavy === undefined || light === undefined) throw new Error('both pools are open');
    expect(demandOnPool(engine, heavy)).toBe('default/big-0');
    expect(demandOnPool(engine, light)).toBe('');
  });
});
