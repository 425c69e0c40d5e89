import { present } from '@dovetail/core-invariant';
import type { Pod } from '@dovetail/core-kube-model';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { defaultPlanOptions } from '../options.js';
import type { Snapshot } from '../snapshot.js';
import {
  gibibytes,
  offeringOf,
  podOf,
  poolOf,
  selecting,
  snapshotOf,
  typeOf,
} from '../testing/objects.js';
import { rules } from '../testing/packing.js';
import { mixedWorld } from '../testing/worlds.js';
import { rolesOf } from '../topology/roles.js';
import { worldOf } from '../world/world.js';
import { Engine } from './engine.js';
import { ItemTable } from './items.js';
import { candidatesOf, canOpen } from './pinned-items.js';

fc.configureGlobal({ seed: 1 });

const zoneKey = 'topology.kubernetes.io/zone';
const hostKey = 'kubernetes.io/hostname';
const capacityKey = 'karpenter.sh/capacity-type';
const types = [2, 4].map((cores) =>
  typeOf({
    name: `m.${cores}`,
    cpuMillis: cores * 1000,
    memoryBytes: gibibytes(cores * 4),
    // The first zone by name is the dearest.
    offerings: [
      offeringOf('a', 'on-demand', cores * 120),
      offeringOf('b', 'on-demand', cores * 100),
      offeringOf('c', 'on-demand', cores * 100),
      offeringOf('a', 'spot', cores * 50),
    ],
  }),
);
const spreadOver = (...keys: readonly string[]): Partial<Pod> => ({
  labels: { app: 'w' },
  topologySpread: keys.map((topologyKey) => ({
    ...present(rules.spread('w').topologySpread[0], 'a spread has a constraint'),
    topologyKey,
  })),
});
const following = (topologyKey: string): Partial<Pod> => ({
  requiredPodAffinity: [{ topologyKey, selector: selecting({ app: 'db' }), namespaces: [] }],
});
const apart = (topologyKey: string): Partial<Pod> => ({
  labels: { app: 'w' },
  requiredPodAntiAffinity: [{ topologyKey, selector: selecting({ app: 'w' }), namespaces: [] }],
});

/** The items that a pod may become on new nodes, best first, as their domains by key. */
function candidates(
  pod: Partial<Pod>,
  pool: Parameters<typeof poolOf>[1] = {},
  over: Partial<Snapshot> = {},
) {
  const snapshot = snapshotOf({
    pools: [{ pool: poolOf('default', pool), instanceTypes: types }],
    ...over,
  });
  const engine = new Engine(worldOf(snapshot, [podOf('p', pod)], defaultPlanOptions));
  const cls = present(engine.world.classes[0], 'the pod has a class');
  const roles = rolesOf(cls, present(cls.levels[0], 'the class has a level'));
  return candidatesOf(engine, new ItemTable(), { cls, level: 0, roles })
    .filter((item) => canOpen(engine, item))
    .map(({ pins }) => pins.map(({ domain }) => domain).join(' '));
}
const onDemand = {
  requirements: [{ key: capacityKey, operator: 'In' as const, values: ['on-demand'] }],
};

describe('what a pod may become on a node that can be opened', () => {
  test.each<[string, readonly string[], readonly string[]]>([
    ['is nothing for a pod that no type holds', candidates({ requests: { cpu: 5000 } }), []],
    ['is nothing without a pool', candidates({}, {}, { pools: [] }), []],
    ['is nothing in a pool at its limit', candidates({}, { limits: { nodes: 0 } }), []],
    [
      'is nothing in a pool that it does not tolerate',
      candidates({}, { taints: [{ key: 'x', effect: 'NoSchedule' }] }),
      [],
    ],
    [
      'is nothing where a spread wants a label that no node has',
      candidates(spreadOver('rack')),
      [],
    ],
    ['is nothing where it follows others over such a label', candidates(following('rack')), []],
    ['is one thing without such rules', candidates({}), ['']],
    ['is one thing where rules are about nodes alone', candidates(spreadOver(hostKey)), ['']],
    [
      'is one thing where anti-affinity is over a label that no node has',
      candidates(apart('rack')),
      [''],
    ],
    [
      'is one thing for each zone, the cheapest first',
      candidates(spreadOver(zoneKey)),
      ['a', 'b', 'c'],
    ],
    [
      'is one thing for each zone, of equal price by name',
      candidates(spreadOver(zoneKey), onDemand),
      ['b', 'c', 'a'],
    ],
    [
      'is one thing for each zone that it asks for',
      candidates({ ...spreadOver(zoneKey), nodeSelector: { [zoneKey]: 'c' } }),
      ['c'],
    ],
    [
      'is one thing for each zone that it may follow others into',
      candidates(following(zoneKey), onDemand),
      ['b', 'c', 'a'],
    ],
    [
      'is one thing for each zone to be apart in',
      candidates(apart(zoneKey), onDemand),
      ['b', 'c', 'a'],
    ],
    [
      'is one thing for each way to combine the domains of two keys that can be bought',
      candidates(spreadOver(capacityKey, zoneKey)).toSorted(),
      ['on-demand a', 'on-demand b', 'on-demand c', 'spot a'],
    ],
  ])('%s', (_, made, expected) => expect(made).toEqual(expected));

  test('is asked of the ledger later: a domain without room is still a candidate', () => {
    const engine = new Engine(
      worldOf(
        snapshotOf({ pools: [{ pool: poolOf('default', onDemand), instanceTypes: types }] }),
        [podOf('p', apart(zoneKey))],
        defaultPlanOptions,
      ),
    );
    const cls = present(engine.world.classes[0], 'the pod has a class');
    const roles = rolesOf(cls, present(cls.levels[0], 'the class has a level'));
    const [role] = roles.onDomain;
    engine.ledger.note(present(role, 'the pod has a rule'), 'b', 1, true);
    const made = candidatesOf(engine, new ItemTable(), { cls, level: 0, roles });
    expect(made.map(({ pins }) => pins[0]?.domain)).toEqual(['b', 'c', 'a']);
  });
});

describe('in any world', () => {
  test('a candidate has one domain for a key, and a pool that admits it if a node can be opened for it', () =>
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 10_000 }), (seed) => {
        const { snapshot, pods, options } = mixedWorld(seed);
        const engine = new Engine(worldOf(snapshot, pods, options));
        const { states, templates } = engine.world;
        for (const cls of engine.world.classes)
          cls.levels.forEach((level, index) => {
            const roles = rolesOf(cls, level);
            const found = candidatesOf(engine, new ItemTable(), { cls, level: index, roles });
            expect(new Set(found).size).toBe(found.length);
            for (const item of found) {
              const { shape, pins } = item;
              // A node can be opened for it only in a pool that admits it.
              if (canOpen(engine, item))
                expect(
                  templates.some((template) => states.after(states.root(template), shape)),
                ).toBe(true);
              for (const { role, domain } of pins) {
                const set = present(
                  shape.requirements.get(role.group.key),
                  'a pin narrows its key',
                );
                expect([...set.values]).toEqual([domain]);
              }
            }
          });
      }),
      { numRuns: 60 },
    ));
});
