import { describe, expect, test } from 'vitest';

import type { NodeClass } from '../node-class.js';
import { awsNodeTemplateOf, inlineProviderOf } from './legacy-class.js';
import { metadata, type Part, valueOf } from './testing/manifests.js';
import { wholeInlineProvider, wholeNodeTemplate } from './testing/whole.js';
import { mistakenKinds, mistakenNulls } from './testing/wrong-kinds.js';

const v34 = { major: 1, minor: 34 };
const template = (spec: Part = {}): object => ({
  metadata,
  spec: { subnetSelector: { a: '*' }, securityGroupSelector: { a: '*' }, ...spec },
});
const legacy = (spec: Part, kubernetes = v34): NodeClass =>
  valueOf(awsNodeTemplateOf(template(spec), kubernetes));

describe('an AWSNodeTemplate', () => {
  test.each([
    [1, 32, 'AL2', 'al2@latest'],
    [1, 33, 'AL2023', 'al2023@latest'],
    [2, 0, 'AL2023', 'al2023@latest'],
  ])('without a family on Kubernetes %i.%i is %s', (major, minor, family, alias) =>
    expect(legacy({}, { major, minor })).toMatchObject({
      amiFamily: family,
      amiSelectorTerms: [{ alias }],
    }),
  );
  test("of family Ubuntu boots Canonical's images like AL2 from /dev/sda1", () =>
    expect(legacy({ amiFamily: 'Ubuntu' })).toMatchObject({
      amiFamily: 'AL2',
      blockDeviceMappings: [{ deviceName: '/dev/sda1', rootVolume: true }],
      amiSelectorTerms: [
        {
          ssmParameter:
            '/aws/service/canonical/ubuntu/eks/20.04/1.34/stable/current/amd64/hvm/ebs-gp2/ami-id',
        },
        { ssmParameter: expect.stringContaining('arm64') },
      ],
    }));
  test('of family Ubuntu keeps the images and devices that it names', () => {
    const own = { deviceName: '/dev/sdb', ebs: { volumeSize: '5Gi' } };
    const read = legacy({
      amiFamily: 'Ubuntu',
      amiSelector: { 'aws::ids': 'ami-1' },
      blockDeviceMappings: [own],
    });
    expect(read.amiFamily).toBe('AL2');
    expect(read.amiSelectorTerms).toEqual([{ id: 'ami-1' }]);
    expect(read.blockDeviceMappings.map(({ deviceName }) => deviceName)).toEqual(['/dev/sdb']);
  });
  test.each<[Part, object[]]>([
    [{ 'kubernetes.io/cluster/c': '*' }, [{ tags: { 'kubernetes.io/cluster/c': '*' } }]],
    [{ Name: 'a, b' }, [{ tags: { Name: 'a' } }, { tags: { Name: 'b' } }]],
    [{ 'aws-ids': 'subnet-1,subnet-2' }, [{ id: 'subnet-1' }, { id: 'subnet-2' }]],
    [{ 'aws::ids': 'subnet-1' }, [{ id: 'subnet-1' }]],
    [
      { a: '1,2', b: '3,4' },
      [
        { tags: { a: '1', b: '3' } },
        { tags: { a: '1', b: '4' } },
        { tags: { a: '2', b: '3' } },
        { tags: { a: '2', b: '4' } },
      ],
    ],
    [{ 'aws:eks:cluster-name': 'c' }, [{ tags: { 'aws:eks:cluster-name': 'c' } }]],
  ])('selector %j selects %j', (selector, terms) =>
    expect(legacy({ subnetSelector: selector, securityGroupSelector: selector })).toMatchObject({
      subnetSelectorTerms: terms,
      securityGroupSelectorTerms: terms,
    }),
  );
  test('selects images by name and owner', () =>
    expect(
      legacy({ amiSelector: { 'aws::name': 'mine-*', 'aws::owners': 'self,amazon' } })
        .amiSelectorTerms,
    ).toEqual([
      { name: 'mine-*', owner: 'self' },
      { name: 'mine-*', owner: 'amazon' },
    ]));
  test('lets two hops reach the metadata service', () =>
    expect(legacy({}).metadataOptions.httpPutResponseHopLimit).toBe(2));
  test('needs no role: the installation has a default profile', () =>
    expect([legacy({}).role, legacy({}).instanceProfile]).toEqual([undefined, undefined]));
  test.each<[string, Part, string]>([
    [
      "a launch template beside the groups that are the template's",
      { launchTemplate: 'lt' },
      'spec.securityGroupSelector',
    ],
    [
      "a launch template that is named like Dovetail's own",
      { launchTemplateName: 'dovetail/1' },
      'spec.launchTemplateName',
    ],
    ['no subnets', { subnetSelector: {} }, 'spec.subnetSelector'],
    ['Custom without images', { amiFamily: 'Custom' }, 'spec.amiSelector'],
    [
      'an unknown special key',
      { subnetSelector: { 'aws::zone': 'a' } },
      'spec.subnetSelector.aws::zone',
    ],
    [
      'owners of subnets',
      { subnetSelector: { 'aws::owners': 'self' } },
      'spec.subnetSelector.aws::owners',
    ],
    ['an empty value', { securityGroupSelector: { a: ' , ' } }, 'spec.securityGroupSelector.a'],
    [
      'too many combinations',
      { subnetSelector: { a: '1,2,3,4,5,6,7,8,9,10,11', b: '1,2,3,4,5,6,7,8,9,10' } },
      'spec.subnetSelector',
    ],
  ])('with %s is refused by field', (_name, spec, field) =>
    expect(awsNodeTemplateOf(template(spec), v34)).toMatchObject({ ok: false, field }),
  );
});

describe('an inline provider', () => {
  const provisioner = (spec: Part, status: Part = {}): object => ({ metadata, spec, status });
  test("is a class of its own kind and the Provisioner's name", () =>
    expect(
      valueOf(
        inlineProviderOf(
          provisioner(
            {
              provider: {
                apiVersion: 'extensions.karpenter.sh/v1alpha1',
                kind: 'AWS',
                subnetSelector: { a: '*' },
                securityGroupSelector: { a: '*' },
                instanceProfile: 'p',
              },
              kubeletConfiguration: { maxPods: 9 },
            },
            {
              conditions: [{ type: 'NodeClassReady', status: 'True' }],
              provider: { subnets: [{ id: 'subnet-1', zone: 'z' }] },
            },
          ),
          v34,
        ),
      ),
    ).toMatchObject({
      ref: { group: 'karpenter.k8s.aws', kind: 'InlineProvider', name: 'default' },
      uid: 'u-1',
      ready: true,
      amiFamily: 'AL2023',
      instanceProfile: 'p',
      kubelet: { maxPods: 9 },
      status: { subnets: [{ id: 'subnet-1', zone: 'z' }] },
    }));
  test('is absent where the Provisioner has none', () =>
    expect(
      valueOf(inlineProviderOf(provisioner({ providerRef: { name: 'x' } }), v34)),
    ).toBeUndefined());
  test('names its fields with their whole path', () =>
    expect(
      inlineProviderOf(provisioner({ provider: { subnetSelector: { a: '*' } } }), v34),
    ).toMatchObject({ ok: false, field: 'spec.provider.securityGroupSelector' }));
});

describe("a launch template of the user's own", () => {
  const own = (spec: Part) =>
    awsNodeTemplateOf({ metadata, spec: { subnetSelector: { a: '*' }, ...spec } }, v34);

  test.each(['launchTemplate', 'launchTemplateName'])('is read from %s', (name) =>
    expect(own({ [name]: 'mine' })).toMatchObject({
      ok: true,
      value: {
        launchTemplateName: 'mine',
        amiFamily: 'Custom',
        amiSelectorTerms: [],
        securityGroupSelectorTerms: [],
      },
    }),
  );
  test('counts in the hash: another one is drift', () => {
    const hashes = ['mine', 'other'].map((name) => valueOf(own({ launchTemplate: name })).hash);
    expect(new Set(hashes).size).toBe(2);
  });
  test.each([
    ['amiFamily', 'AL2023'],
    ['amiSelector', { a: 'b' }],
    ['blockDeviceMappings', []],
    ['instanceProfile', 'profile'],
    ['metadataOptions', { httpTokens: 'required' }],
    ['securityGroupSelector', { a: 'b' }],
    ['userData', 'echo'],
  ])('leaves no room for %s beside it', (field, value) =>
    expect(own({ launchTemplate: 'mine', [field]: value })).toMatchObject({
      ok: false,
      field: `spec.${field}`,
    }),
  );
});

test('a selector that is missing is refused: it would launch into every subnet', () => {
  for (const name of ['subnetSelector', 'securityGroupSelector'])
    expect(awsNodeTemplateOf(template({ [name]: {} }), v34)).toMatchObject({
      ok: false,
      field: `spec.${name}`,
    });
});

test.each<[string, object, string]>([
  ['Custom without images', { amiFamily: 'Custom' }, 'spec.amiSelector'],
  ['an unknown family', { amiFamily: 'Debian' }, 'spec.amiFamily'],
  ['a profile that is no text', { instanceProfile: 7 }, 'spec.instanceProfile'],
  ['monitoring in a text', { detailedMonitoring: 'yes' }, 'spec.detailedMonitoring'],
  [
    "Dovetail's own tag",
    { tags: { 'karpenter.sh/nodepool': 'x' } },
    'spec.tags.karpenter.sh/nodepool',
  ],
  [
    'a device of no size',
    { blockDeviceMappings: [{ ebs: {} }] },
    'spec.blockDeviceMappings[0].ebs',
  ],
])('a template with %s is refused by field', (_name, spec, field) =>
  expect(awsNodeTemplateOf(template(spec as Part), v34)).toMatchObject({ ok: false, field }),
);

test.each([
  ['AL2', 'al2@latest'],
  ['Bottlerocket', 'bottlerocket@latest'],
  ['Windows2022', 'windows2022@latest'],
])('a template of family %s boots %s unless it selects images', (amiFamily, alias) => {
  expect(legacy({ amiFamily }).amiSelectorTerms).toEqual([{ alias }]);
  expect(legacy({ amiFamily, amiSelector: { 'aws::ids': 'ami-1' } }).amiSelectorTerms).toEqual([
    { id: 'ami-1' },
  ]);
});

describe.each([
  ['an AWSNodeTemplate', wholeNodeTemplate, awsNodeTemplateOf],
  ['an inline provider', wholeInlineProvider, inlineProviderOf],
])('each field of %s', (_name, whole, readFor) => {
  const read = (raw: unknown) => readFor(raw, v34);

  test('of another kind is refused by its path, with its value and a remedy', () =>
    expect(mistakenKinds(whole, read)).toEqual([]));

  test('that is null counts as absent', () => expect(mistakenNulls(whole, read)).toEqual([]));
});
