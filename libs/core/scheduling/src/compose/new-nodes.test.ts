import type { Pod } from '@dovetail/core-kube-model';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { defaultPlanOptions } from '../options.js';
import type { Bin } from '../rooms/bin.js';
import { Engine } from '../rooms/engine.js';
import { type Item, ItemTable } from '../rooms/items.js';
import { candidatesOf } from '../rooms/pinned-items.js';
import type { Snapshot } from '../snapshot.js';
import {
  gibibytes,
  offeringOf,
  podOf,
  podsOf,
  poolOf,
  snapshotOf,
  typeOf,
} from '../testing/objects.js';
import { rules } from '../testing/packing.js';
import { rolesOf } from '../topology/roles.js';
import { worldOf } from '../world/world.js';
import { type Joining, NewNodes } from './new-nodes.js';

fc.configureGlobal({ seed: 1 });

const types = [
  typeOf({
    name: 'm.4',
    cpuMillis: 4000,
    memoryBytes: gibibytes(16),
    offerings: [offeringOf('a', 'on-demand', 100)],
  }),
];
const cores = (count: number): Partial<Pod> => ({ requests: { cpu: count * 1000, memory: 1 } });
const pools = (...over: readonly Parameters<typeof poolOf>[1][]): Partial<Snapshot> => ({
  pools: over.map((one, index) => ({ pool: poolOf(`pool-${index}`, one), instanceTypes: types })),
});

/** An engine for these pods, and what each of their classes becomes on new nodes. */
function stage(pods: readonly Pod[], snapshot: Partial<Snapshot> = pools({})) {
  const engine = new Engine(worldOf(snapshotOf(snapshot), pods, defaultPlanOptions));
  const table = new ItemTable();
  const items = engine.world.classes.flatMap((cls) =>
    cls.levels[0] === undefined
      ? []
      : candidatesOf(engine, table, { cls, level: 0, roles: rolesOf(cls, cls.levels[0]) }),
  );
  return { engine, items };
}
/** Places up to `count` pods and returns how many it placed. */
function placeOn(engine: Engine, item: Item, count: number, joining: Joining = 'always'): number {
  const nodes = new NewNodes(engine, [item], { joining });
  let done = 0;
  while (done < count && nodes.place()) done += 1;
  return done;
}
/** Places all pods, largest class first. Returns the pods of each node and the number placed. */
function placed(pods: readonly Pod[], snapshot?: Partial<Snapshot>, joining?: Joining) {
  const { engine, items } = stage(pods, snapshot);
  const done = items.map((item) => placeOn(engine, item, item.cls.uids.length, joining));
  return { done, nodes: engine.fresh.map((bin) => bin.pods) };
}

describe('pods that go to the emptiest new node', () => {
  test.each<[string, ReturnType<typeof placed>, ReturnType<typeof placed>]>([
    [
      'stop where the limit of every pool is reached',
      placed(podsOf('p', 3, cores(4)), pools({ limits: { nodes: 1 } }, { limits: { nodes: 1 } })),
      { done: [2], nodes: [1, 1] },
    ],
    [
      'stop where each node may have one and no more may be opened',
      placed(podsOf('p', 3, rules.apart('w')), pools({ limits: { nodes: 2 } })),
      { done: [2], nodes: [1, 1] },
    ],
    [
      'fill one before they open another',
      placed(podsOf('p', 5, cores(1))),
      { done: [5], nodes: [4, 1] },
    ],
    [
      'join the node with the fewest pods',
      placed([...podsOf('large', 2, cores(3)), ...podsOf('small', 2, cores(0.5))]),
      { done: [2, 2], nodes: [2, 2] },
    ],
    [
      'pass over a node that is full',
      placed([podOf('full', cores(4)), podOf('large', cores(3)), podOf('small', cores(1))]),
      { done: [1, 1, 1], nodes: [1, 2] },
    ],
    [
      'open a node in the heaviest pool that takes them',
      placed(podsOf('p', 2, cores(4)), pools({ limits: { nodes: 1 }, weight: 9 }, {})),
      { done: [2], nodes: [1, 1] },
    ],
  ])('%s', (_, made, expected) => expect(made).toEqual(expected));

  const twoSizes = [2, 4].map((size) =>
    typeOf({
      name: `m.${size}`,
      cpuMillis: size * 1000,
      memoryBytes: gibibytes(16),
      offerings: [offeringOf('a', 'on-demand', size === 2 ? 80 : 200)],
    }),
  );
  test.each<[Joining, readonly number[]]>([
    ['always', [4]],
    ['thrifty', [2, 2]],
  ])('join, %s, a node that would become dearer than another', (joining, nodes) => {
    const snapshot = { pools: [{ pool: poolOf('default'), instanceTypes: twoSizes }] };
    expect(placed(podsOf('p', 4, cores(1)), snapshot, joining).nodes).toEqual(nodes);
  });

  test('wait for a reservation that is given out, rather than go to the next pool', () => {
    const reservation = { id: 'cr', remaining: 1 };
    const reserved = typeOf({
      name: 'r.4',
      cpuMillis: 4000,
      memoryBytes: gibibytes(16),
      offerings: [offeringOf('a', 'reserved', 0, { reservation })],
    });
    const snapshot = {
      pools: [
        { pool: poolOf('reserved', { weight: 9 }), instanceTypes: [reserved] },
        { pool: poolOf('other'), instanceTypes: types },
      ],
    };
    expect(placed(podsOf('p', 2, cores(4)), snapshot)).toEqual({ done: [1], nodes: [1] });
  });
});

/** The same by looking at every node for every pod. */
function placedOneByOne(engine: Engine, item: Item, count: number): void {
  const emptiest = (): Bin | undefined =>
    engine.fresh
      .filter((bin) => engine.roomInFresh(bin, item) > 0)
      .sort((a, b) => a.pods - b.pods || a.index - b.index)[0];
  for (let left = count; left > 0; left -= 1) {
    const [opening] = engine.world.templates.flatMap(
      (template) => engine.openingFor(template, item) ?? [],
    );
    const bin = emptiest() ?? (opening === undefined ? undefined : engine.open(opening));
    if (bin === undefined) return;
    engine.put(bin, item, 1);
  }
}

test('a heap of nodes gives what looking at every node gives', () => {
  const workloads = fc.array(
    fc.record({
      cores: fc.constantFrom(0.5, 1, 1.5, 2, 3, 4),
      count: fc.integer({ min: 1, max: 12 }),
      rule: fc.constantFrom('none' as const, 'apart' as const, 'port' as const),
    }),
    { minLength: 1, maxLength: 6 },
  );
  fc.assert(
    fc.property(workloads, fc.option(fc.integer({ min: 1, max: 6 })), (some, nodesMax) => {
      const pods = some.flatMap(({ count, rule, ...one }, index) =>
        podsOf(`w${index}-`, count, { ...cores(one.cores), ...rules[rule](`w${index}`) }),
      );
      const snapshot = pools(nodesMax === null ? {} : { limits: { nodes: nodesMax } });
      const [heap, naive] = [stage(pods, snapshot), stage(pods, snapshot)];
      heap.items.forEach((item) => placeOn(heap.engine, item, item.cls.uids.length));
      naive.items.forEach((item) => placedOneByOne(naive.engine, item, item.cls.uids.length));
      const contents = ({ engine }: ReturnType<typeof stage>) =>
        engine.fresh.map((bin) => [...bin.contents].map(([item, count]) => [item.id, count]));
      expect(contents(heap)).toEqual(contents(naive));
    }),
  );
});
