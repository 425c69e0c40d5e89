import { labels, type NodeClass } from '@dovetail/core-api';
import { describe, expect, test } from 'vitest';

import {
  catalogFor,
  instanceTypesFor,
  instanceTypesInSteps,
  offeringKey,
  priceBookOf,
  type PriceQuote,
  type RegionKnowledge,
} from './index.js';
import { ami, nodeClassWith } from './testing/node-class.js';

const entries = catalogFor('us-east-1');
const onDemand: readonly PriceQuote[] = entries.flatMap((entry) =>
  entry.onDemandPriceMicrosPerHour === undefined
    ? []
    : [
        {
          instanceType: entry.facts.name,
          capacityType: 'on-demand' as const,
          priceMicrosPerHour: entry.onDemandPriceMicrosPerHour,
          estimated: entry.estimated,
        },
      ],
);
const spotOfM5: PriceQuote = {
  instanceType: 'm5.large',
  zone: 'us-east-1a',
  capacityType: 'spot',
  priceMicrosPerHour: 40_000,
  estimated: false,
};

const knowledge = (changes: Partial<RegionKnowledge> = {}): RegionKnowledge => ({
  region: 'us-east-1',
  facts: entries.map((entry) => entry.facts),
  zones: new Map(entries.map((entry) => [entry.facts.name, entry.zones])),
  prices: priceBookOf(onDemand),
  isUnavailable: () => false,
  ...changes,
});
const typesOf = (nodeClass: NodeClass, changes: Partial<RegionKnowledge> = {}) =>
  instanceTypesFor(nodeClass, knowledge(changes));
const typeOf = (
  name: string,
  nodeClass = nodeClassWith(),
  changes: Partial<RegionKnowledge> = {},
) => typesOf(nodeClass, changes).types.find((type) => type.name === name);
const valuesOf = (name: string, key: string) => {
  const set = typeOf(name)?.requirements.get(key);
  return set === undefined ? undefined : [...set.values];
};

describe('the instance types of a node class', () => {
  test('m5.large has every label that Karpenter puts on it', () => {
    const shown = Object.fromEntries(
      [...(typeOf('m5.large')?.requirements ?? [])]
        .filter(([, set]) => set.values.size > 0)
        .map(([key, set]) => [key, [...set.values].join(',')]),
    );
    expect(shown).toEqual({
      'node.kubernetes.io/instance-type': 'm5.large',
      'kubernetes.io/arch': 'amd64',
      'kubernetes.io/os': 'linux',
      'topology.kubernetes.io/region': 'us-east-1',
      'topology.kubernetes.io/zone': 'us-east-1a,us-east-1b',
      'topology.k8s.aws/zone-id': 'use1-az2,use1-az4',
      'karpenter.sh/capacity-type': 'on-demand,spot',
      'karpenter.k8s.aws/instance-category': 'm',
      'karpenter.k8s.aws/instance-family': 'm5',
      'karpenter.k8s.aws/instance-generation': '5',
      'karpenter.k8s.aws/instance-size': 'large',
      'karpenter.k8s.aws/instance-cpu': '2',
      'karpenter.k8s.aws/instance-cpu-manufacturer': 'intel',
      'karpenter.k8s.aws/instance-cpu-sustained-clock-speed-mhz': '3100',
      'karpenter.k8s.aws/instance-memory': '8192',
      'karpenter.k8s.aws/instance-ebs-bandwidth': '4750',
      'karpenter.k8s.aws/instance-network-bandwidth': '750',
      'karpenter.k8s.aws/instance-hypervisor': 'nitro',
      'karpenter.k8s.aws/instance-encryption-in-transit-supported': 'false',
      'karpenter.k8s.aws/instance-capability-flex': 'false',
      'karpenter.k8s.aws/instance-tenancy': 'default',
    });
  });

  test('labels that a type does not have demand absence, so that a pod asking for a GPU cannot match', () => {
    expect(typeOf('m5.large')?.requirements.get('karpenter.k8s.aws/instance-gpu-count')).toEqual({
      kind: 'in',
      values: new Set(),
      present: false,
    });
  });

  test.each([
    ['g4dn.xlarge', 'karpenter.k8s.aws/instance-gpu-name', 't4'],
    ['g4dn.xlarge', 'karpenter.k8s.aws/instance-gpu-manufacturer', 'nvidia'],
    ['g4dn.xlarge', 'karpenter.k8s.aws/instance-local-nvme', '125'],
    ['m7i-flex.large', 'karpenter.k8s.aws/instance-capability-flex', 'true'],
    ['m7i-flex.large', 'karpenter.k8s.aws/instance-family', 'm7i-flex'],
    ['c5.metal', 'karpenter.k8s.aws/instance-hypervisor', ''],
    ['u7i-6tb.112xlarge', 'karpenter.k8s.aws/instance-generation', '7'],
  ])('%s has %s=%s', (name, key, value) => expect(valuesOf(name, key)).toEqual([value]));

  test('offerings are the zones that both the type and the subnets have, for each way to buy', () => {
    expect(
      typeOf('m5.large')?.offerings.map((o) => `${o.zone} ${o.zoneId} ${o.capacityType}`),
    ).toEqual([
      'us-east-1a use1-az2 on-demand',
      'us-east-1a use1-az2 spot',
      'us-east-1b use1-az4 on-demand',
      'us-east-1b use1-az4 spot',
    ]);
  });

  test('a zone without a subnet gives no offering', () => {
    const status = { ...nodeClassWith().status, subnets: [{ id: 'subnet-c', zone: 'us-east-1c' }] };
    expect(
      typeOf('m5.large', nodeClassWith({ status }))?.offerings.map((o) => [o.zone, o.zoneId]),
    ).toEqual([
      ['us-east-1c', undefined],
      ['us-east-1c', undefined],
    ]);
  });

  test('an offering that was out of capacity, or has no price, is there but not available', () => {
    const avoided = offeringKey({
      instanceType: 'm5.large',
      zone: 'us-east-1a',
      capacityType: 'on-demand',
    });
    const types = typesOf(nodeClassWith(), {
      isUnavailable: (offering) => offeringKey(offering) === avoided,
    }).types;
    expect(types.find((t) => t.name === 'm5.large')?.offerings.map((o) => o.available)).toEqual([
      false,
      true,
      true,
      true,
    ]);
    expect(
      typeOf('m5.large', nodeClassWith(), { prices: priceBookOf([]) })?.offerings.some(
        (o) => o.available,
      ),
    ).toBe(false);
  });

  test('spot counts as dear as on-demand until there are spot prices; then a zone without one is not for sale', () => {
    const spot = (quotes: readonly PriceQuote[]) =>
      typeOf('m5.large', nodeClassWith(), { prices: priceBookOf(quotes) })
        ?.offerings.filter((o) => o.capacityType === 'spot')
        .map((o) => [
          o.zone,
          o.available,
          o.available ? o.priceMicrosPerHour : 0,
          o.priceEstimated,
        ]);
    expect(spot(onDemand)).toEqual([
      ['us-east-1a', true, 96_000, true],
      ['us-east-1b', true, 96_000, true],
    ]);
    expect(spot([...onDemand, spotOfM5])).toEqual([
      ['us-east-1a', true, 40_000, false],
      ['us-east-1b', false, 0, false],
    ]);
  });

  test.each([
    [
      'no image for its architecture',
      'm6g.large',
      nodeClassWith({ status: { ...nodeClassWith().status, amis: [ami('ami-amd')] } }),
      'no-image',
    ],
    ['no image with its drivers', 'inf2.xlarge', nodeClassWith(), 'no-image'],
    ['the first Graviton under AL2023', 'a1.large', nodeClassWith(), 'not-bootable-by-family'],
    [
      'reservations that leave nothing',
      't3.nano',
      nodeClassWith({ kubelet: { kubeReserved: { memory: '2Gi' } } }),
      'too-small-for-reservations',
    ],
  ])('a type is left out for %s', (_why, name, nodeClass, reason) => {
    const { types, excluded } = typesOf(nodeClass);
    expect(types.some((type) => type.name === name)).toBe(false);
    expect(excluded).toContainEqual({ instanceType: name, reason });
  });

  test('the first Graviton boots Bottlerocket', () =>
    expect(typeOf('a1.large', nodeClassWith({ amiFamily: 'Bottlerocket' }))).toBeDefined());

  test('every type is either given or left out for a reason, in name order', () => {
    const { types, excluded } = typesOf(nodeClassWith());
    expect(types.length + excluded.length).toBe(entries.length);
    expect(types.map((type) => type.name)).toEqual(types.map((type) => type.name).sort());
    expect(
      types.every((type) => type.requirements.get(labels.instanceType)?.values.has(type.name)),
    ).toBe(true);
  });
});

test('types in steps are the same, one a step', () => {
  const steps = instanceTypesInSteps(nodeClassWith(), knowledge());
  let number = 0;
  let step = steps.next();
  for (; step.done !== true; step = steps.next()) number += 1;
  const { types, excluded } = step.value;
  expect(step.value).toEqual(typesOf(nodeClassWith()));
  const small = excluded.filter(({ reason }) => reason === 'too-small-for-reservations');
  expect(number).toBe(types.length + small.length);
});
