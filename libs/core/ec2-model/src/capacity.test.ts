import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import {
  allocatableOf,
  capacityOf,
  catalogFacts,
  catalogFor,
  defaultCapacitySettings,
  interfacePods,
  kubeletProblems,
  podsMax,
} from './index.js';
import { nodeClassWith } from './testing/node-class.js';

const factsOf = (name: string) => {
  const facts = catalogFacts(name);
  if (facts === undefined) throw new Error(`${name} is not in the catalog`);
  return facts;
};
const mebibytes = (bytes: number | undefined) => (bytes ?? 0) / 1024 ** 2;
const gib = 1024 ** 3;

describe('what a node can give to pods', () => {
  // The figures that Karpenter's reference of instance types publishes for AL2023 without block
  // device mappings.
  test.each([
    // type          milliCPU  MiB    pods  branch interfaces
    ['a1.medium', 940, 1392, 8, 10],
    ['a1.large', 1930, 3055, 29, 9],
    ['a1.xlarge', 3920, 6525, 58, 18],
    ['a1.4xlarge', 15890, 27322, 234, 54],
    ['c1.medium', 1930, 1122, 12, undefined],
    ['c3.8xlarge', 31850, 53903, 234, undefined],
    ['c4.8xlarge', 35840, 53903, 234, undefined],
    ['g4ad.xlarge', 3920, 14712, 8, 12],
    ['g4ad.2xlarge', 7910, 29867, 8, 12],
    ['g4ad.4xlarge', 15890, 59946, 29, 11],
    ['g4ad.8xlarge', 31850, 120248, 58, 10],
    ['g4ad.16xlarge', 63770, 239554, 234, 6],
    ['i7ie.48xlarge', 191450, 1446437, 737, 107],
    ['i7ie.metal-48xl', 191450, 1446437, 737, 107],
  ])('%s leaves %im of CPU, %i MiB of memory, %i pods', (name, millis, mib, pods, branches) => {
    const allocatable = allocatableOf(factsOf(name), nodeClassWith());
    expect(allocatable).toMatchObject({ cpu: millis, pods, 'ephemeral-storage': 17 * gib });
    expect(mebibytes(allocatable['memory'])).toBe(mib);
    expect(allocatable['vpc.amazonaws.com/pod-eni']).toBe(branches);
  });

  test.each([
    ['i8ge.48xlarge', 1178],
    ['i8ge.metal-48xl', 1178],
  ])('%s with two network cards takes %i pods', (name, pods) =>
    expect(allocatableOf(factsOf(name), nodeClassWith())['pods']).toBe(pods),
  );

  test('the GPUs of g4ad are AMD’s', () =>
    expect(allocatableOf(factsOf('g4ad.16xlarge'), nodeClassWith())).toMatchObject({
      'amd.com/gpu': 4,
    }));

  test('no type of the catalog leaves more than it has, nor a fraction of anything', () => {
    for (const { facts } of catalogFor('us-east-1')) {
      const capacity = capacityOf(facts, nodeClassWith());
      for (const [name, amount] of Object.entries(allocatableOf(facts, nodeClassWith()))) {
        if (!Number.isInteger(amount) || amount > (capacity[name] ?? 0))
          throw new Error(`${facts.name}: ${name} ${amount} of ${capacity[name]}`);
      }
    }
  });
});

describe('pods of a node', () => {
  const m5 = factsOf('m5.large');
  test.each([
    ['AL2023', {}, 29],
    ['AL2023', { maxPods: 110 }, 110],
    ['AL2023', { podsPerCore: 4 }, 8],
    ['AL2023', { maxPods: 6, podsPerCore: 4 }, 6],
    ['Bottlerocket', { podsPerCore: 4 }, 29],
    ['Windows2022', {}, 110],
  ] as const)('%s with %j takes %i', (family, kubelet, pods) =>
    expect(podsMax(m5, family, kubelet)).toBe(pods),
  );

  test('reserved interfaces give no addresses; none left, no pods', () => {
    expect(interfacePods(m5, 1)).toBe(20);
    expect(interfacePods(m5, 3)).toBe(0);
    expect(interfacePods(m5, 9)).toBe(0);
  });

  test('the kube reservation of Amazon Linux ignores maxPods, that of Bottlerocket follows it', () => {
    const memory = (amiFamily: 'AL2023' | 'Bottlerocket', maxPods?: number) =>
      mebibytes(
        allocatableOf(
          m5,
          nodeClassWith({ amiFamily, kubelet: maxPods === undefined ? {} : { maxPods } }),
        )['memory'],
      );
    expect(memory('AL2023', 110)).toBe(memory('AL2023'));
    expect(memory('Bottlerocket') - memory('Bottlerocket', 110)).toBe(11 * (110 - 29));
  });
});

describe('ephemeral storage', () => {
  const root = (bytes: number) => [
    { deviceName: '/dev/xvda', rootVolume: false, ebs: { volumeSizeBytes: bytes } },
  ];
  test.each([
    ['the family default', 'm5.large', nodeClassWith(), 20 * gib],
    [
      'Bottlerocket’s second device',
      'm5.large',
      nodeClassWith({
        amiFamily: 'Bottlerocket',
        blockDeviceMappings: [
          ...root(5 * gib),
          { deviceName: '/dev/xvdb', rootVolume: false, ebs: { volumeSizeBytes: 80 * gib } },
        ],
      }),
      80 * gib,
    ],
    [
      'the family’s device, as mapped',
      'm5.large',
      nodeClassWith({ blockDeviceMappings: root(100 * gib) }),
      100 * gib,
    ],
    [
      'the mapping marked as root volume',
      'm5.large',
      nodeClassWith({
        blockDeviceMappings: [
          ...root(9 * gib),
          { deviceName: '/dev/sdb', rootVolume: true, ebs: { volumeSizeBytes: 50 * gib } },
        ],
      }),
      50 * gib,
    ],
    [
      'a custom image’s last device',
      'm5.large',
      nodeClassWith({ amiFamily: 'Custom', blockDeviceMappings: root(33 * gib) }),
      33 * gib,
    ],
    [
      'all local disks under RAID0',
      'm5d.large',
      nodeClassWith({ instanceStorePolicy: 'RAID0' }),
      75e9,
    ],
    [
      'the default under RAID0 without disks',
      'm5.large',
      nodeClassWith({ instanceStorePolicy: 'RAID0' }),
      20 * gib,
    ],
  ])('is %s', (_what, name, nodeClass, bytes) =>
    expect(capacityOf(factsOf(name), nodeClass)['ephemeral-storage']).toBe(bytes),
  );
});

describe('devices', () => {
  test.each([
    ['p4d.24xlarge', { 'nvidia.com/gpu': 8, 'vpc.amazonaws.com/efa': 4 }],
    ['inf1.24xlarge', { 'aws.amazon.com/neuron': 16, 'aws.amazon.com/neuroncore': 64 }],
  ])('%s has %j', (name, devices) =>
    expect(capacityOf(factsOf(name), nodeClassWith())).toMatchObject(devices),
  );
  test('resources that a type has none of are not listed', () =>
    expect(Object.keys(capacityOf(factsOf('m5.large'), nodeClassWith())).sort()).toEqual([
      'cpu',
      'ephemeral-storage',
      'memory',
      'pods',
      'vpc.amazonaws.com/pod-eni',
    ]));
});

describe('kubelet settings', () => {
  test('reservations are taken off as written; thresholds may be shares; 100% switches a signal off', () => {
    const with_ = (kubelet: object) =>
      allocatableOf(factsOf('m5.large'), nodeClassWith({ kubelet }));
    const plain = with_({});
    expect((plain['cpu'] ?? 0) - (with_({ systemReserved: { cpu: '100m' } })['cpu'] ?? 0)).toBe(
      100,
    );
    expect(with_({ kubeReserved: { cpu: '500m' } })['cpu']).toBe(1500);
    const memory = capacityOf(factsOf('m5.large'), nodeClassWith())['memory'] ?? 0;
    expect(
      (plain['memory'] ?? 0) -
        (with_({ evictionHard: { 'memory.available': '5%' } })['memory'] ?? 0),
    ).toBe(Math.ceil(memory / 20) - 100 * 1024 ** 2);
    expect(
      (with_({ evictionHard: { 'memory.available': '100%' } })['memory'] ?? 0) -
        (plain['memory'] ?? 0),
    ).toBe(100 * 1024 ** 2);
  });

  test('what the check lets through never throws', () =>
    fc.assert(
      fc.property(
        fc.record({
          kubeReserved: fc.dictionary(
            fc.constantFrom('cpu', 'memory', 'gpu'),
            fc.constantFrom('1', '100m', '1Gi', '-1', 'x', ''),
          ),
          evictionHard: fc.dictionary(
            fc.constantFrom('memory.available', 'nodefs.available'),
            fc.constantFrom('5%', '101%', '1Gi', 'x', '%'),
          ),
        }),
        (kubelet) => {
          const compute = () =>
            allocatableOf(factsOf('m5.large'), nodeClassWith({ kubelet }), defaultCapacitySettings);
          if (kubeletProblems(kubelet).length === 0) compute();
        },
      ),
    ));
});

describe('for every type of the catalog', () => {
  const all = catalogFor('us-east-1').map(({ facts }) => facts);
  const families = ['AL2', 'AL2023', 'Bottlerocket', 'Custom', 'Windows2022'] as const;

  test.each(families)('%s has whole amounts of what it lists, and none of nothing', (amiFamily) => {
    const odd = all.flatMap((facts) =>
      Object.entries(capacityOf(facts, nodeClassWith({ amiFamily })))
        .filter(([, amount]) => !Number.isInteger(amount) || amount <= 0)
        .map(([name, amount]) => `${facts.name} ${name} ${amount}`),
    );
    expect(odd).toEqual([]);
  });

  test('Windows lists an address for each pod that its first interface serves, Linux none', () => {
    const name = 'vpc.amazonaws.com/PrivateIPv4Address';
    const m5 = factsOf('m5.large');
    expect(capacityOf(m5, nodeClassWith({ amiFamily: 'Windows2022' }))[name]).toBe(9);
    expect(capacityOf(m5, nodeClassWith())[name]).toBeUndefined();
  });

  test('a larger reservation leaves no more, and takes off what it adds', () =>
    fc.assert(
      fc.property(
        fc.constantFrom(...all),
        fc.nat({ max: 2000 }),
        fc.nat({ max: 2000 }),
        (facts, a, b) => {
          const left = (millis: number): number =>
            allocatableOf(
              facts,
              nodeClassWith({ kubelet: { systemReserved: { cpu: `${millis}m` } } }),
            )['cpu'] ?? 0;
          expect(left(a) - left(b)).toBe(b - a);
        },
      ),
    ));

  test('the overhead of virtual machines is a share of memory, rounded up to whole mebibytes', () => {
    const memory = (vmMemoryOverheadPercent: number): number =>
      mebibytes(
        capacityOf(factsOf('m5.large'), nodeClassWith(), {
          ...defaultCapacitySettings,
          vmMemoryOverheadPercent,
        })['memory'],
      );
    expect([memory(0), memory(0.075), memory(0.5)]).toEqual([8192, 8192 - 615, 4096]);
  });
});
