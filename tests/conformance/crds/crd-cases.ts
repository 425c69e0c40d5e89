import { nodeClaimObject } from '@dovetail/core-api';

/** A manifest and whether the API accepts it. The refusal must name the words in `refused`. */
export type CrdCase = { readonly name: string; readonly object: object; readonly refused?: RegExp };
/** An existing object, and the change that is then written over it. */
export type CrdUpdate = {
  readonly name: string;
  readonly before: object;
  readonly after: object;
  readonly refused?: RegExp;
};

type Part = Readonly<Record<string, unknown>>;
const classRef = { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' };
const requirement = (
  key: string,
  operator: string,
  values?: readonly string[],
  minValues?: number,
): Part => ({
  requirements: [
    {
      key,
      operator,
      ...(values === undefined ? {} : { values }),
      ...(minValues === undefined ? {} : { minValues }),
    },
  ],
});

const pool = (node: Part = {}, spec: Part = {}, metadata: Part = {}): object => ({
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodePool',
  metadata: { name: 'case' },
  spec: {
    template: { metadata, spec: { nodeClassRef: classRef, requirements: [], ...node } },
    ...spec,
  },
});
const claim = (spec: Part = {}): object => ({
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodeClaim',
  metadata: { name: 'case' },
  spec: { nodeClassRef: classRef, requirements: [], ...spec },
});
const tags = [{ tags: { 'karpenter.sh/discovery': 'c' } }];
const nodeClass = (spec: Part = {}): object => ({
  apiVersion: 'karpenter.k8s.aws/v1',
  kind: 'EC2NodeClass',
  metadata: { name: 'case' },
  spec: {
    role: 'node',
    subnetSelectorTerms: tags,
    securityGroupSelectorTerms: tags,
    amiSelectorTerms: [{ alias: 'al2023@latest' }],
    ...spec,
  },
});
const provisioner = (spec: Part = {}): object => ({
  apiVersion: 'karpenter.sh/v1alpha5',
  kind: 'Provisioner',
  metadata: { name: 'case' },
  spec: { providerRef: { name: 'default' }, ...spec },
});
const template = (spec: Part = {}): object => ({
  apiVersion: 'karpenter.k8s.aws/v1alpha1',
  kind: 'AWSNodeTemplate',
  metadata: { name: 'case' },
  spec: { subnetSelector: { a: '*' }, securityGroupSelector: { a: '*' }, ...spec },
});
const budgets = (budget: Part): Part => ({ disruption: { budgets: [budget] } });
const devices = (...blockDeviceMappings: readonly Part[]): object =>
  nodeClass({ blockDeviceMappings });
const amis = (...amiSelectorTerms: readonly Part[]): object =>
  nodeClass({ amiFamily: 'AL2023', amiSelectorTerms });

const nodePoolCases: readonly CrdCase[] = [
  { name: 'the least pool', object: pool() },
  {
    name: 'a full pool',
    object: pool(
      {
        expireAfter: '336h',
        terminationGracePeriod: '24h',
        taints: [{ key: 'a.b/c', value: 'd', effect: 'NoSchedule' }],
        startupTaints: [{ key: 's', effect: 'NoExecute' }],
        requirements: [
          {
            key: 'karpenter.sh/capacity-type',
            operator: 'In',
            values: ['spot', 'on-demand'],
            minValues: 2,
          },
          { key: 'karpenter.k8s.aws/instance-generation', operator: 'Gt', values: ['4'] },
          { key: 'x', operator: 'Exists' },
        ],
      },
      {
        weight: 10,
        limits: { cpu: 1000, memory: '10Gi', nodes: 5 },
        disruption: {
          consolidationPolicy: 'Balanced',
          consolidateAfter: 'Never',
          budgets: [
            { nodes: '0', schedule: '0 9 * * mon-fri', duration: '8h', reasons: ['Empty'] },
          ],
        },
      },
      { labels: { team: 'a' }, annotations: { 'a/b': 'c d' } },
    ),
  },
  { name: 'a static pool', object: pool({}, { replicas: 3, limits: { nodes: 5 } }) },
  { name: 'no class', object: pool({ nodeClassRef: undefined }), refused: /nodeClassRef/ },
  { name: 'no requirements', object: pool({ requirements: undefined }), refused: /requirements/ },
  {
    name: 'a class without a name',
    object: pool({ nodeClassRef: { ...classRef, name: '' } }),
    refused: /name may not be empty/,
  },
  {
    name: 'a group with a version',
    object: pool({ nodeClassRef: { ...classRef, group: 'karpenter.k8s.aws/v1' } }),
    refused: /group/,
  },
  {
    name: 'the pool label',
    object: pool({}, {}, { labels: { 'karpenter.sh/nodepool': 'x' } }),
    refused: /karpenter\.sh\/nodepool/,
  },
  {
    name: 'the hostname label',
    object: pool({}, {}, { labels: { 'kubernetes.io/hostname': 'x' } }),
    refused: /hostname/,
  },
  {
    name: 'a label of our domain',
    object: pool({}, {}, { labels: { 'karpenter.sh/custom': 'x' } }),
    refused: /label domain "karpenter\.sh"/,
  },
  {
    name: 'a label of a domain that ends like ours',
    object: pool({}, {}, { labels: { 'xkarpenter.sh/custom': 'x' } }),
    refused: /label domain "karpenter\.sh"/,
  },
  {
    name: 'an unknown label of AWS',
    object: pool({}, {}, { labels: { 'karpenter.k8s.aws/custom': 'x' } }),
    refused: /karpenter\.k8s\.aws/,
  },
  {
    name: 'a label value with a blank',
    object: pool({}, {}, { labels: { a: 'b c' } }),
    refused: /labels/,
  },
  {
    name: 'labels of Kubernetes',
    object: pool({}, {}, { labels: { 'kubernetes.io/custom': 'x', 'node.kubernetes.io/x': 'y' } }),
  },
  {
    name: 'a demand for a pool',
    object: pool(requirement('karpenter.sh/nodepool', 'In', ['x'])),
    refused: /karpenter\.sh\/nodepool/,
  },
  {
    name: 'a demand for a hostname',
    object: pool(requirement('kubernetes.io/hostname', 'In', ['x'])),
    refused: /hostname/,
  },
  {
    name: 'a demand for an unknown label of AWS',
    object: pool(requirement('karpenter.k8s.aws/instance-colour', 'Exists')),
    refused: /karpenter\.k8s\.aws/,
  },
  { name: 'a key that is no name', object: pool(requirement('a b', 'Exists')), refused: /key/ },
  {
    name: 'an unknown operator',
    object: pool(requirement('a', 'Like', ['x'])),
    refused: /operator/,
  },
  { name: 'In without values', object: pool(requirement('a', 'In')), refused: /must have a value/ },
  {
    name: 'In with an empty list',
    object: pool(requirement('a', 'In', [])),
    refused: /must have a value/,
  },
  { name: 'NotIn without values', object: pool(requirement('a', 'NotIn')) },
  { name: 'Gt of a text', object: pool(requirement('a', 'Gt', ['many'])), refused: /requirements/ },
  {
    name: 'Lt of a negative number',
    object: pool(requirement('a', 'Lt', ['-1'])),
    refused: /single positive integer/,
  },
  {
    name: 'Gte of two numbers',
    object: pool(requirement('a', 'Gte', ['1', '2'])),
    refused: /single positive integer/,
  },
  { name: 'Lte of one number', object: pool(requirement('a', 'Lte', ['7'])) },
  {
    name: 'fewer values than minValues',
    object: pool(requirement('a', 'In', ['x'], 2)),
    refused: /minValues/,
  },
  {
    name: 'minValues of 51',
    object: pool(requirement('a', 'Exists', undefined, 51)),
    refused: /minValues/,
  },
  { name: 'a taint without effect', object: pool({ taints: [{ key: 'a' }] }), refused: /effect/ },
  {
    name: 'a taint of an unknown effect',
    object: pool({ startupTaints: [{ key: 'a', effect: 'Never' }] }),
    refused: /effect/,
  },
  { name: 'expiry in days', object: pool({ expireAfter: '14d' }), refused: /expireAfter/ },
  { name: 'expiry never', object: pool({ expireAfter: 'Never' }) },
  {
    name: 'a grace period of Never',
    object: pool({ terminationGracePeriod: 'Never' }),
    refused: /terminationGracePeriod/,
  },
  { name: 'a weight of 0', object: pool({}, { weight: 0 }), refused: /weight/ },
  { name: 'a weight of 101', object: pool({}, { weight: 101 }), refused: /weight/ },
  {
    name: 'a limit that is no quantity',
    object: pool({}, { limits: { cpu: 'lots' } }),
    refused: /limits/,
  },
  {
    name: 'a static pool with a weight',
    object: pool({}, { replicas: 1, weight: 1 }),
    refused: /weight/,
  },
  {
    name: 'a static pool with a CPU limit',
    object: pool({}, { replicas: 1, limits: { cpu: 1 } }),
    refused: /limits\.nodes/,
  },
  { name: 'a budget above 100 %', object: pool({}, budgets({ nodes: '101%' })), refused: /nodes/ },
  {
    name: 'a window without a schedule',
    object: pool({}, budgets({ nodes: '1', duration: '1h' })),
    refused: /schedule/,
  },
  {
    name: 'a schedule without a window',
    object: pool({}, budgets({ nodes: '1', schedule: '@daily' })),
    refused: /schedule/,
  },
  {
    name: 'a window of seconds',
    object: pool({}, budgets({ nodes: '1', schedule: '@daily', duration: '30s' })),
    refused: /duration/,
  },
  {
    name: 'a budget for expiry',
    object: pool({}, budgets({ nodes: '1', reasons: ['Expired'] })),
    refused: /reasons/,
  },
  {
    name: 'an unknown policy',
    object: pool({}, { disruption: { consolidationPolicy: 'Always' } }),
    refused: /consolidationPolicy/,
  },
];

const nodeClaimCases: readonly CrdCase[] = [
  { name: 'the least claim', object: claim() },
  {
    name: 'a claim that names its pool',
    object: claim(requirement('karpenter.sh/nodepool', 'In', ['default'])),
  },
  {
    name: 'a claim of a legacy class',
    object: claim({
      nodeClassRef: { ...classRef, kind: 'InlineProvider' },
      ...requirement('karpenter.sh/provisioner-name', 'In', ['default']),
      resources: { requests: { cpu: '1500m', pods: '4' } },
      expireAfter: 'Never',
    }),
  },
  {
    name: 'a claim as Dovetail makes it, of 600 types',
    object: nodeClaimObject({
      name: 'case',
      pool: { kind: 'Provisioner', name: 'default' },
      poolUid: 'u-1',
      classRef: { group: 'karpenter.k8s.aws', kind: 'InlineProvider', name: 'default' },
      labels: { team: 'a' },
      annotations: {},
      taints: [{ key: 'a', effect: 'NoSchedule' }],
      startupTaints: [],
      requirements: [
        {
          key: 'node.kubernetes.io/instance-type',
          operator: 'In',
          values: Array.from({ length: 600 }, (_, index) => `type${index}.24xlarge`),
          minValues: 50,
        },
        { key: 'karpenter.k8s.aws/instance-generation', operator: 'Gte', values: ['3'] },
        { key: 'karpenter.sh/provisioner-name', operator: 'In', values: ['default'] },
      ],
      requests: { cpu: 1500, memory: 512e6, pods: 4 },
      terminationGracePeriodMs: 30_000,
    }),
  },
  {
    name: 'a claim for a hostname',
    object: claim(requirement('kubernetes.io/hostname', 'In', ['x'])),
    refused: /hostname/,
  },
  {
    name: 'a claim of another domain label',
    object: claim(requirement('karpenter.sh/other', 'Exists')),
    refused: /karpenter\.sh/,
  },
  {
    name: 'a claim that asks for no quantity',
    object: claim({ resources: { requests: { cpu: 'x' } } }),
    refused: /requests/,
  },
];

const primary = { networkCardIndex: 0, deviceIndex: 0, interfaceType: 'interface' };

const nodeClassCases: readonly CrdCase[] = [
  { name: 'the least class', object: nodeClass() },
  {
    name: 'a full class',
    object: nodeClass({
      role: undefined,
      instanceProfile: 'p',
      amiFamily: 'AL2023',
      subnetSelectorTerms: [{ id: 'subnet-1' }, ...tags],
      securityGroupSelectorTerms: [{ name: 'nodes' }, ...tags],
      tags: { team: 'a' },
      userData: '#!/bin/sh',
      associatePublicIPAddress: false,
      kubelet: {
        maxPods: 20,
        kubeReserved: { cpu: '100m' },
        evictionHard: { 'memory.available': '5%' },
        evictionSoft: { 'nodefs.available': '10Gi' },
        evictionSoftGracePeriod: { 'nodefs.available': '1m' },
        imageGCHighThresholdPercent: 80,
        imageGCLowThresholdPercent: 60,
      },
      blockDeviceMappings: [
        {
          deviceName: '/dev/xvda',
          rootVolume: true,
          ebs: { volumeSize: '100Gi', volumeType: 'gp3', iops: 3000, encrypted: true },
        },
      ],
      instanceStorePolicy: 'RAID0',
      detailedMonitoring: true,
      metadataOptions: { httpTokens: 'optional' },
      context: 'c',
    }),
  },
  {
    name: 'role and profile',
    object: nodeClass({ instanceProfile: 'p' }),
    refused: /exactly one of/,
  },
  {
    name: 'neither role nor profile',
    object: nodeClass({ role: undefined }),
    refused: /exactly one of/,
  },
  { name: 'an empty role', object: nodeClass({ role: '' }), refused: /role cannot be empty/ },
  {
    name: 'no subnets',
    object: nodeClass({ subnetSelectorTerms: [] }),
    refused: /cannot be empty/,
  },
  {
    name: 'a subnet term of nothing',
    object: nodeClass({ subnetSelectorTerms: [{}] }),
    refused: /expected at least one/,
  },
  {
    name: 'a subnet id that is none',
    object: nodeClass({ subnetSelectorTerms: [{ id: 'vpc-1' }] }),
    refused: /subnetSelectorTerms/,
  },
  {
    name: 'only terms of id and tags',
    object: nodeClass({ subnetSelectorTerms: [{ id: 'subnet-1', tags: { a: 'b' } }] }),
    refused: /mutually exclusive/,
  },
  {
    name: 'one mixed term of several',
    object: nodeClass({
      subnetSelectorTerms: [{ id: 'subnet-1', tags: { a: 'b' } }, { id: 'subnet-2' }],
    }),
  },
  {
    name: 'an empty tag value',
    object: nodeClass({ subnetSelectorTerms: [{ tags: { a: '' } }] }),
    refused: /empty tag/,
  },
  {
    name: 'a group by name and tags',
    object: nodeClass({ securityGroupSelectorTerms: [{ name: 'n', tags: { a: 'b' } }] }),
    refused: /mutually exclusive/,
  },
  {
    name: 'images by name and owner',
    object: amis({ name: 'x', owner: 'self' }, { ssmParameter: '/p' }),
  },
  { name: 'an owner alone', object: amis({ owner: 'self' }), refused: /expected at least one/ },
  {
    name: 'an image by id and name',
    object: amis({ id: 'ami-1', name: 'x' }, { id: 'ami-2' }),
    refused: /'id' is mutually exclusive/,
  },
  {
    name: 'an alias and another term',
    object: amis({ alias: 'al2023@latest' }, { id: 'ami-1' }),
    refused: /'alias' is mutually exclusive/,
  },
  {
    name: 'an alias and a name',
    object: amis({ alias: 'al2023@latest', name: 'x' }),
    refused: /'alias' is mutually exclusive/,
  },
  {
    name: 'an alias without a version',
    object: amis({ alias: 'al2023' }),
    refused: /improperly formatted/,
  },
  {
    name: 'an unknown alias',
    object: amis({ alias: 'ubuntu@latest' }),
    refused: /family is not supported/,
  },
  {
    name: 'a version of Windows',
    object: nodeClass({ amiSelectorTerms: [{ alias: 'windows2022@1' }] }),
    refused: /windows families/,
  },
  {
    name: "another family than the alias's",
    object: nodeClass({ amiFamily: 'Bottlerocket' }),
    refused: /amiFamily must match/,
  },
  { name: 'Custom with an alias', object: nodeClass({ amiFamily: 'Custom' }) },
  {
    name: 'neither family nor alias',
    object: nodeClass({ amiSelectorTerms: [{ id: 'ami-1' }] }),
    refused: /must specify amiFamily/,
  },
  {
    name: 'our own tag',
    object: nodeClass({ tags: { 'karpenter.sh/nodepool': 'x' } }),
    refused: /restricted tag/,
  },
  {
    name: "the cluster's tag",
    object: nodeClass({ tags: { 'kubernetes.io/cluster/c': 'owned' } }),
    refused: /restricted tag/,
  },
  {
    name: 'a device of no size',
    object: devices({ ebs: { encrypted: true } }),
    refused: /snapshotID or volumeSize/,
  },
  {
    name: 'a size in bytes',
    object: devices({ ebs: { volumeSize: '1024' } }),
    refused: /volumeSize/,
  },
  {
    name: 'a size of 59001Gi',
    object: devices({ ebs: { volumeSize: '59001Gi' } }),
    refused: /volumeSize/,
  },
  {
    name: 'sizes in every unit',
    object: devices(
      { ebs: { volumeSize: '59000Gi' } },
      { ebs: { volumeSize: '64000G' } },
      { ebs: { volumeSize: '58Ti' } },
      { ebs: { volumeSize: '64T' } },
    ),
  },
  {
    name: 'an initialisation rate without a snapshot',
    object: devices({ ebs: { volumeSize: '1Gi', volumeInitializationRate: 100 } }),
    refused: /volumeInitializationRate/,
  },
  {
    name: 'two root volumes',
    object: devices({ rootVolume: true }, { rootVolume: true }),
    refused: /rootVolume/,
  },
  {
    name: 'a hop limit of 65',
    object: nodeClass({ metadataOptions: { httpPutResponseHopLimit: 65 } }),
    refused: /httpPutResponseHopLimit/,
  },
  {
    name: 'a reservation of no kind',
    object: nodeClass({ kubelet: { systemReserved: { gpu: '1' } } }),
    refused: /valid keys for systemReserved/,
  },
  {
    name: 'a negative reservation',
    object: nodeClass({ kubelet: { kubeReserved: { cpu: '-1' } } }),
    refused: /negative/,
  },
  {
    name: 'a signal of no kind',
    object: nodeClass({ kubelet: { evictionHard: { 'disk.free': '5%' } } }),
    refused: /valid keys for evictionHard/,
  },
  {
    name: 'soft eviction without grace',
    object: nodeClass({ kubelet: { evictionSoft: { 'memory.available': '5%' } } }),
    refused: /matching evictionSoftGracePeriod/,
  },
  {
    name: 'grace without soft eviction',
    object: nodeClass({ kubelet: { evictionSoftGracePeriod: { 'memory.available': '1m' } } }),
    refused: /matching evictionSoft/,
  },
  {
    name: 'thresholds the wrong way round',
    object: nodeClass({
      kubelet: { imageGCHighThresholdPercent: 50, imageGCLowThresholdPercent: 60 },
    }),
    refused: /must be greater/,
  },
  {
    name: 'interfaces without a primary one',
    object: nodeClass({
      networkInterfaces: [{ networkCardIndex: 1, deviceIndex: 0, interfaceType: 'interface' }],
    }),
    refused: /primary interface/,
  },
  {
    name: 'interfaces of several cards',
    object: nodeClass({
      networkInterfaces: [
        primary,
        { ...primary, deviceIndex: 1, interfaceType: 'efa-only' },
        { networkCardIndex: 1, deviceIndex: 1, interfaceType: 'efa-only' },
      ],
    }),
  },
  {
    name: 'an interface twice',
    object: nodeClass({ networkInterfaces: [primary, { ...primary, interfaceType: 'efa-only' }] }),
    refused: /the same networkCardIndex and deviceIndex twice/,
  },
  {
    name: 'two efa-only interfaces on one card',
    object: nodeClass({
      networkInterfaces: [
        primary,
        { ...primary, deviceIndex: 1, interfaceType: 'efa-only' },
        { ...primary, deviceIndex: 2, interfaceType: 'efa-only' },
      ],
    }),
    refused: /only one efa-only interface/,
  },
  {
    name: 'a placement group by two names',
    object: nodeClass({ placementGroupSelector: { name: 'a', id: 'pg-1' } }),
    refused: /exactly one of/,
  },
  {
    name: 'a reservation term of nothing',
    object: nodeClass({ capacityReservationSelectorTerms: [{ ownerID: '123456789012' }] }),
    refused: /expected at least one/,
  },
];

const legacyCases: readonly CrdCase[] = [
  { name: 'the least Provisioner', object: provisioner() },
  {
    name: 'a full Provisioner',
    object: provisioner({
      requirements: [{ key: 'karpenter.sh/capacity-type', operator: 'In', values: ['spot'] }],
      labels: { intent: 'apps' },
      taints: [{ key: 'team1', effect: 'NoSchedule' }],
      limits: { resources: { cpu: 1000 } },
      ttlSecondsAfterEmpty: 30,
      ttlSecondsUntilExpired: 1800,
      weight: 5,
      kubeletConfiguration: { maxPods: 20 },
    }),
  },
  {
    name: 'a Provisioner with each of the 13 kubelet settings',
    object: provisioner({
      kubeletConfiguration: {
        clusterDNS: ['10.0.1.100'],
        containerRuntime: 'containerd',
        maxPods: 20,
        podsPerCore: 2,
        systemReserved: { cpu: '100m' },
        kubeReserved: { cpu: '200m' },
        evictionHard: { 'memory.available': '5%' },
        evictionSoft: { 'memory.available': '500Mi' },
        evictionSoftGracePeriod: { 'memory.available': '1m' },
        evictionMaxPodGracePeriod: 60,
        imageGCHighThresholdPercent: 85,
        imageGCLowThresholdPercent: 80,
        cpuCFSQuota: true,
      },
    }),
  },
  {
    name: 'a container runtime that is no text',
    object: provisioner({ kubeletConfiguration: { containerRuntime: 7 } }),
    refused: /containerRuntime/,
  },
  {
    name: 'an inline provider',
    object: provisioner({
      providerRef: undefined,
      provider: {
        subnetSelector: { a: '*' },
        securityGroupSelector: { a: '*' },
        anything: { else: 1 },
      },
    }),
  },
  {
    name: 'both provider and template',
    object: provisioner({ provider: {} }),
    refused: /exactly one of provider/,
  },
  {
    name: 'neither provider nor template',
    object: provisioner({ providerRef: undefined }),
    refused: /exactly one of provider/,
  },
  {
    name: 'emptiness beside consolidation',
    object: provisioner({ ttlSecondsAfterEmpty: 30, consolidation: { enabled: true } }),
    refused: /exclude each other/,
  },
  {
    name: 'emptiness beside consolidation switched off',
    object: provisioner({ ttlSecondsAfterEmpty: 30, consolidation: { enabled: false } }),
  },
  {
    name: 'a time as text',
    object: provisioner({ ttlSecondsAfterEmpty: '30' }),
    refused: /ttlSecondsAfterEmpty/,
  },
  {
    name: 'a negative time',
    object: provisioner({ ttlSecondsUntilExpired: -1 }),
    refused: /ttlSecondsUntilExpired/,
  },
  {
    name: 'its own label',
    object: provisioner({ labels: { 'karpenter.sh/provisioner-name': 'x' } }),
    refused: /provisioner-name/,
  },
  { name: 'the least template', object: template() },
  {
    name: 'a template with everything',
    object: template({
      amiFamily: 'Bottlerocket',
      userData: '[a]',
      instanceProfile: 'p',
      amiSelector: { 'aws::name': 'x' },
      tags: { a: 'b' },
      metadataOptions: { httpTokens: 'optional' },
      detailedMonitoring: true,
      blockDeviceMappings: [{ ebs: { volumeSize: '20Gi' } }],
    }),
  },
  { name: 'an unknown family', object: template({ amiFamily: 'Debian' }), refused: /amiFamily/ },
  {
    name: 'an empty selector value',
    object: template({ subnetSelector: { a: '' } }),
    refused: /empty selector/,
  },
  {
    name: 'a launch template',
    object: template({ launchTemplate: 'mine' }),
    refused: /not supported/,
  },
];

/** Manifests for each of the five kinds, good and bad. */
export const crdCases: readonly CrdCase[] = [
  ...nodePoolCases,
  ...nodeClaimCases,
  ...nodeClassCases,
  ...legacyCases,
];

/** Changes of existing objects. */
export const crdUpdates: readonly CrdUpdate[] = [
  {
    name: "a pool's class may be renamed",
    before: pool(),
    after: pool({ nodeClassRef: { ...classRef, name: 'other' } }),
  },
  {
    name: "a pool's class keeps its kind",
    before: pool(),
    after: pool({ nodeClassRef: { ...classRef, kind: 'Other' } }),
    refused: /kind is immutable/,
  },
  {
    name: "a pool's class keeps its group",
    before: pool(),
    after: pool({ nodeClassRef: { ...classRef, group: 'other' } }),
    refused: /group is immutable/,
  },
  {
    name: 'a pool does not become static',
    before: pool(),
    after: pool({}, { replicas: 1 }),
    refused: /Cannot transition/,
  },
  {
    name: 'a static pool scales',
    before: pool({}, { replicas: 1 }),
    after: pool({}, { replicas: 2 }),
  },
  {
    name: 'a claim never changes',
    before: claim(),
    after: claim({ expireAfter: '1h' }),
    refused: /immutable/,
  },
  {
    name: 'a class may go from role to profile',
    before: nodeClass(),
    after: nodeClass({ role: undefined, instanceProfile: 'p' }),
  },
];
