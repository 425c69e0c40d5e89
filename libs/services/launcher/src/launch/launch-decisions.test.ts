import { claimValue } from '@dovetail/core-api/testing';
import { instanceTypeValue, offeringValue, typesByName } from '@dovetail/core-ec2-model/testing';
import { gibibytes } from '@dovetail/core-kube-model/testing';
import { expect, test } from 'vitest';

import { spotRequest } from '../testing/values.js';
import { intentOf } from './intent.js';
import { launchDecision } from './launch-decisions.js';

const typeOf = (name: string, priceMicrosPerHour: number) =>
  instanceTypeValue({
    name,
    cpuMillis: 2_000,
    memoryBytes: gibibytes(8),
    offerings: ['a', 'b'].map((zone) => offeringValue(zone, 'spot', priceMicrosPerHour)),
  });

const offered = [
  ['m5.large', 'a'],
  ['m5.large', 'b'],
  ['c5.large', 'a'],
  ['gone.large', 'a'],
  // Two subnets of one zone are one offering.
  ['c5.large', 'a'],
] as const;

const overrides = offered.map(([instanceType, zone], index) => ({
  instanceType,
  zone,
  subnetId: `subnet-${String(index)}`,
}));

const intent = intentOf(
  {
    attempt: 1,
    createdMs: 5,
    members: ['c1'],
    request: { ...spotRequest, configs: [{ launchTemplateName: 'dovetail/1', overrides }] },
  },
  () => 'id',
);

test('a launch names what EC2 Fleet could have launched instead, the cheapest first', () => {
  const told = launchDecision({
    claim: claimValue('c1'),
    instance: { id: 'i-1', instanceType: 'm5.large', zone: 'a', capacityType: 'spot' },
    intent,
    fleetId: 'fleet-1',
    types: typesByName(typeOf('m5.large', 96_000), typeOf('c5.large', 85_000)),
    discovered: undefined,
  });
  expect(told).toMatchObject({ priceMicrosPerHour: 96_000, reasons: [{ code: 'fleet-choice' }] });
  expect(told.alternatives).toEqual([
    { what: 'c5.large spot a', priceMicrosPerHour: 85_000 },
    { what: 'm5.large spot b', priceMicrosPerHour: 96_000 },
    // The catalog no longer has its price.
    { what: 'gone.large spot a' },
  ]);
});
