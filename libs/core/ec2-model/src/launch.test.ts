import { describe, expect, test } from '@jest/globals';
import { requirementsOf, type RequirementSpec } from '@dovetail/core-kube-model';
import fc from 'fast-check';
import { createHash } from 'node:crypto';
import {
  canonicalJson, catalogFor, chooseForLaunch, classTags, fleetConfigs, instanceTags, instanceTypesFor, launchGroups, launchTemplateFor, priceBookOf, roomiestSubnets,
  type PriceQuote, type Subnet,
} from './index.js';
import { nodeClassWith } from './testing/node-class.js';

const hash = { sha256Hex: (text: string) => createHash('sha256').update(text).digest('hex') };
const entries = catalogFor('us-east-1');
const quotes: readonly PriceQuote[] = entries.flatMap(({ facts, zones, onDemandPriceMicrosPerHour: price }) => (price === undefined ? [] : [
  { instanceType: facts.name, capacityType: 'on-demand' as const, priceMicrosPerHour: price, estimated: false },
  ...zones.map((zone, index) => ({ instanceType: facts.name, zone, capacityType: 'spot' as const, priceMicrosPerHour: Math.round(price * (0.3 + index / 10)), estimated: false })),
]));
const { types } = instanceTypesFor(nodeClassWith(), {
  region: 'us-east-1', facts: entries.map((e) => e.facts), zones: new Map(entries.map((e) => [e.facts.name, e.zones])), prices: priceBookOf(quotes), isUnavailable: () => false,
});
const named = (...names: string[]) => types.filter((type) => names.includes(type.name));
const only = (key: string, ...values: string[]): RequirementSpec => ({ key, operator: 'In', values });
const wish = (requests: Record<string, number>, ...specs: RequirementSpec[]) => ({ requirements: requirementsOf(specs), requests });
const capacityTypes = (...values: string[]) => only('karpenter.sh/capacity-type', ...values);
const subnet = (id: string, zone: string, freeAddresses: number): Subnet => ({ id, zone, zoneId: '', freeAddresses, tags: {} });

describe('what a claim is bought as', () => {
  test('on-demand only: the cheapest sixty types that fit, cheapest first, none of them metal or with a GPU', () => {
    const choice = chooseForLaunch(types, wish({ cpu: 3000, memory: 4 * 1024 ** 3 }, capacityTypes('on-demand')));
    if (!choice.ok) throw new Error(choice.message);
    expect(choice.capacityType).toBe('on-demand');
    expect(choice.types).toHaveLength(60);
    const prices = choice.types.map((type) => type.offerings[0]?.priceMicrosPerHour ?? 0);
    expect(prices).toEqual([...prices].sort((a, b) => a - b));
    expect(choice.types.every((type) => (type.allocatable['cpu'] ?? 0) >= 3000 && !type.name.includes('metal') && type.capacity['nvidia.com/gpu'] === undefined)).toBe(true);
  });

  test('spot comes first where it is allowed, and only what is no dearer than the cheapest on-demand', () => {
    const choice = chooseForLaunch(named('m5.large', 'm5.24xlarge'), wish({}, capacityTypes('spot', 'on-demand')));
    expect(choice).toMatchObject({ ok: true, capacityType: 'spot' });
    expect(choice.ok ? choice.types.map((type) => type.name) : []).toEqual(['m5.large']);
  });

  test('a GPU is bought when nothing else is left', () => {
    const choice = chooseForLaunch(named('m5.large', 'g4dn.xlarge'), wish({ 'nvidia.com/gpu': 1 }, capacityTypes('on-demand')));
    expect(choice.ok ? choice.types.map((type) => type.name) : []).toEqual(['g4dn.xlarge']);
  });

  test('a demanded variety keeps what narrowing would drop, and is checked', () => {
    const varied = (minValues: number) => chooseForLaunch(named('m5.large', 'g4dn.xlarge'), wish({}, capacityTypes('on-demand'), { key: 'karpenter.k8s.aws/instance-family', operator: 'Exists', values: [], minValues }));
    expect(varied(2)).toMatchObject({ ok: true });
    expect(varied(3)).toEqual({ ok: false, reason: 'min-values', message: 'karpenter.k8s.aws/instance-family must keep 3 values possible, the 2 cheapest types leave 2' });
  });

  test.each([
    ['a zone that no subnet is in',   wish({}, only('topology.kubernetes.io/zone', 'us-east-1f'))],
    ['more than any type has',        wish({ cpu: 9_999_000 })],
    ['a type that is not there',      wish({}, only('node.kubernetes.io/instance-type', 'm99.large'))],
  ])('%s finds no offering', (_what, wanted) => expect(chooseForLaunch(types, wanted)).toMatchObject({ ok: false, reason: 'no-offering' }));

  test('the labels of a pool are not the type’s to refuse', () => expect(chooseForLaunch(types, wish({}, only('team', 'a')))).toMatchObject({ ok: true }));
});

describe('launch templates', () => {
  const groups = (...names: string[]) => launchGroups(nodeClassWith(), named(...names), {});
  const [group] = groups('m5.large');
  const specOf = (changes: Parameters<typeof nodeClassWith>[0] = {}, userDataBase64 = 'dXNlcg==') => {
    if (group === undefined) throw new Error('no group');
    return launchTemplateFor({ nodeClass: nodeClassWith(changes), group, userDataBase64, instanceProfileName: 'profile', cluster: { name: 'lab', uid: 'uid-1' } }, hash);
  };

  test('types are grouped by image and pods', () => expect(groups('m5.large', 'c5.large', 'm5.xlarge', 'm6g.large').map((g) => `${g.ami.id} ${g.maxPods} ${g.instanceTypes.join(' ')}`))
    .toEqual(['ami-amd 29 c5.large m5.large', 'ami-amd 58 m5.xlarge', 'ami-arm 29 m6g.large']));

  test('EFA interfaces are made only for pods that ask for them', () => {
    const efas = (requests: Record<string, number>) => launchGroups(nodeClassWith(), named('p4d.24xlarge'), requests).map((g) => g.efaInterfaces);
    expect(efas({})).toEqual([0]);
    expect(efas({ 'vpc.amazonaws.com/efa': 1 })).toEqual([4]);
  });

  test('a template holds what the class says, with the family’s volumes and tags that the class cannot replace', () => {
    expect(specOf({ tags: { team: 'x', 'eks:eks-cluster-name': 'forged' } })).toMatchObject({
      imageId: 'ami-amd', instanceProfileName: 'profile', securityGroupIds: ['sg-1', 'sg-2'], detailedMonitoring: false,
      blockDevices: [{ deviceName: '/dev/xvda', ebs: { Encrypted: true, VolumeType: 'gp3', VolumeSize: 20, DeleteOnTermination: true } }],
      metadataOptions: { HttpEndpoint: 'enabled', HttpProtocolIpv6: 'disabled', HttpPutResponseHopLimit: 1, HttpTokens: 'required', InstanceMetadataTags: 'disabled' },
      tags: { team: 'x', 'kubernetes.io/cluster/lab': 'owned', 'eks:eks-cluster-name': 'lab', 'dovetail.sh/cluster-uid': 'uid-1', 'karpenter.k8s.aws/ec2nodeclass': 'default' },
    });
  });

  test('volume sizes are rounded up to whole GiB', () => expect(specOf({ blockDeviceMappings: [{ deviceName: '/dev/xvda', rootVolume: true, ebs: { volumeSizeBytes: 20e9 } }] }).blockDevices[0]?.ebs).toEqual({ VolumeSize: 19 }));

  test('equal content has one name; any difference has another', () => {
    const spec = specOf();
    expect(spec.name).toMatch(/^dovetail\/[0-9a-f]{40}$/);
    expect(specOf().name).toBe(spec.name);
    expect(new Set([spec.name, specOf({}, 'b3RoZXI=').name, specOf({ detailedMonitoring: true }).name, specOf({ tags: { a: 'b' } }).name]).size).toBe(4);
  });

  test('an instance carries its pool’s label key', () => {
    const tagsOf = (kind: 'NodePool' | 'Provisioner') => Object.keys(instanceTags(nodeClassWith(), { kind, name: 'p' }, { name: 'lab', uid: 'u' })).filter((key) => !(key in classTags(nodeClassWith(), { name: 'lab', uid: 'u' })));
    expect([tagsOf('NodePool'), tagsOf('Provisioner')]).toEqual([['karpenter.sh/nodepool'], ['karpenter.sh/provisioner-name']]);
  });
});

describe('fleet requests', () => {
  test('each type in each zone through the roomiest subnet, by launch template', () => {
    const choice = chooseForLaunch(named('m5.large', 'm5.xlarge'), wish({}, capacityTypes('on-demand')));
    const configs = fleetConfigs({
      types: choice.ok ? choice.types : [], templates: new Map([['m5.large', 'small'], ['m5.xlarge', 'large']]),
      subnets: [subnet('s-a1', 'us-east-1a', 5), subnet('s-a2', 'us-east-1a', 9), subnet('s-b', 'us-east-1b', 1)],
    });
    expect(configs).toEqual([
      { launchTemplateName: 'small', overrides: [{ instanceType: 'm5.large', subnetId: 's-a2', zone: 'us-east-1a' }, { instanceType: 'm5.large', subnetId: 's-b', zone: 'us-east-1b' }] },
      { launchTemplateName: 'large', overrides: [{ instanceType: 'm5.xlarge', subnetId: 's-a2', zone: 'us-east-1a' }, { instanceType: 'm5.xlarge', subnetId: 's-b', zone: 'us-east-1b' }] },
    ]);
  });
  test('no more overrides than EC2 takes: the dearest are left out', () => {
    const zones = ['us-east-1a', 'us-east-1b', 'us-east-1c', 'us-east-1d', 'us-east-1e', 'us-east-1f'];
    const many = types.slice(0, 60).map((type) => ({ ...type, offerings: zones.map((zone) => ({ zone, capacityType: 'spot' as const, priceMicrosPerHour: 1, available: true, priceEstimated: false })) }));
    const configs = fleetConfigs({ types: many, templates: new Map(many.map((type) => [type.name, 't'])), subnets: zones.map((zone) => subnet(zone, zone, 1)) });
    expect(configs.map((config) => [config.launchTemplateName, config.overrides.length])).toEqual([['t', 300]]);
    expect(configs[0]?.overrides.at(-1)?.instanceType).toBe(many[49]?.name);
  });
  test('equally roomy subnets are taken by id, whatever their order', () => {
    const pair = [subnet('s-2', 'z', 7), subnet('s-1', 'z', 7)];
    expect([roomiestSubnets(pair), roomiestSubnets([...pair].reverse())].map((map) => map.get('z')?.id)).toEqual(['s-1', 's-1']);
  });
});

describe('canonical JSON', () => {
  test('says a value the same whatever the order of its fields', () => fc.assert(fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
    const reversed = Object.fromEntries(Object.entries(value).reverse());
    const text = canonicalJson(value);
    return canonicalJson(reversed) === text && canonicalJson(JSON.parse(text)) === text;
  })));
  test('refuses what JSON cannot say', () => expect(() => canonicalJson({ a: Number.NaN })).toThrow(TypeError));
});
