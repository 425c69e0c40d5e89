import { present } from '@dovetail/core-invariant';
import { expect, test } from 'vitest';

import { defaultPlanOptions } from '../options.js';
import { offersFor } from '../rooms/accounts.js';
import {
  daemonSetOf,
  gibibytes,
  offeringOf,
  podOf,
  poolOf,
  snapshotOf,
  typeOf,
} from '../testing/objects.js';
import { worldOf } from '../world/world.js';
import { holdingAnywhere } from './anywhere.js';
import { buildInSequence } from './sequence.js';

const zoneKey = 'topology.kubernetes.io/zone';
const cores = (count: number) => ({ requests: { cpu: count * 1000, memory: 1 } });
const typeIn = (count: number, ...offerings: readonly (readonly [string, number, boolean?])[]) =>
  typeOf({
    name: `t${count}`,
    cpuMillis: count * 1000,
    memoryBytes: gibibytes(count * 4),
    offerings: offerings.map(([zone, price, available = true]) =>
      offeringOf(zone, 'on-demand', price, { available }),
    ),
  });
const agentIn = (zone: string) =>
  daemonSetOf('agent', { ...cores(1), nodeSelector: { [zoneKey]: zone } });

/** The offers that a node for one pod of one core keeps, as type and zone. */
function kept(
  types: readonly ReturnType<typeof typeIn>[],
  daemonSets: readonly ReturnType<typeof agentIn>[],
): readonly string[] {
  const snapshot = snapshotOf({
    pools: [{ pool: poolOf('default'), instanceTypes: types }],
    daemonSets,
  });
  const world = worldOf(snapshot, [podOf('p', cores(1))], defaultPlanOptions);
  const [bin] = buildInSequence(world).engine.fresh;
  const { state } = present(bin, 'a node opens for the pod');
  const offers = offersFor(present(state, 'new nodes have a state'), present(bin, 'as above'));
  return holdingAnywhere(offers, present(bin, 'as above')).map(
    ({ type, offering }) => `${type.type.name} ${offering.zone}`,
  );
}

const small = typeIn(1, ['a', 10], ['b', 11]);
const large = typeIn(2, ['a', 20], ['b', 21]);
test.each<[string, readonly string[], readonly string[]]>([
  [
    'are all of them without daemonsets',
    kept([small, large], []),
    ['t1 a', 't1 b', 't2 a', 't2 b'],
  ],
  ['keep to the zone of the cheapest', kept([small, large], [agentIn('b')]), ['t1 a', 't2 a']],
  ['keep to it if that is another zone', kept([small, large], [agentIn('a')]), ['t1 b', 't2 b']],
  [
    'keep all zones of types that hold the load in each',
    kept([typeIn(2, ['a', 1], ['b', 2]), typeIn(4, ['a', 3], ['b', 4])], [agentIn('a')]),
    ['t2 a', 't2 b', 't4 a', 't4 b'],
  ],
  [
    'leave out a zone that cannot be bought now and may be later',
    kept([typeIn(1, ['a', 10], ['b', 11, false]), large], [agentIn('b')]),
    ['t1 a', 't2 a'],
  ],
])('the offers that hold a load in any combination %s', (_, found, expected) =>
  expect(found).toEqual(expected),
);
