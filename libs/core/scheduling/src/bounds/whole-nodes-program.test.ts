import { highsSolver } from '@dovetail/adapter-highs';
import { at } from '@dovetail/core-invariant';
import type { Pod } from '@dovetail/core-kube-model';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';

import { defaultPlanOptions } from '../index.js';
import { offeringOf, podOf, poolOf, selecting, snapshotOf, typeOf } from '../testing/objects.js';
import { type World, worldOf } from '../world/world.js';
import type { Load } from './loads.js';
import { placeOf, WholeNodesProgram } from './whole-nodes-program.js';

const lp = highsSolver();
afterAll(() => lp.close());

const zoneKey = 'topology.kubernetes.io/zone';
const zones = ['zone-a', 'zone-b'] as const;
const oneAZone: Partial<Pod> = {
  requiredPodAntiAffinity: [
    { topologyKey: zoneKey, selector: selecting({ app: 'a' }), namespaces: [] },
  ],
};

/** Pods of two classes, of which those of `a` may be one to a zone. */
function worldWith(count: { readonly a: number; readonly b: number }, isApart: boolean): World {
  const podsOf = (app: 'a' | 'b', more: Partial<Pod>): readonly Pod[] =>
    Array.from({ length: count[app] }, (_, index) =>
      podOf(`${app}${index}`, {
        labels: { app },
        // Pods that differ in nothing would be one class.
        requests: { cpu: app === 'a' ? 100 : 200 },
        ...more,
      }),
    );
  const type = typeOf({
    name: 't',
    cpuMillis: 1_000,
    memoryBytes: 1e9,
    offerings: zones.map((zone) => offeringOf(zone, 'on-demand', 1)),
  });
  const pools = [{ pool: poolOf('default'), instanceTypes: [type] }];
  const pods = [...podsOf('a', isApart ? oneAZone : {}), ...podsOf('b', {})];
  return worldOf(snapshotOf({ pools }), pods, defaultPlanOptions);
}

/** The least price of nodes with these loads that have room for so many pods of each class. */
function cover(loads: readonly Load[], [a, b]: readonly [number, number]): number {
  if (a <= 0 && b <= 0) return 0;
  return Math.min(
    ...loads
      .filter(({ counts }) => (a > 0 && at(counts, 0) > 0) || (b > 0 && at(counts, 1) > 0))
      .map(
        ({ counts, priceMicrosPerHour }) =>
          priceMicrosPerHour + cover(loads, [a - at(counts, 0), b - at(counts, 1)]),
      ),
  );
}

/** The least price over all ways to divide the pods over two zones. */
function cheapest(
  count: { readonly a: number; readonly b: number },
  byZone: readonly (readonly Load[])[],
  mostA: number,
): number {
  let least = Infinity;
  for (let a = 0; a <= count.a; a += 1)
    for (let b = 0; b <= count.b; b += 1)
      if (Math.max(a, count.a - a) <= mostA)
        least = Math.min(
          least,
          cover(at(byZone, 0), [a, b]) + cover(at(byZone, 1), [count.a - a, count.b - b]),
        );
  return least;
}

const load = fc
  .record({ a: fc.nat(2), b: fc.nat(3), price: fc.integer({ min: 1, max: 9 }) })
  .filter(({ a, b }) => a + b > 0)
  .map(({ a, b, price }): Load => ({ counts: [a, b], priceMicrosPerHour: price * 1_000_000 }));
const cases = fc.record({
  count: fc.record({ a: fc.integer({ min: 1, max: 3 }), b: fc.integer({ min: 1, max: 4 }) }),
  byZone: fc.tuple(fc.array(load, { maxLength: 3 }), fc.array(load, { maxLength: 3 })),
  isApart: fc.boolean(),
});

test('the program costs as much as the cheapest of all ways to buy these loads', () =>
  fc.assert(
    fc.asyncProperty(cases, async ({ count, byZone, isApart }) => {
      const world = worldWith(count, isApart);
      const items = ['a0', 'b0'].map((uid) => {
        const found = world.classes.find(({ uids }) => uids.includes(uid));
        if (found === undefined) throw new Error(`no class has ${uid}`);
        return found;
      });
      const rules = world.groups.groups.filter(
        ({ kind, key }) => kind === 'anti' && key === zoneKey,
      );
      expect(rules).toHaveLength(isApart ? 1 : 0);
      const program = new WholeNodesProgram(world, items, rules);
      zones.forEach((zone, index) =>
        program.buy(
          placeOf([zoneKey], () => zone),
          at(byZone, index),
        ),
      );
      program.rule();
      const { status, bound } = await lp.solve(program.build('whole-numbers'), {
        timeMsMax: Infinity,
      });
      const wanted = cheapest(count, byZone, isApart ? 1 : Infinity);
      expect(status === 'infeasible' ? Infinity : Math.round(bound * 1_000_000)).toBe(wanted);
    }),
    { numRuns: 50 },
  ));
