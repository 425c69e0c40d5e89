import type { AmiFamily, KubeletConfiguration } from '@dovetail/core-api';
import { describe, expect, test } from 'vitest';

import {
  catalogFor,
  type InstanceType,
  instanceTypesFor,
  mergedKubelet,
  priceBookOf,
  type RegionKnowledge,
  typesWithPoolKubelet,
} from './index.js';
import { nodeClassWith } from './testing/node-class.js';

const entries = catalogFor('us-east-1').filter(({ facts }) =>
  /^(t3\.nano|t4g\.small|m5\.large|m6g\.4xlarge|c5\.metal|i3\.2xlarge|g4dn\.xlarge)$/.test(
    facts.name,
  ),
);
const region: RegionKnowledge = {
  region: 'us-east-1',
  facts: entries.map(({ facts }) => facts),
  zones: new Map(entries.map(({ facts, zones }) => [facts.name, zones])),
  prices: priceBookOf([]),
  isUnavailable: () => false,
};
const typesOf = (amiFamily: AmiFamily, kubelet: KubeletConfiguration): readonly InstanceType[] =>
  instanceTypesFor(nodeClassWith({ amiFamily, kubelet }), region).types;
const room = (types: readonly InstanceType[]) =>
  types.map(({ name, capacity, allocatable }) => ({ name, capacity, allocatable }));

const settings: readonly (readonly [string, KubeletConfiguration])[] = [
  ['nothing', {}],
  ['fewer pods', { maxPods: 20 }],
  ['more pods', { maxPods: 110 }],
  ['pods by core', { podsPerCore: 2 }],
  ['pods by core, at most', { podsPerCore: 8, maxPods: 30 }],
  ['CPU for the kubelet', { kubeReserved: { cpu: '500m' } }],
  [
    'everything for the kubelet',
    { kubeReserved: { cpu: '200m', memory: '1Gi', 'ephemeral-storage': '3Gi' }, maxPods: 40 },
  ],
  [
    'something for the system',
    { systemReserved: { cpu: '100m', memory: '100Mi', 'ephemeral-storage': '1Gi' } },
  ],
  [
    'a share of memory before eviction',
    { evictionHard: { 'memory.available': '5%', 'nodefs.available': '20%' } },
  ],
  ['no threshold', { evictionHard: { 'memory.available': '100%' } }],
  ['more than the smallest type has', { systemReserved: { memory: '1Gi' } }],
];

describe.each(['AL2', 'AL2023', 'Bottlerocket', 'Custom'] as const)(
  "a pool's own kubelet settings on a class of %s",
  (family) => {
    test.each(settings)(
      '%s: the types are those of a class that says it itself',
      (_name, kubelet) => {
        const nodeClass = nodeClassWith({ amiFamily: family });
        expect(room(typesWithPoolKubelet(typesOf(family, {}), nodeClass, kubelet))).toEqual(
          room(typesOf(family, kubelet)),
        );
      },
    );
    test.each(settings)('%s: saying it twice changes nothing', (_name, kubelet) => {
      const nodeClass = nodeClassWith({ amiFamily: family, kubelet });
      expect(room(typesWithPoolKubelet(typesOf(family, kubelet), nodeClass, kubelet))).toEqual(
        room(typesOf(family, kubelet)),
      );
    });
  },
);

describe('settings of pool and class together', () => {
  const ofClass: KubeletConfiguration = {
    maxPods: 50,
    kubeReserved: { cpu: '100m', memory: '1Gi' },
    clusterDNS: ['10.0.0.10'],
  };
  test.each([
    ['no pool', undefined, ofClass],
    ['a setting', { maxPods: 20 }, { ...ofClass, maxPods: 20 }],
    [
      'one key of a map',
      { kubeReserved: { cpu: '300m' } },
      { ...ofClass, kubeReserved: { cpu: '300m', memory: '1Gi' } },
    ],
    [
      'a map that the class has not',
      { evictionHard: { 'memory.available': '5%' } },
      { ...ofClass, evictionHard: { 'memory.available': '5%' } },
    ],
    ['a list', { clusterDNS: ['10.0.0.11'] }, { ...ofClass, clusterDNS: ['10.0.0.11'] }],
  ])("%s: the pool's wins", (_name, ofPool, both) =>
    expect(mergedKubelet(ofClass, ofPool)).toEqual(both),
  );

  test('types follow from both', () => {
    const ofPool = { kubeReserved: { cpu: '300m' }, maxPods: 20 };
    const types = typesWithPoolKubelet(
      typesOf('AL2023', ofClass),
      nodeClassWith({ kubelet: ofClass }),
      ofPool,
    );
    expect(room(types)).toEqual(room(typesOf('AL2023', mergedKubelet(ofClass, ofPool))));
  });
  test('a quantity that is none leaves no types: nothing is guessed', () =>
    expect(
      typesWithPoolKubelet(typesOf('AL2023', {}), nodeClassWith(), {
        kubeReserved: { cpu: 'much' },
      }),
    ).toEqual([]));
});
