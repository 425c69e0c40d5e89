import type { Pool } from '@dovetail/core-api';
import { present } from '@dovetail/core-invariant';
import type { Pod } from '@dovetail/core-kube-model';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { compose } from '../compose/compose.js';
import { plan } from '../index.js';
import { defaultPlanOptions } from '../options.js';
import { podOf, poolOf, snapshotOf } from '../testing/objects.js';
import { asking, typesBy } from '../testing/packing.js';
import { legacyWorld, mixedWorld } from '../testing/worlds.js';
import { worldOf } from '../world/world.js';
import { notesOf } from './notes.js';

fc.configureGlobal({ seed: 1 });

const types = typesBy([2, 8, 100], [4, 16, 200], [8, 32, 400]);
const typeKey = 'node.kubernetes.io/instance-type';
const zoneKey = 'topology.kubernetes.io/zone';

/** The notes of a pod's node that names so many types, the cheapest of them `cheapest`. */
function notesFor(
  pod: Partial<Pod>,
  what: { readonly pools?: readonly Pool[]; readonly count: number; readonly typesMax?: number },
) {
  const { pools = [poolOf('default')], count, typesMax = 600 } = what;
  const snapshot = snapshotOf({ pools: pools.map((pool) => ({ pool, instanceTypes: types })) });
  const options = { ...defaultPlanOptions, instanceTypesMax: typesMax };
  const { engine } = compose(worldOf(snapshot, [podOf('p', pod)], options));
  const state = present(engine.fresh[0]?.state, 'the pod has a new node');
  return notesOf(engine, state, { cheapest: 'cheapest', count });
}

describe('the notes of a node', () => {
  test('that may be any type of the only pool name the pool alone', () =>
    expect(notesFor({}, { count: 3 })).toEqual([
      expect.objectContaining({
        code: 'pool-chosen',
        subject: 'NodePool/default',
        values: { weight: '0', pools: '1' },
      }),
    ]));

  test('count the types that its pods rule out, key by key', () =>
    expect(
      notesFor(
        {
          requiredNodeAffinity: [
            {
              matchExpressions: [
                { key: typeKey, operator: 'NotIn', values: ['c2-m8'] },
                { key: zoneKey, operator: 'In', values: ['zone-a'] },
              ],
              matchFields: [],
            },
          ],
        },
        { count: 2 },
      )[1],
    ).toMatchObject({
      code: 'requirement-mismatch',
      fell: { count: 1, of: 3 },
      values: { [typeKey]: 'NotIn [c2-m8]', [zoneKey]: 'In [zone-a]', steps: `${typeKey} 1 of 3` },
    }));

  test('say nothing of demands that rule out no type', () =>
    expect(
      notesFor({ nodeSelector: { [zoneKey]: 'zone-a' } }, { count: 3 }).map(({ code }) => code),
    ).toEqual(['pool-chosen']));

  test('count the types that are too small for its pods', () =>
    expect(notesFor(asking(3, 1), { count: 2 })[1]).toMatchObject({
      code: 'resources-too-large',
      fell: { count: 1, of: 3 },
      values: { stayed: '2', cheapest: 'cheapest' },
    }));

  test('say that a list is cut, where it is as long as it may be', () => {
    const message = (typesMax: number) =>
      notesFor({}, { count: 2, typesMax })[1]?.message.includes('that one node may name');
    expect([message(2), message(600)]).toEqual([true, false]);
  });

  test.each<[string, readonly Pool[], string]>([
    ['is the heaviest', [poolOf('a', { weight: 9 }), poolOf('b')], 'heaviest of 2 pools'],
    ['is one of several of equal weight', [poolOf('a'), poolOf('b')], 'of 2 pools of weight 0'],
    [
      'follows a heavier one that is full',
      [poolOf('a', { weight: 9, limits: { nodes: 0 } }), poolOf('b')],
      'NodePool/a (weight 9)',
    ],
  ])('name the other pools: its own %s', (_, pools, text) =>
    expect(notesFor({}, { pools, count: 3 })[0]?.message).toContain(text),
  );
});

test.each([
  ['of NodePools', mixedWorld],
  ['of Provisioners', legacyWorld],
])(
  'in any world %s, the types that fell and those that stayed are all types of the pool',
  (_, worlds) => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 10_000 }), (seed) => {
        const { snapshot, pods, options } = worlds(seed);
        const { templates } = worldOf(snapshot, pods, options);
        for (const { notes, options: chosen } of plan(snapshot, pods, options).newNodes) {
          const [pool, ...falls] = notes;
          const template = templates.find(({ key }) => key === pool?.subject);
          expect(pool?.code).toBe('pool-chosen');
          let left = new Set(template?.offers.map(({ type }) => type)).size;
          for (const { fell } of falls) {
            expect(fell?.of).toBe(left);
            left -= fell?.count ?? 0;
          }
          expect(left).toBe(new Set(chosen.map(({ instanceType }) => instanceType)).size);
        }
      }),
      { numRuns: 25 },
    );
  },
);
