import type { Pod } from '@dovetail/core-kube-model';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { defaultPlanOptions } from '../options.js';
import type { PlanOptions, Snapshot } from '../snapshot.js';
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
import { worldOf } from '../world/world.js';
import { buildInSequence } from './sequence.js';
import { widen } from './widen.js';

const reservation = { id: 'cr', remaining: 1 };
const types = [2, 4, 8].map((cores) =>
  typeOf({
    name: `m.${cores}`,
    cpuMillis: cores * 1000,
    memoryBytes: gibibytes(cores * 4),
    offerings: [offeringOf('a', 'on-demand', cores * 100)],
  }),
);
const reserved = typeOf({
  name: 'r.2',
  cpuMillis: 2000,
  memoryBytes: gibibytes(8),
  offerings: [offeringOf('a', 'reserved', 0, { reservation }), offeringOf('a', 'on-demand', 250)],
});
const cores = (count: number) => ({ requests: { cpu: count * 1000, memory: 1 } });

/** The types that each new node may name, in their order. */
function named(
  pods: readonly Pod[],
  limits: Readonly<Record<string, number>> = {},
  options: Partial<PlanOptions> = {},
  instanceTypes: Snapshot['pools'][number]['instanceTypes'] = types,
): readonly (readonly string[])[] {
  const snapshot = snapshotOf({ pools: [{ pool: poolOf('default', { limits }), instanceTypes }] });
  const { engine } = buildInSequence(
    worldOf(snapshot, pods, { ...defaultPlanOptions, ...options }),
  );
  return widen(engine, engine.fresh).map((offers) =>
    offers.map(({ type, offering }) => `${type.type.name} ${offering.capacityType}`),
  );
}
/** Pods of one core that share no node. */
const alone = (count: number) => podsOf('p', count, { ...cores(1), ...rules.apart('w') });
const bought = (...sizes: readonly number[]) => sizes.map((size) => `m.${size} on-demand`);

describe('the offers that a new node may name', () => {
  test.each<[string, readonly (readonly string[])[], readonly (readonly string[])[]]>([
    ['are all that hold it, cheapest first', named([podOf('p', cores(1))]), [bought(2, 4, 8)]],
    ['are no smaller than it', named([podOf('p', cores(3))]), [bought(4, 8)]],
    ['include one that it fills', named([podOf('p', cores(4))]), [bought(4, 8)]],
    [
      'are as many types as are allowed, the cheapest',
      named([podOf('p', cores(1))], {}, { instanceTypesMax: 2 }),
      [bought(2, 4)],
    ],
    ['stay within a limit', named([podOf('p', cores(1))], { cpu: 5000 }), [bought(2, 4)]],
    [
      'stay within a limit together: the first takes the slack',
      named(alone(2), { cpu: 10_000 }),
      [bought(2, 4, 8), bought(2)],
    ],
    [
      'stay within a limit together: the second has what the first cannot use',
      named(alone(2), { cpu: 12_000 }),
      [bought(2, 4, 8), bought(2, 4)],
    ],
    [
      'are all of them for each node within a limit that binds none',
      named(alone(2), { cpu: 16_000 }),
      [bought(2, 4, 8), bought(2, 4, 8)],
    ],
    [
      'are those of the reservation for a node in it',
      named([podOf('p', cores(1))], {}, {}, [...types, reserved]),
      [['r.2 reserved']],
    ],
    ['are none without nodes', named([]), []],
  ])('%s', (_, made, expected) => expect(made).toEqual(expected));
});

test('a limit holds, whichever offers the nodes are launched as', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1, max: 8 }), { minLength: 1, maxLength: 6 }),
      fc.integer({ min: 2, max: 40 }),
      (sizes, limit) => {
        const pods = sizes.map((size, index) => podOf(`p${index}`, cores(size)));
        const most = named(pods, { cpu: limit * 1000 }).map((offers) => {
          expect(offers.length).toBeGreaterThan(0);
          return Math.max(...offers.map((offer) => Number(/\d+/.exec(offer)?.[0])));
        });
        expect(most.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(limit);
      },
    ),
    { seed: 1 },
  );
});
