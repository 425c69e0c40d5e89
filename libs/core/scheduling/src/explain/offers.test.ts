import type { Pool } from '@dovetail/core-api';
import { instanceLabels, type InstanceType } from '@dovetail/core-ec2-model';
import { present } from '@dovetail/core-invariant';
import { requirementsFromLabels } from '@dovetail/core-kube-model';
import { describe, expect, test } from 'vitest';

import { defaultPlanOptions } from '../options.js';
import { Engine } from '../rooms/engine.js';
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
import { noOfferReason } from './offers.js';

const type = (name: string, price: number, available = true): InstanceType =>
  typeOf({
    name,
    cpuMillis: 2000,
    memoryBytes: gibibytes(8),
    offerings: [offeringOf('a', 'on-demand', price, { available })],
  });
const inZone = (zone: string): Partial<Pool> => ({
  requirements: [{ key: 'topology.kubernetes.io/zone', operator: 'In', values: [zone] }],
});
const full = [daemonSetOf('huge', { requests: { cpu: 9000 } })];

function reasonFor(
  types: readonly InstanceType[],
  over: Partial<Pool>,
  daemonSets = full,
  below?: number,
) {
  const limit = below === undefined ? {} : { priceBelowMicrosPerHour: below };
  const pools = [{ pool: poolOf('default', over), instanceTypes: types, ...limit }];
  const world = worldOf(snapshotOf({ pools, daemonSets }), [podOf('p')], defaultPlanOptions);
  const template = present(world.templates[0], 'the pool is open');
  expect(template.offers).toEqual([]);
  return noOfferReason(new Engine(world), template);
}

describe('a pool has no offers because', () => {
  const both = [type('m.2', 1_500_000), type('m.3', 2_000_000)];
  test.each<[string, readonly InstanceType[], Partial<Pool>, string, number]>([
    ['its class boots no types', [], {}, 'no-offering', 0],
    ['it admits none of them', both, inZone('z'), 'no-offering', 2],
    ['none can be bought', [type('m.2', 1, false)], inZone('a'), 'no-capacity', 1],
    ['all are above its cap', both, { maxPriceMicrosPerHour: 1_499_999 }, 'price-cap', 2],
    ['daemonsets fill each of them', both, {}, 'daemonset-overhead', 2],
    [
      'though the cap allows one',
      both,
      { maxPriceMicrosPerHour: 1_500_000 },
      'daemonset-overhead',
      2,
    ],
  ])('%s', (_, types, over, code, count) => {
    expect(reasonFor(types, over)).toMatchObject({
      code,
      subject: 'NodePool/default',
      fell: { count, of: count },
    });
  });

  test('it wants a value that no type has, which is named with the one that is meant', () => {
    const { message, remedy } = reasonFor(both, {
      requirements: [{ key: 'kubernetes.io/arch', operator: 'In', values: ['amd46'] }],
    });
    expect(message).toContain(
      'it wants kubernetes.io/arch In [amd46], they have In [amd64]; did you mean amd64?',
    );
    expect(remedy).toBe('widen kubernetes.io/arch of NodePool/default');
  });

  /** The types as they are sold on shared hosts. */
  const shared = both.map((one) => ({
    ...one,
    requirements: new Map([
      ...one.requirements,
      ...requirementsFromLabels({ [instanceLabels.tenancy]: 'default' }),
    ]),
  }));
  const ofTenancy = (value: string): Partial<Pool> => ({
    requirements: [{ key: instanceLabels.tenancy, operator: 'In', values: [value] }],
  });

  test('no price of dedicated hosts is known for its types, whatever else it wants', () => {
    const { message, remedy } = reasonFor(shared, ofTenancy('dedicated'));
    expect(message).toBe(
      'NodePool/default admits none of the 2 types that its class can boot: it wants dedicated hosts, and no price of dedicated hosts is known for these types',
    );
    expect(remedy).toMatch(/^let NodePool\/default use .*instance-tenancy default; prices/);
  });

  test('its tenancy does not exist, which is named as it is written', () =>
    expect(reasonFor(shared, ofTenancy('dedicatet')).message).toContain(
      'it wants karpenter.k8s.aws/instance-tenancy In [dedicatet], they have In [default]',
    ));

  test('its cap is too low, which is said in dollars and micro-dollars an hour', () => {
    const cap = { maxPriceMicrosPerHour: 900_000 };
    const { message, values, remedy } = reasonFor(both, cap, []);
    expect(values).toEqual({ cap: '900000', cheapest: '1500000' });
    expect(message).toContain('its cap of $0.90/h; the cheapest is $1.50/h');
    expect(remedy).toBe('raise the cap of NodePool/default to $1.50/h');
  });

  test('all cost what this plan may not pay, or more', () => {
    const { code, message } = reasonFor(both, {}, [], 1_500_000);
    expect(code).toBe('price-cap');
    expect(message).toBe(
      'no type of NodePool/default costs less than $1.50/h; the cheapest is $1.50/h',
    );
  });

  test('what could be bought is too dear, not what is cheap and out of capacity', () => {
    const types = [type('m.1', 100, false), type('m.2', 1_500_000)];
    expect(reasonFor(types, { maxPriceMicrosPerHour: 200 }, [])).toMatchObject({
      code: 'price-cap',
      values: { cheapest: '1500000' },
      fell: { count: 1, of: 1 },
    });
  });
});
