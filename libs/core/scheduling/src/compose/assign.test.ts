import type { Pod } from '@dovetail/core-kube-model';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { assertLedgersHold } from '../laws.js';
import { defaultPlanOptions } from '../options.js';
import { Engine } from '../rooms/engine.js';
import { ItemTable } from '../rooms/items.js';
import type { PlanOptions, Snapshot } from '../snapshot.js';
import {
  gibibytes,
  nodeOf,
  offeringOf,
  podOf,
  podsOf,
  poolOf,
  selecting,
  snapshotOf,
  typeOf,
} from '../testing/objects.js';
import { rules } from '../testing/packing.js';
import { type GeneratedWorld, mixedWorld } from '../testing/worlds.js';
import { worldOf } from '../world/world.js';
import { assignAll } from './assign.js';

fc.configureGlobal({ seed: 1 });

const zoneKey = 'topology.kubernetes.io/zone';
const hostKey = 'kubernetes.io/hostname';
const type = typeOf({
  name: 'm.4',
  cpuMillis: 4000,
  memoryBytes: gibibytes(16),
  offerings: ['a', 'b'].map((zone) => offeringOf(zone, 'on-demand', 100)),
});
const cores = (count: number): Partial<Pod> => ({ requests: { cpu: count * 1000, memory: 1 } });
const with_ = (app: string, topologyKey: string) => ({
  requiredPodAffinity: [{ topologyKey, selector: selecting({ app }), namespaces: [] }],
});
const apart = (app: string, topologyKey: string) => [
  { topologyKey, selector: selecting({ app }), namespaces: [] },
];
const zoneSpread = (app: string): Partial<Pod> => ({
  labels: { app },
  topologySpread: rules.spread(app).topologySpread.map((one) => ({ ...one, topologyKey: zoneKey })),
});

function assignedIn({ snapshot, pods, options }: GeneratedWorld) {
  const world = worldOf(snapshot, pods, options);
  const engine = new Engine(world);
  return { world, engine, ...assignAll(engine, new ItemTable(), 'emptiest') };
}

/** Pods of new nodes by domain (`any` without one) and level, of existing nodes, and left over. */
function settled(
  pods: readonly Pod[],
  over: { readonly snapshot?: Partial<Snapshot>; readonly options?: Partial<PlanOptions> } = {},
) {
  const { engine, assigned, left } = assignedIn({
    pods,
    snapshot: snapshotOf({
      pools: [{ pool: poolOf('default'), instanceTypes: [type] }],
      ...over.snapshot,
    }),
    options: { ...defaultPlanOptions, ...over.options },
  });
  const fresh: Record<string, number> = {};
  for (const [{ pins, level }, count] of assigned) {
    const domains = [...new Set(pins.map(({ domain }) => domain))].join('+');
    const name = `${domains === '' ? 'any' : domains}${level === 0 ? '' : ' relaxed'}`;
    fresh[name] = (fresh[name] ?? 0) + count;
  }
  return {
    fresh,
    existing: engine.existing.map(({ contents }) =>
      [...contents.values()].reduce((sum, count) => sum + count, 0),
    ),
    left: left.reduce((sum, count) => sum + count, 0),
  };
}
const none = { fresh: {}, existing: [], left: 0 };

describe('pods that wait', () => {
  test.each<[string, ReturnType<typeof settled>]>([
    ['are refused by themselves', settled([podOf('p', { schedulingGates: ['g'] })])],
    ['fit no node', settled([podOf('p', cores(5))])],
    ['ask for a label that no pool has', settled([podOf('p', { nodeSelector: { team: 'x' } })])],
    ['follow nobody that is anywhere', settled([podOf('p', with_('db', zoneKey))])],
    [
      'follow others onto a node',
      settled([podOf('p', { labels: { app: 'db' }, ...with_('db', hostKey) })]),
    ],
  ])('%s', (_, made) => expect(made).toEqual({ ...none, left: 1 }));

  test('with rules for a node are not assigned without them either, though they might do without', () => {
    const pod = podOf('p', {
      ...with_('db', hostKey),
      preferredNodeAffinity: [
        {
          weight: 1,
          term: {
            matchExpressions: [{ key: zoneKey, operator: 'In', values: ['a'] }],
            matchFields: [],
          },
        },
      ],
    });
    expect(settled([pod])).toEqual({ ...none, left: 1 });
  });
});

describe('pods that need not wait', () => {
  const soft = (app: string): Partial<Pod> => ({
    labels: { app },
    preferredPodAntiAffinity: apart(app, zoneKey).map((term) => ({ weight: 1, term })),
  });
  test.each<[string, ReturnType<typeof settled>, Partial<ReturnType<typeof settled>>]>([
    ['are none of none', settled([]), {}],
    ['go to any new node', settled(podsOf('p', 9, cores(1))), { fresh: { any: 9 } }],
    [
      'go to existing room first',
      settled(podsOf('p', 9, cores(1)), { snapshot: { nodes: [nodeOf('n')] } }),
      { fresh: { any: 5 }, existing: [4] },
    ],
    ['are spread evenly', settled(podsOf('p', 6, zoneSpread('w'))), { fresh: { a: 3, b: 3 } }],
    [
      'are spread with those that run',
      settled(podsOf('p', 4, zoneSpread('w')), {
        snapshot: {
          nodes: [
            nodeOf('full', {
              labels: { [zoneKey]: 'a' },
              pods: podsOf('r', 2, { labels: { app: 'w' }, requests: { cpu: 2000, memory: 1 } }),
            }),
          ],
        },
      }),
      { fresh: { a: 1, b: 3 }, existing: [0] },
    ],
    [
      'have a domain each, as far as there are domains',
      settled(
        podsOf('p', 3, { labels: { app: 'w' }, requiredPodAntiAffinity: apart('w', zoneKey) }),
      ),
      { fresh: { a: 1, b: 1 }, left: 1 },
    ],
    [
      'give up a preference only where nothing else is left',
      settled(podsOf('p', 3, soft('w'))),
      { fresh: { a: 1, b: 1, 'a relaxed': 1 } },
    ],
    [
      'give it up at once where preferences are ignored',
      settled(podsOf('p', 3, soft('w')), { options: { preferencePolicy: 'Ignore' } }),
      { fresh: { any: 3 } },
    ],
    [
      'follow others that are larger',
      settled([
        podOf('db', { ...cores(2), labels: { app: 'db' }, nodeSelector: { [zoneKey]: 'b' } }),
        podOf('p', with_('db', zoneKey)),
      ]),
      { fresh: { b: 2 } },
    ],
    [
      'follow others that are smaller, in a later round',
      settled([
        podOf('db', { labels: { app: 'db' }, nodeSelector: { [zoneKey]: 'b' } }),
        podOf('p', { ...cores(2), ...with_('db', zoneKey) }),
      ]),
      { fresh: { b: 2 } },
    ],
    [
      'follow themselves into one domain',
      settled(podsOf('p', 5, { labels: { app: 'w' }, ...with_('w', zoneKey) })),
      { fresh: { a: 5 } },
    ],
  ])('%s', (_, made, expected) => expect(made).toEqual({ ...none, ...expected }));
});

describe('in any world', () => {
  const anySeed = fc.integer({ min: 1, max: 10_000 });

  test('each pod is on an existing node, assigned to new ones, or left over: once', () =>
    fc.assert(
      fc.property(anySeed, (seed) => {
        const { world, engine, assigned, left } = assignedIn(mixedWorld(seed));
        const settledOf = new Map(left.map((count, index) => [index, count]));
        const settle = (cls: { readonly index: number }, count: number): void => {
          expect(count).toBeGreaterThan(0);
          settledOf.set(cls.index, (settledOf.get(cls.index) ?? 0) + count);
        };
        for (const { contents } of engine.existing)
          for (const [{ cls }, count] of contents) settle(cls, count);
        for (const [{ cls }, count] of assigned) settle(cls, count);
        expect([...settledOf.values()]).toEqual(world.classes.map(({ uids }) => uids.length));
        expect(engine.fresh).toEqual([]);
      }),
      { numRuns: 60 },
    ));

  test('nothing is assigned that no ledger and no node has room for', () =>
    fc.assert(
      fc.property(anySeed, (seed) => {
        const { engine, left } = assignedIn(mixedWorld(seed));
        assertLedgersHold(engine);
        expect(left.every((count) => count >= 0)).toBe(true);
      }),
      { numRuns: 60 },
    ));

  test('each assigned pod has one domain for each key of its rules that its node must have', () =>
    fc.assert(
      fc.property(anySeed, (seed) => {
        for (const { pins, roles } of assignedIn(mixedWorld(seed)).assigned.keys()) {
          for (const { key } of roles.onDomain
            .filter(({ carries, group }) => carries && group.kind !== 'anti')
            .map(({ group }) => group)) {
            const domains = pins.filter(({ role }) => role.group.key === key);
            expect(new Set(domains.map(({ domain }) => domain)).size).toBe(1);
          }
          expect(roles.needsHostMates).toBe(false);
        }
      }),
      { numRuns: 60 },
    ));

  test('a spread is never wider than its skew over the domains that it counts', () =>
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 4 }),
        (sizes) => {
          const pods = sizes.flatMap((count, index) =>
            podsOf(`p${index}`, count, { ...zoneSpread('w'), ...cores(index + 0.5) }),
          );
          const { fresh } = settled(pods);
          expect(Math.abs((fresh['a'] ?? 0) - (fresh['b'] ?? 0))).toBeLessThanOrEqual(1);
          expect((fresh['a'] ?? 0) + (fresh['b'] ?? 0)).toBe(pods.length);
        },
      ),
    ));
});
