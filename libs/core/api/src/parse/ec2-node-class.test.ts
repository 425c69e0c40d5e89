import { inheritedKeys } from '@dovetail/core-kube-model/testing';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { ec2NodeClassOf } from './ec2-node-class.js';
import { discoveryTerms, ec2, metadata, type Part, valueOf } from './testing/manifests.js';
import { wholeEc2NodeClass } from './testing/whole.js';
import { mistakenKinds, mistakenNulls } from './testing/wrong-kinds.js';

fc.configureGlobal({ seed: 1 });

describe('an EC2NodeClass', () => {
  test("that says only what it must has the schema's defaults", () =>
    expect(valueOf(ec2NodeClassOf(ec2()))).toEqual({
      ref: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
      uid: 'u-1',
      resourceVersion: '',
      generation: 0,
      ready: false,
      hash: expect.stringMatching(/^[0-9]+$/),
      subnetSelectorTerms: discoveryTerms,
      securityGroupSelectorTerms: discoveryTerms,
      amiFamily: 'AL2023',
      amiSelectorTerms: [{ alias: 'al2023@latest' }],
      role: 'node',
      tags: {},
      kubelet: {},
      blockDeviceMappings: [],
      detailedMonitoring: false,
      metadataOptions: {
        httpEndpoint: 'enabled',
        httpProtocolIpv6: 'disabled',
        httpPutResponseHopLimit: 1,
        httpTokens: 'required',
      },
      status: { subnets: [], securityGroups: [], amis: [] },
    }));
  test('reads what discovery found', () => {
    const gpu = { key: 'karpenter.k8s.aws/instance-gpu-count', operator: 'Exists' };
    const neuron = { key: 'karpenter.k8s.aws/instance-accelerator-count', operator: 'Exists' };
    const arch = { key: 'kubernetes.io/arch', operator: 'In', values: ['arm64'] };
    const without = (one: object): object => ({ ...one, operator: 'DoesNotExist' });
    const found = valueOf(
      ec2NodeClassOf(
        ec2(
          {},
          {
            conditions: [{ type: 'Ready', status: 'True' }],
            subnets: [{ id: 'subnet-1', zone: 'us-east-1a', zoneID: 'use1-az1' }],
            securityGroups: [{ id: 'sg-1', name: 'nodes' }],
            instanceProfile: 'p',
            amis: [
              { id: 'ami-1', name: 'a', requirements: [arch, without(gpu), without(neuron)] },
              { id: 'ami-2', name: 'b', requirements: [arch, gpu] },
              { id: 'ami-3', name: 'c', requirements: [arch, neuron] },
              { id: 'ami-4', name: 'd', requirements: [arch] },
            ],
          },
        ),
      ),
    );
    expect(found).toMatchObject({
      ready: true,
      status: {
        subnets: [{ id: 'subnet-1', zone: 'us-east-1a', zoneId: 'use1-az1' }],
        securityGroups: [{ id: 'sg-1', name: 'nodes' }],
        instanceProfile: 'p',
      },
    });
    expect(found.status.amis.map((ami) => `${ami.id} ${ami.arch} ${ami.variant}`)).toEqual([
      'ami-1 arm64 standard',
      'ami-2 arm64 nvidia',
      'ami-3 arm64 neuron',
      'ami-4 arm64 standard',
      'ami-4 arm64 nvidia',
      'ami-4 arm64 neuron',
    ]);
  });
  test('reads devices in bytes', () =>
    expect(
      valueOf(
        ec2NodeClassOf(
          ec2({
            blockDeviceMappings: [
              {
                deviceName: '/dev/xvda',
                rootVolume: true,
                ebs: { volumeSize: '100Gi', volumeType: 'gp3', encrypted: true },
              },
            ],
          }),
        ),
      ).blockDeviceMappings,
    ).toEqual([
      {
        deviceName: '/dev/xvda',
        rootVolume: true,
        ebs: { volumeSizeBytes: 100 * 1024 ** 3, volumeType: 'gp3', encrypted: true },
      },
    ]));
  test.each([
    ['bottlerocket@v1.2.3', 'Bottlerocket'],
    ['al2@latest', 'AL2'],
    ['windows2022@latest', 'Windows2022'],
  ])('of alias %s is of family %s', (alias, family) =>
    expect(valueOf(ec2NodeClassOf(ec2({ amiSelectorTerms: [{ alias }] }))).amiFamily).toBe(family),
  );
  test.each<[string, Part, string]>([
    ['role and profile', { instanceProfile: 'p' }, 'spec.role'],
    ['neither role nor profile', { role: undefined }, 'spec.role'],
    ['an empty role', { role: '' }, 'spec.role'],
    ['no subnets', { subnetSelectorTerms: [] }, 'spec.subnetSelectorTerms'],
    [
      'a subnet id that is none',
      { subnetSelectorTerms: [{ id: 'vpc-1' }] },
      'spec.subnetSelectorTerms[0].id',
    ],
    [
      'a term that selects everything',
      { securityGroupSelectorTerms: [{}] },
      'spec.securityGroupSelectorTerms[0]',
    ],
    [
      'an empty tag value',
      { subnetSelectorTerms: [{ tags: { a: '' } }] },
      'spec.subnetSelectorTerms[0].tags',
    ],
    [
      'an id beside tags',
      { subnetSelectorTerms: [{ id: 'subnet-1', tags: { a: 'b' } }] },
      'spec.subnetSelectorTerms',
    ],
    [
      'an owner alone',
      { amiSelectorTerms: [{ owner: 'self' }], amiFamily: 'AL2' },
      'spec.amiSelectorTerms[0]',
    ],
    [
      'an alias beside another term',
      { amiSelectorTerms: [{ alias: 'al2@latest' }, { id: 'ami-1' }] },
      'spec.amiSelectorTerms',
    ],
    [
      'an alias beside a name',
      { amiSelectorTerms: [{ alias: 'al2@latest', name: 'x' }] },
      'spec.amiSelectorTerms[0]',
    ],
    [
      'an unknown alias',
      { amiSelectorTerms: [{ alias: 'ubuntu@latest' }] },
      'spec.amiSelectorTerms[0].alias',
    ],
    ...inheritedKeys.map((name): [string, Part, string] => [
      `the alias ${name}`,
      { amiSelectorTerms: [{ alias: `${name}@latest` }] },
      'spec.amiSelectorTerms[0].alias',
    ]),
    [
      'a version of Windows',
      { amiSelectorTerms: [{ alias: 'windows2022@1' }] },
      'spec.amiSelectorTerms[0].alias',
    ],
    ["a family that is not the alias's", { amiFamily: 'Bottlerocket' }, 'spec.amiFamily'],
    ['neither family nor alias', { amiSelectorTerms: [{ id: 'ami-1' }] }, 'spec.amiFamily'],
    [
      "Dovetail's own tag",
      { tags: { 'karpenter.sh/nodepool': 'x' } },
      'spec.tags.karpenter.sh/nodepool',
    ],
    [
      "the cluster's tag",
      { tags: { 'kubernetes.io/cluster/c': 'x' } },
      'spec.tags.kubernetes.io/cluster/c',
    ],
    [
      'a device of no size',
      { blockDeviceMappings: [{ ebs: {} }] },
      'spec.blockDeviceMappings[0].ebs',
    ],
    [
      'two root volumes',
      { blockDeviceMappings: [{ rootVolume: true }, { rootVolume: true }] },
      'spec.blockDeviceMappings',
    ],
    [
      'a hop limit of 65',
      { metadataOptions: { httpPutResponseHopLimit: 65 } },
      'spec.metadataOptions.httpPutResponseHopLimit',
    ],
    [
      'soft eviction without grace',
      { kubelet: { evictionSoft: { 'memory.available': '5%' } } },
      'spec.kubelet.evictionSoft',
    ],
    [
      'a reservation of no kind',
      { kubelet: { kubeReserved: { gpu: '1' } } },
      'spec.kubelet.kubeReserved.gpu',
    ],
    [
      'thresholds the wrong way round',
      { kubelet: { imageGCHighThresholdPercent: 50, imageGCLowThresholdPercent: 60 } },
      'spec.kubelet.imageGCHighThresholdPercent',
    ],
    ['network interfaces', { networkInterfaces: [{}] }, 'spec.networkInterfaces'],
    ['an empty profile', { role: undefined, instanceProfile: '' }, 'spec.instanceProfile'],
    [
      'more than 20 tags in one term',
      {
        subnetSelectorTerms: [
          { tags: Object.fromEntries(Array.from({ length: 21 }, (_, i) => [`tag-${i}`, 'x'])) },
        ],
      },
      'spec.subnetSelectorTerms[0].tags',
    ],
    [
      'an image id beside a name',
      { amiSelectorTerms: [{ id: 'ami-1', name: 'x' }], amiFamily: 'AL2' },
      'spec.amiSelectorTerms[0]',
    ],
    [
      'a group name beside tags in every term',
      { securityGroupSelectorTerms: [{ name: 'x', tags: { a: 'b' } }] },
      'spec.securityGroupSelectorTerms',
    ],
    ['an unknown family', { amiFamily: 'Ubuntu' }, 'spec.amiFamily'],
    [
      'a store policy of another kind',
      { instanceStorePolicy: 'RAID5' },
      'spec.instanceStorePolicy',
    ],
  ])('with %s is refused by field', (_name, spec, field) =>
    expect(ec2NodeClassOf(ec2(spec))).toMatchObject({ ok: false, field }),
  );
  test('what is launched changes the hash, what is selected does not', () => {
    const hash = (spec: Part): string => valueOf(ec2NodeClassOf(ec2(spec))).hash;
    const changes: Part[] = [
      { role: 'other' },
      { userData: 'x' },
      { tags: { a: 'b' } },
      { kubelet: { maxPods: 5 } },
      { kubelet: { containerLogMaxSize: '50Mi' } },
      { kubelet: { containerLogMaxSize: '60Mi' } },
      { blockDeviceMappings: [{ ebs: { volumeSize: '1Gi' } }] },
      { instanceStorePolicy: 'RAID0' },
      { detailedMonitoring: true },
      { metadataOptions: { httpTokens: 'optional' } },
      { associatePublicIPAddress: false },
      { associatePublicIPAddress: true },
      { context: 'c' },
      { amiSelectorTerms: [{ alias: 'bottlerocket@latest' }] },
    ];
    expect(new Set([{}, ...changes].map(hash)).size).toBe(changes.length + 1);
    expect(
      hash({
        subnetSelectorTerms: [{ id: 'subnet-1' }],
        securityGroupSelectorTerms: [{ id: 'sg-1' }],
        amiSelectorTerms: [{ alias: 'al2023@v1' }],
      }),
    ).toBe(hash({}));
  });
  test('answers a value or a named field for any JSON', () =>
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (spec, part) => {
        ec2NodeClassOf({ metadata, spec, status: part });
        return (
          typeof ec2NodeClassOf(
            ec2({ kubelet: part, blockDeviceMappings: part, amiSelectorTerms: spec }),
          ).ok === 'boolean'
        );
      }),
    ));
});

test.each([
  'capacityReservationSelectorTerms',
  'placementGroupSelector',
  'ipPrefixCount',
  'cpuOptions',
  'aSettingOfTomorrow',
])('the setting %s is refused, because launching without it would buy something else', (name) =>
  expect(ec2NodeClassOf(ec2({ [name]: {} }))).toMatchObject({
    ok: false,
    field: `spec.${name}`,
    remedy: 'Dovetail cannot launch with this setting yet: remove it',
  }),
);

test('Nitro Enclaves are refused when switched on, and are as absent when switched off', () => {
  expect(ec2NodeClassOf(ec2({ enclaveOptions: { enabled: true } }))).toMatchObject({
    ok: false,
    field: 'spec.enclaveOptions.enabled',
    value: 'true',
  });
  expect(ec2NodeClassOf(ec2({ enclaveOptions: { enabled: false } })).ok).toBe(true);
});

test.each<[string, number, boolean]>([
  ['no term', 0, false],
  ['one term', 1, true],
  ['30 terms', 30, true],
  ['31 terms', 31, false],
])('%s of subnets: %d', (_name, count, ok) =>
  expect(
    ec2NodeClassOf(
      ec2({ subnetSelectorTerms: Array.from({ length: count }, () => ({ tags: { a: 'b' } })) }),
    ).ok,
  ).toBe(ok),
);

test('of a term with mixed ways of selecting, only a list of such terms is refused, as in the schema', () => {
  const mixed = { id: 'subnet-1', tags: { a: 'b' } };
  expect(ec2NodeClassOf(ec2({ subnetSelectorTerms: [mixed] })).ok).toBe(false);
  expect(ec2NodeClassOf(ec2({ subnetSelectorTerms: [mixed, { id: 'subnet-2' }] })).ok).toBe(true);
});

describe('each field of an EC2NodeClass', () => {
  test('of another kind is refused by its path, with its value and a remedy', () =>
    expect(mistakenKinds(wholeEc2NodeClass, ec2NodeClassOf)).toEqual([]));

  test('that is null counts as absent', () =>
    expect(mistakenNulls(wholeEc2NodeClass, ec2NodeClassOf)).toEqual([]));
});
