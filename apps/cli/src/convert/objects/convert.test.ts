import { describe, expect, test } from 'vitest';

import {
  convert,
  converted,
  fileOf,
  type Json,
  type Result,
  serve,
} from '../testing/converting.js';

const metadata = { name: 'default' };
const selector = { team: 'a' };
const textsOf = ({ notes }: Result, field: string): readonly string[] =>
  notes.filter((note) => note.field === field).map(({ text }) => text);

const provisioner = (spec: Json): Json => ({
  apiVersion: 'karpenter.sh/v1alpha5',
  kind: 'Provisioner',
  metadata,
  spec: { providerRef: { name: 'default' }, ...spec },
});
const nodeTemplate = (spec: Json = {}): Json => ({
  apiVersion: 'karpenter.k8s.aws/v1alpha1',
  kind: 'AWSNodeTemplate',
  metadata,
  spec: { subnetSelector: selector, securityGroupSelector: selector, ...spec },
});
const terms = [{ tags: selector }];
const betaClass = (spec: Json = {}): Json => ({
  apiVersion: 'karpenter.k8s.aws/v1beta1',
  kind: 'EC2NodeClass',
  metadata,
  spec: {
    amiFamily: 'AL2023',
    role: 'nodes',
    subnetSelectorTerms: terms,
    securityGroupSelectorTerms: terms,
    ...spec,
  },
});
const betaPool = (spec: Json = {}, node: Json = {}, name = 'default'): Json => ({
  apiVersion: 'karpenter.sh/v1beta1',
  kind: 'NodePool',
  metadata: { name, labels: { kept: 'yes' }, annotations: { kept: 'no' } },
  spec: {
    template: {
      metadata: { labels: { intent: 'apps' } },
      spec: {
        nodeClassRef: {
          apiVersion: 'karpenter.k8s.aws/v1beta1',
          kind: 'EC2NodeClass',
          name: 'default',
        },
        requirements: [{ key: 'kubernetes.io/arch', operator: 'In', values: ['arm64'] }],
        ...node,
      },
    },
    ...spec,
  },
});

describe('a Provisioner', () => {
  test('keeps what it said and what it meant without saying it', async () => {
    const given = provisioner({
      labels: { intent: 'apps' },
      annotations: { 'karpenter.sh/do-not-consolidate': 'true' },
      taints: [{ key: 'team', effect: 'NoSchedule' }],
      limits: { resources: { cpu: 1000 } },
      ttlSecondsAfterEmpty: 30,
      ttlSecondsUntilExpired: 1800,
      weight: 7,
    });
    const { objects } = await converted(given, nodeTemplate());
    expect(objects[0]).toMatchObject({
      apiVersion: 'karpenter.sh/v1',
      kind: 'NodePool',
      metadata,
      spec: {
        weight: 7,
        limits: { cpu: 1000 },
        disruption: { consolidationPolicy: 'WhenEmpty', consolidateAfter: '30s' },
        template: {
          metadata: {
            labels: { intent: 'apps' },
            annotations: { 'karpenter.sh/do-not-disrupt': 'true' },
          },
          spec: {
            expireAfter: '1800s',
            taints: [{ key: 'team', effect: 'NoSchedule' }],
            nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
            requirements: ['linux', 'amd64', 'on-demand'].map((value) => ({
              operator: 'In',
              values: [value],
            })),
          },
        },
      },
    });
    await serve(objects);
  });
  test('of no types is told the sizes of its webhooks as Gt 2, not In 2', async () => {
    const found = await converted(provisioner({}), nodeTemplate());
    expect(textsOf(found, 'spec.requirements').join()).toContain('instance-generation Gt 2');
  });
  test('is told of a field that v1 has not', async () => {
    const found = await converted(provisioner({ ttlSecondAfterEmpty: 3 }), nodeTemplate());
    expect(textsOf(found, 'spec.ttlSecondAfterEmpty')).toEqual([
      'left out: v1 has no such field; correct the name or remove it',
    ]);
  });
});

describe('an AWSNodeTemplate', () => {
  test('selects by an ID alone, as v1 asks', async () => {
    const amiSelector = { 'aws::ids': 'ami-1,ami-2', 'aws::owners': 'self', team: 'a' };
    const found = await converted(nodeTemplate({ amiSelector, amiFamily: 'AL2' }));
    expect(found.objects[0]).toMatchObject({
      spec: { amiSelectorTerms: [{ id: 'ami-1' }, { id: 'ami-2' }] },
    });
    expect(textsOf(found, 'spec.amiSelector').join()).toContain('ami-1 stands alone');
    await serve(found.objects);
  });
  test('keeps the hop limit that it had by default', async () => {
    const { objects } = await converted(nodeTemplate());
    expect(objects[0]).toMatchObject({ spec: { metadataOptions: { httpPutResponseHopLimit: 2 } } });
  });
  test('of Ubuntu is served with its images and its root volume', async () => {
    const { objects } = await converted(nodeTemplate({ amiFamily: 'Ubuntu' }));
    expect(objects[0]).toMatchObject({
      spec: { amiFamily: 'AL2', blockDeviceMappings: [{ deviceName: '/dev/sda1' }] },
    });
    expect(await serve(objects)).toBe(1);
  });
  test.each([
    [
      { launchTemplate: 'own', securityGroupSelector: undefined },
      /no launch templates of your own/,
    ],
    [
      { amiSelector: { 'aws::owners': 'self' } },
      /in v1: spec.amiSelectorTerms.*selects by nothing/,
    ],
  ])('with %j is left out with its remedy', async (spec, remedy) => {
    const { objects, err } = await converted(nodeTemplate(spec), {
      ...betaClass(),
      metadata: { name: 'b' },
    });
    expect(objects).toHaveLength(1);
    expect(err).toMatch(remedy);
  });
  test('without a profile needs a flag', async () => {
    const { code, err } = await convert(fileOf(JSON.stringify(nodeTemplate())), { role: '' });
    expect(code).toBe(4);
    expect(err).toContain('--instance-profile');
  });
});

describe('objects of v1beta1', () => {
  test('become those of v1, in their order, with names, labels and annotations', async () => {
    const pool = betaPool({
      disruption: { consolidationPolicy: 'WhenUnderutilized', expireAfter: '24h' },
    });
    const claim = {
      apiVersion: 'karpenter.sh/v1beta1',
      kind: 'NodeClaim',
      metadata: { name: 'a', labels: { 'karpenter.sh/nodepool': 'default' } },
      spec: { nodeClassRef: { name: 'default' }, requirements: [], kubelet: { maxPods: 9 } },
    };
    const found = await converted(claim, pool, betaClass());
    expect(found.objects.map(({ kind }) => kind)).toEqual([
      'NodeClaim',
      'NodePool',
      'EC2NodeClass',
    ]);
    const [before, after, nodeClass] = found.objects;
    expect(before).toMatchObject({ spec: { expireAfter: '24h' } });
    expect(after).toMatchObject({
      metadata: pool['metadata'],
      spec: {
        template: { spec: { expireAfter: '24h', nodeClassRef: { group: 'karpenter.k8s.aws' } } },
        disruption: { consolidationPolicy: 'WhenEmptyOrUnderutilized', consolidateAfter: '0s' },
      },
    });
    expect(after).not.toHaveProperty('spec.disruption.expireAfter');
    expect(nodeClass).toMatchObject({
      spec: {
        amiSelectorTerms: [{ alias: 'al2023@latest' }],
        metadataOptions: { httpPutResponseHopLimit: 2 },
      },
    });
    expect(await serve(found.objects)).toBe(3);
  });
  test('give the kubelet of each pool to a class that no other pool changes', async () => {
    const found = await converted(
      betaPool({}, { kubelet: { maxPods: 20 } }, 'few'),
      betaClass(),
      betaPool({}, {}, 'plain'),
      betaPool({}, { kubelet: { maxPods: 20 } }, 'few-too'),
    );
    expect(
      found.objects.map((object) => [
        (object['metadata'] as Json)['name'],
        (object['spec'] as Json)['kubelet'],
      ]),
    ).toEqual([
      ['few', undefined],
      ['default', { maxPods: 20 }],
      ['default-plain', undefined],
      ['plain', undefined],
      ['few-too', undefined],
    ]);
    expect(found.objects[3]).toMatchObject({
      spec: { template: { spec: { nodeClassRef: { name: 'default-plain' } } } },
    });
    expect(await serve(found.objects)).toBe(5);
  });
});

describe('a class of AL2', () => {
  const shown = async (object: Json, minor: number): Promise<string> => {
    const { err } = await convert(fileOf(JSON.stringify(object)), {
      kubernetes: { major: 1, minor },
    });
    return err;
  };
  const none = 'spec.amiFamily: AL2 has no images for Kubernetes 1.33';
  test.each([
    ['AWSNodeTemplate', nodeTemplate({ amiFamily: 'AL2' })],
    ['EC2NodeClass', betaClass({ amiFamily: 'AL2' })],
  ])('%s is told that it has no images from Kubernetes 1.33 on', async (_kind, object) => {
    expect(await shown(object, 33)).toContain(none);
    expect(await shown(object, 32)).not.toContain('no images');
  });
  test.each([
    ['AWSNodeTemplate', nodeTemplate({ amiFamily: 'AL2', amiSelector: { own: 'yes' } })],
    ['EC2NodeClass', betaClass({ amiFamily: 'AL2', amiSelectorTerms: [{ id: 'ami-1' }] })],
  ])('%s with images of its own is not', async (_kind, object) =>
    expect(await shown(object, 33)).not.toContain('no images'),
  );
});

describe('a field that v1 has not', () => {
  const claim = (status: Json): Json => ({
    apiVersion: 'karpenter.sh/v1beta1',
    kind: 'NodeClaim',
    metadata,
    spec: { nodeClassRef: { name: 'default' }, requirements: [] },
    status,
  });
  const condition = { type: 'Drifted', status: 'True' };
  test.each<[string, Json, string, Json]>([
    [
      'of a claim',
      claim({ conditions: [{ ...condition, severity: 'Info' }] }),
      'status.conditions[0].severity',
      { status: { conditions: [condition] } },
    ],
    [
      'of a pool',
      betaPool({ disruption: { consolidationPolicy: 'WhenEmpty', own: 'x' } }),
      'spec.disruption.own',
      { spec: { disruption: { consolidationPolicy: 'WhenEmpty' } } },
    ],
    [
      'of a class',
      betaClass({ metadataOptions: { httpToken: 'required' } }),
      'spec.metadataOptions.httpToken',
      { spec: { metadataOptions: { httpPutResponseHopLimit: 2 } } },
    ],
  ])('%s is left out and told once', async (_of, given, field, kept) => {
    const found = await converted(given);
    expect(textsOf(found, field)).toEqual([expect.stringContaining('left out')]);
    expect(found.objects[0]).toMatchObject(kept);
    expect(JSON.stringify(found.objects)).not.toMatch(/severity|"own"|httpToken"/);
  });
});

test('an object of a list is refused at its own line', async () => {
  const file = fileOf(
    [
      'apiVersion: v1',
      'kind: List',
      'items:',
      `- ${JSON.stringify(betaClass())}`,
      `- ${JSON.stringify(betaPool({}, { requirements: [{ key: 'a' }] }))}`,
      `- ${JSON.stringify(nodeTemplate())}`,
    ].join('\n'),
  );
  const { err } = await convert(file);
  expect(err).toMatch(/given\.yaml:5: NodePool default in v1: .*operator/);
  expect(err).toMatch(/given\.yaml:6: metadata\.name: another object is EC2NodeClass default/);
});
test('each changed field is a comment above its object, and a line on standard error', async () => {
  const { out, err } = await convert(fileOf(JSON.stringify(provisioner({ weight: 3 }))));
  expect(out).toMatch(/^# kind: .*\n(# .*\n)+apiVersion: karpenter.sh\/v1\n/);
  expect(err).toContain('note: NodePool/default: spec.providerRef: is nodeClassRef now');
});
test('an older object without a form in v1 is left out and named', async () => {
  const machine = { apiVersion: 'karpenter.sh/v1alpha5', kind: 'Machine', metadata };
  const { objects, err } = await converted(machine, betaClass());
  expect(objects).toHaveLength(1);
  expect(err).toContain('Machine of karpenter.sh/v1alpha5');
});
test('pods that ask for a Provisioner by its label ask for the NodePool', async () => {
  const asked = 'karpenter.sh/provisioner-name';
  const spec = {
    nodeSelector: { [asked]: 'a' },
    topologySpreadConstraints: [{ topologyKey: asked }],
  };
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata, spec };
  const { objects, notes } = await converted(pod);
  const now = 'karpenter.sh/nodepool';
  expect(objects[0]).toEqual({
    ...pod,
    spec: { nodeSelector: { [now]: 'a' }, topologySpreadConstraints: [{ topologyKey: now }] },
  });
  expect(notes).toHaveLength(2);
});
test('an item of a typed list gets the kind that its list has', async () => {
  const list = {
    apiVersion: 'karpenter.sh/v1beta1',
    kind: 'NodePoolList',
    items: [{ ...betaPool(), kind: undefined, apiVersion: undefined }],
  };
  const { objects } = await converted(list);
  expect(objects).toMatchObject([{ apiVersion: 'karpenter.sh/v1', kind: 'NodePool' }]);
});
