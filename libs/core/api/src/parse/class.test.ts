import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Parsed } from '@dovetail/core-kube-model';
import { awsNodeTemplateOf, ec2NodeClassOf, inlineProviderOf, type NodeClass } from '../index.js';

fc.configureGlobal({ seed: 1 });

type Part = Record<string, unknown>;
const metadata = { name: 'default', uid: 'u-1' };
const value = <T>(parsed: Parsed<T>): T => {
  if (!parsed.ok) throw new Error(`${parsed.field}: ${parsed.remedy}`);
  return parsed.value;
};
const tags = [{ tags: { 'karpenter.sh/discovery': 'c' } }];
const ec2 = (spec: Part = {}, status: Part = {}): object => ({
  metadata, status, spec: { role: 'node', subnetSelectorTerms: tags, securityGroupSelectorTerms: tags, amiSelectorTerms: [{ alias: 'al2023@latest' }], ...spec },
});
const v34 = { major: 1, minor: 34 };
const template = (spec: Part = {}): object => ({ metadata, spec: { subnetSelector: { a: '*' }, securityGroupSelector: { a: '*' }, ...spec } });
const legacy = (spec: Part, kubernetes = v34): NodeClass => value(awsNodeTemplateOf(template(spec), kubernetes));

describe('an EC2NodeClass', () => {
  test('that says only what it must has the schema\'s defaults', () => expect(value(ec2NodeClassOf(ec2()))).toEqual({
    ref: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' }, uid: 'u-1', resourceVersion: '', generation: 0, ready: false, hash: expect.stringMatching(/^[0-9a-f]{16}$/),
    subnetSelectorTerms: tags, securityGroupSelectorTerms: tags, amiFamily: 'AL2023', amiSelectorTerms: [{ alias: 'al2023@latest' }], role: 'node', tags: {}, kubelet: {}, blockDeviceMappings: [],
    detailedMonitoring: false, metadataOptions: { httpEndpoint: 'enabled', httpProtocolIpv6: 'disabled', httpPutResponseHopLimit: 1, httpTokens: 'required' },
    status: { subnets: [], securityGroups: [], amis: [] },
  }));
  test('reads what discovery found', () => {
    const gpu = { key: 'karpenter.k8s.aws/instance-gpu-count', operator: 'Exists' };
    const neuron = { key: 'karpenter.k8s.aws/instance-accelerator-count', operator: 'Exists' };
    const arch = { key: 'kubernetes.io/arch', operator: 'In', values: ['arm64'] };
    const without = (one: object): object => ({ ...one, operator: 'DoesNotExist' });
    const found = value(ec2NodeClassOf(ec2({}, {
      conditions: [{ type: 'Ready', status: 'True' }], subnets: [{ id: 'subnet-1', zone: 'us-east-1a', zoneID: 'use1-az1' }], securityGroups: [{ id: 'sg-1', name: 'nodes' }], instanceProfile: 'p',
      amis: [{ id: 'ami-1', name: 'a', requirements: [arch, without(gpu), without(neuron)] }, { id: 'ami-2', name: 'b', requirements: [arch, gpu] }, { id: 'ami-3', name: 'c', requirements: [arch, neuron] }, { id: 'ami-4', name: 'd', requirements: [arch] }],
    })));
    expect(found).toMatchObject({ ready: true, status: { subnets: [{ id: 'subnet-1', zone: 'us-east-1a', zoneId: 'use1-az1' }], securityGroups: [{ id: 'sg-1', name: 'nodes' }], instanceProfile: 'p' } });
    expect(found.status.amis.map((ami) => `${ami.id} ${ami.arch} ${ami.variant}`)).toEqual([
      'ami-1 arm64 standard', 'ami-2 arm64 nvidia', 'ami-3 arm64 neuron', 'ami-4 arm64 standard', 'ami-4 arm64 nvidia', 'ami-4 arm64 neuron']);
  });
  test('reads devices in bytes', () => expect(value(ec2NodeClassOf(ec2({ blockDeviceMappings: [{ deviceName: '/dev/xvda', rootVolume: true, ebs: { volumeSize: '100Gi', volumeType: 'gp3', encrypted: true } }] }))).blockDeviceMappings)
    .toEqual([{ deviceName: '/dev/xvda', rootVolume: true, ebs: { volumeSizeBytes: 100 * 1024 ** 3, volumeType: 'gp3', encrypted: true } }]));
  test.each([['bottlerocket@v1.2.3', 'Bottlerocket'], ['al2@latest', 'AL2'], ['windows2022@latest', 'Windows2022']])('of alias %s is of family %s', (alias, family) =>
    expect(value(ec2NodeClassOf(ec2({ amiSelectorTerms: [{ alias }] }))).amiFamily).toBe(family));
  test.each<[string, Part, string]>([
    ['role and profile', { instanceProfile: 'p' }, 'spec.role'], ['neither role nor profile', { role: undefined }, 'spec.role'], ['an empty role', { role: '' }, 'spec.role'],
    ['no subnets', { subnetSelectorTerms: [] }, 'spec.subnetSelectorTerms'], ['a subnet id that is none', { subnetSelectorTerms: [{ id: 'vpc-1' }] }, 'spec.subnetSelectorTerms[0].id'],
    ['a term that selects everything', { securityGroupSelectorTerms: [{}] }, 'spec.securityGroupSelectorTerms[0]'], ['an empty tag value', { subnetSelectorTerms: [{ tags: { a: '' } }] }, 'spec.subnetSelectorTerms[0].tags'],
    ['an id beside tags', { subnetSelectorTerms: [{ id: 'subnet-1', tags: { a: 'b' } }] }, 'spec.subnetSelectorTerms'],
    ['an owner alone', { amiSelectorTerms: [{ owner: 'self' }], amiFamily: 'AL2' }, 'spec.amiSelectorTerms[0]'],
    ['an alias beside another term', { amiSelectorTerms: [{ alias: 'al2@latest' }, { id: 'ami-1' }] }, 'spec.amiSelectorTerms'],
    ['an alias beside a name', { amiSelectorTerms: [{ alias: 'al2@latest', name: 'x' }] }, 'spec.amiSelectorTerms[0]'],
    ['an unknown alias', { amiSelectorTerms: [{ alias: 'ubuntu@latest' }] }, 'spec.amiSelectorTerms[0].alias'],
    ['a version of Windows', { amiSelectorTerms: [{ alias: 'windows2022@1' }] }, 'spec.amiSelectorTerms[0].alias'],
    ['a family that is not the alias\'s', { amiFamily: 'Bottlerocket' }, 'spec.amiFamily'], ['neither family nor alias', { amiSelectorTerms: [{ id: 'ami-1' }] }, 'spec.amiFamily'],
    ['Dovetail\'s own tag', { tags: { 'karpenter.sh/nodepool': 'x' } }, 'spec.tags.karpenter.sh/nodepool'], ['the cluster\'s tag', { tags: { 'kubernetes.io/cluster/c': 'x' } }, 'spec.tags.kubernetes.io/cluster/c'],
    ['a device of no size', { blockDeviceMappings: [{ ebs: {} }] }, 'spec.blockDeviceMappings[0].ebs'], ['two root volumes', { blockDeviceMappings: [{ rootVolume: true }, { rootVolume: true }] }, 'spec.blockDeviceMappings'],
    ['a hop limit of 65', { metadataOptions: { httpPutResponseHopLimit: 65 } }, 'spec.metadataOptions.httpPutResponseHopLimit'],
    ['soft eviction without grace', { kubelet: { evictionSoft: { 'memory.available': '5%' } } }, 'spec.kubelet.evictionSoft'], ['a reservation of no kind', { kubelet: { kubeReserved: { gpu: '1' } } }, 'spec.kubelet.kubeReserved.gpu'],
    ['thresholds the wrong way round', { kubelet: { imageGCHighThresholdPercent: 50, imageGCLowThresholdPercent: 60 } }, 'spec.kubelet.imageGCHighThresholdPercent'],
    ['network interfaces', { networkInterfaces: [{}] }, 'spec.networkInterfaces'],
  ])('with %s is refused by field', (_name, spec, field) => expect(ec2NodeClassOf(ec2(spec))).toMatchObject({ ok: false, field }));
  test('what is launched changes the hash, what is selected does not', () => {
    const hash = (spec: Part): string => value(ec2NodeClassOf(ec2(spec))).hash;
    const changes: Part[] = [{ role: 'other' }, { userData: 'x' }, { tags: { a: 'b' } }, { kubelet: { maxPods: 5 } }, { blockDeviceMappings: [{ ebs: { volumeSize: '1Gi' } }] }, { instanceStorePolicy: 'RAID0' },
      { detailedMonitoring: true }, { metadataOptions: { httpTokens: 'optional' } }, { associatePublicIPAddress: false }, { associatePublicIPAddress: true }, { context: 'c' }, { amiSelectorTerms: [{ alias: 'bottlerocket@latest' }] }];
    expect(new Set([{}, ...changes].map(hash)).size).toBe(changes.length + 1);
    expect(hash({ subnetSelectorTerms: [{ id: 'subnet-1' }], securityGroupSelectorTerms: [{ id: 'sg-1' }], amiSelectorTerms: [{ alias: 'al2023@v1' }] })).toBe(hash({}));
  });
  test('answers a value or a named field for any JSON', () => fc.assert(fc.property(fc.jsonValue(), fc.jsonValue(), (spec, part) => {
    ec2NodeClassOf({ metadata, spec, status: part });
    return typeof ec2NodeClassOf(ec2({ kubelet: part, blockDeviceMappings: part, amiSelectorTerms: spec })).ok === 'boolean';
  })));
});

describe('an AWSNodeTemplate', () => {
  test.each([[1, 32, 'AL2', 'al2@latest'], [1, 33, 'AL2023', 'al2023@latest'], [2, 0, 'AL2023', 'al2023@latest']])('without a family on Kubernetes %i.%i is %s', (major, minor, family, alias) =>
    expect(legacy({}, { major, minor })).toMatchObject({ amiFamily: family, amiSelectorTerms: [{ alias }] }));
  test('of family Ubuntu boots Canonical\'s images like AL2 from /dev/sda1', () => expect(legacy({ amiFamily: 'Ubuntu' })).toMatchObject({
    amiFamily: 'AL2', blockDeviceMappings: [{ deviceName: '/dev/sda1', rootVolume: true }],
    amiSelectorTerms: [{ ssmParameter: '/aws/service/canonical/ubuntu/eks/20.04/1.34/stable/current/amd64/hvm/ebs-gp2/ami-id' }, { ssmParameter: expect.stringContaining('arm64') }],
  }));
  test.each<[Part, object[]]>([
    [{ 'kubernetes.io/cluster/c': '*' }, [{ tags: { 'kubernetes.io/cluster/c': '*' } }]],
    [{ Name: 'a, b' }, [{ tags: { Name: 'a' } }, { tags: { Name: 'b' } }]],
    [{ 'aws-ids': 'subnet-1,subnet-2' }, [{ id: 'subnet-1' }, { id: 'subnet-2' }]],
    [{ 'aws::ids': 'subnet-1' }, [{ id: 'subnet-1' }]],
    [{ a: '1,2', b: '3,4' }, [{ tags: { a: '1', b: '3' } }, { tags: { a: '1', b: '4' } }, { tags: { a: '2', b: '3' } }, { tags: { a: '2', b: '4' } }]],
    [{ 'aws:eks:cluster-name': 'c' }, [{ tags: { 'aws:eks:cluster-name': 'c' } }]],
  ])('selector %j selects %j', (selector, terms) => expect(legacy({ subnetSelector: selector, securityGroupSelector: selector })).toMatchObject({ subnetSelectorTerms: terms, securityGroupSelectorTerms: terms }));
  test('selects images by name and owner', () => expect(legacy({ amiSelector: { 'aws::name': 'mine-*', 'aws::owners': 'self,amazon' } }).amiSelectorTerms).toEqual([
    { name: 'mine-*', owner: 'self' }, { name: 'mine-*', owner: 'amazon' }]));
  test('lets two hops reach the metadata service', () => expect(legacy({}).metadataOptions.httpPutResponseHopLimit).toBe(2));
  test('needs no role: the installation has a default profile', () => expect([legacy({}).role, legacy({}).instanceProfile]).toEqual([undefined, undefined]));
  test.each<[string, Part, string]>([
    ['a launch template', { launchTemplate: 'lt' }, 'spec.launchTemplate'], ['no subnets', { subnetSelector: {} }, 'spec.subnetSelector'], ['Custom without images', { amiFamily: 'Custom' }, 'spec.amiSelector'],
    ['an unknown special key', { subnetSelector: { 'aws::zone': 'a' } }, 'spec.subnetSelector.aws::zone'], ['owners of subnets', { subnetSelector: { 'aws::owners': 'self' } }, 'spec.subnetSelector.aws::owners'],
    ['an empty value', { securityGroupSelector: { a: ' , ' } }, 'spec.securityGroupSelector.a'], ['too many combinations', { subnetSelector: { a: '1,2,3,4,5,6,7,8,9,10,11', b: '1,2,3,4,5,6,7,8,9,10' } }, 'spec.subnetSelector'],
  ])('with %s is refused by field', (_name, spec, field) => expect(awsNodeTemplateOf(template(spec), v34)).toMatchObject({ ok: false, field }));
});

describe('an inline provider', () => {
  const provisioner = (spec: Part, status: Part = {}): object => ({ metadata, spec, status });
  test('is a class of its own kind and the Provisioner\'s name', () => expect(value(inlineProviderOf(provisioner({
    provider: { apiVersion: 'extensions.karpenter.sh/v1alpha1', kind: 'AWS', subnetSelector: { a: '*' }, securityGroupSelector: { a: '*' }, instanceProfile: 'p' }, kubeletConfiguration: { maxPods: 9 },
  }, { conditions: [{ type: 'NodeClassReady', status: 'True' }], provider: { subnets: [{ id: 'subnet-1', zone: 'z' }] } }), v34))).toMatchObject({
    ref: { group: 'karpenter.k8s.aws', kind: 'InlineProvider', name: 'default' }, uid: 'u-1', ready: true, amiFamily: 'AL2023', instanceProfile: 'p', kubelet: { maxPods: 9 }, status: { subnets: [{ id: 'subnet-1', zone: 'z' }] },
  }));
  test('is absent where the Provisioner has none', () => expect(value(inlineProviderOf(provisioner({ providerRef: { name: 'x' } }), v34))).toBeUndefined());
  test('names its fields with their whole path', () => expect(inlineProviderOf(provisioner({ provider: { subnetSelector: { a: '*' } } }), v34)).toMatchObject({ ok: false, field: 'spec.provider.securityGroupSelector' }));
});
