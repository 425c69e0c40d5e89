/**
 * One value of every message with every field set, for golden bytes and round trips. Change it only
 * together with a new golden folder.
 */
import type { NodeClaim, NodeClass, Pool } from '@dovetail/core-api';
import type { DaemonSet, Node, Pod } from '@dovetail/core-kube-model';
import type { Plan, Reason } from '@dovetail/core-scheduling';

import type {
  ClassCatalog,
  Decision,
  PendingBatch,
  PlanMessage,
  PlanReply,
  PlanRequest,
  StateRecord,
  StateValue,
  UnavailableOffering,
} from '../messages.js';

export const samplePod: Pod = {
  uid: 'pod-uid-1',
  namespace: 'shop',
  name: 'web-1',
  resourceVersion: '100',
  labels: { app: 'web', tier: 'front' },
  annotations: { 'karpenter.sh/do-not-disrupt': 'true' },
  createdMs: 1_700_000_000_000,
  deletionMs: 1_700_000_100_000,
  phase: 'Pending',
  startMs: 1_700_000_000_500,
  ready: true,
  unschedulable: true,
  nodeName: 'node-1',
  nominatedNodeName: 'node-2',
  owner: { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'rs-1' },
  mirror: true,
  priority: -10,
  priorityClassName: 'low',
  schedulerName: 'default-scheduler',
  schedulingGates: ['gate'],
  schedulingGroup: true,
  requests: { cpu: 1500, memory: 2 ** 40, pods: 1 },
  nodeSelector: { 'kubernetes.io/arch': 'arm64' },
  requiredNodeAffinity: [
    {
      matchExpressions: [{ key: 'zone', operator: 'In', values: ['a', 'b'], minValues: 2 }],
      matchFields: [{ key: 'metadata.name', operator: 'NotIn', values: ['x'] }],
    },
  ],
  preferredNodeAffinity: [
    {
      weight: 5,
      term: { matchExpressions: [{ key: 'gen', operator: 'Gt', values: ['4'] }], matchFields: [] },
    },
  ],
  tolerations: [
    { operator: 'Exists' },
    { key: 'k', operator: 'Equal', value: 'v', effect: 'NoExecute', tolerationSeconds: 300 },
  ],
  topologySpread: [
    {
      maxSkew: 1,
      topologyKey: 'zone',
      whenUnsatisfiable: 'DoNotSchedule',
      selector: { requirements: [{ key: 'app', operator: 'In', values: ['web'] }] },
      minDomains: 3,
      nodeAffinityPolicy: 'Honor',
      nodeTaintsPolicy: 'Ignore',
    },
  ],
  requiredPodAffinity: [
    {
      topologyKey: 'zone',
      selector: { requirements: [] },
      namespaces: ['a'],
      namespaceSelector: { requirements: [{ key: 't', operator: 'Exists', values: [] }] },
    },
  ],
  preferredPodAffinity: [{ weight: 1, term: { topologyKey: 'host', namespaces: [] } }],
  requiredPodAntiAffinity: [
    {
      topologyKey: 'host',
      selector: { requirements: [{ key: 'app', operator: 'DoesNotExist', values: [] }] },
      namespaces: [],
    },
  ],
  preferredPodAntiAffinity: [{ weight: 100, term: { topologyKey: 'host', namespaces: ['b'] } }],
  hostPorts: [{ ip: '0.0.0.0', port: 8080, protocol: 'TCP' }],
  volumes: [
    { claimName: 'data' },
    { claimName: 'web-1-tmp', ephemeral: { storageClassName: 'fast' } },
  ],
  resourceClaims: ['gpu'],
  terminationGracePeriodSeconds: 30,
};
export const sampleNode: Node = {
  uid: 'node-uid-1',
  name: 'ip-10-0-0-1.ec2.internal',
  resourceVersion: '7',
  labels: { a: 'b' },
  annotations: { 'dovetail.sh/promise': '{}' },
  createdMs: 1,
  deletionMs: 2,
  finalizers: ['karpenter.sh/termination'],
  providerId: 'aws:///us-east-1a/i-0123456789abcdef0',
  taints: [
    { key: 'karpenter.sh/disrupted', effect: 'NoSchedule' },
    { key: 'x', value: 'y', effect: 'PreferNoSchedule' },
  ],
  cordoned: true,
  ready: true,
  capacity: { cpu: 2000 },
  allocatable: { cpu: 1930 },
  internalIp: '10.0.0.1',
  kubeletVersion: 'v1.34.3',
};
const classRef = { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' } as const;
const sampleClaim: NodeClaim = {
  uid: 'claim-uid-1',
  name: 'default-abc',
  resourceVersion: '9',
  createdMs: 5,
  deletionMs: 6,
  finalizers: ['karpenter.sh/termination'],
  labels: { l: '1' },
  annotations: { 'dovetail.sh/admission': '1.2/p/bin-0' },
  pool: { kind: 'NodePool', name: 'default' },
  classRef,
  requirements: [{ key: 'k', operator: 'DoesNotExist', values: [] }],
  requests: { cpu: 100 },
  taints: [],
  startupTaints: [{ key: 's', effect: 'NoExecute' }],
  expireAfterMs: 720 * 3_600_000,
  terminationGracePeriodMs: 60_000,
  nodeName: 'n',
  providerId: 'p',
  imageId: 'ami-1',
  capacity: { cpu: 2000 },
  allocatable: { cpu: 1900 },
  conditions: [
    { type: 'Launched', status: 'True', reason: 'Launched', message: '', lastTransitionMs: 8 },
  ],
  lastPodEventMs: 77,
};
const samplePool: Pool = {
  identity: { kind: 'Provisioner', name: 'default' },
  uid: 'pool-uid-1',
  resourceVersion: '3',
  generation: 4,
  createdMs: 5,
  deletionMs: 6,
  weight: 50,
  limits: { cpu: 1_000_000, nodes: 10 },
  labels: { team: 'a' },
  annotations: { note: 'ü' },
  taints: [],
  startupTaints: [],
  requirements: [{ key: 'f', operator: 'In', values: ['c', 'm'], minValues: 2 }],
  classRef,
  hash: 'h1',
  ready: true,
  expireAfterMs: 1_800_000,
  terminationGracePeriodMs: 5,
  disruption: {
    policy: 'WhenEmptyOrUnderutilized',
    consolidateAfterMs: 0,
    budgets: [
      { nodes: { percent: 10 } },
      {
        nodes: { count: 0 },
        reasons: ['Empty', 'Drifted', 'Underutilized'],
        schedule: { cron: '0 9 * * 1-5', durationMs: 28_800_000 },
      },
    ],
  },
  replicas: 0,
  maxPriceMicrosPerHour: 1_000_000,
  maxLaunchesPerMinute: 20,
  kubelet: { maxPods: 20 },
};
const sampleClass: NodeClass = {
  ref: classRef,
  uid: 'class-uid-1',
  resourceVersion: '2',
  generation: 1,
  deletionMs: 9,
  ready: true,
  hash: 'h2',
  subnetSelectorTerms: [{ tags: { 'karpenter.sh/discovery': 'lab' } }, { id: 'subnet-1' }],
  securityGroupSelectorTerms: [{ name: 'nodes' }],
  amiFamily: 'AL2023',
  amiSelectorTerms: [
    { alias: 'al2023@latest' },
    { owner: 'self', name: 'x' },
    { ssmParameter: '/p' },
  ],
  role: 'node-role',
  instanceProfile: 'profile',
  userData: '#!/bin/sh\n',
  tags: { cost: 'a' },
  kubelet: {
    clusterDNS: ['10.0.0.10'],
    maxPods: 110,
    podsPerCore: 0,
    systemReserved: { cpu: '100m' },
    kubeReserved: {},
    evictionHard: { 'memory.available': '5%' },
    evictionSoft: {},
    evictionSoftGracePeriod: {},
    evictionMaxPodGracePeriod: 1,
    imageGCHighThresholdPercent: 85,
    imageGCLowThresholdPercent: 80,
    cpuCFSQuota: false,
  },
  blockDeviceMappings: [
    {
      deviceName: '/dev/xvda',
      rootVolume: true,
      ebs: {
        deleteOnTermination: true,
        encrypted: false,
        iops: 3000,
        kmsKeyId: 'k',
        snapshotId: 's',
        throughput: 125,
        volumeInitializationRate: 100,
        volumeSizeBytes: 20 * 2 ** 30,
        volumeType: 'gp3',
      },
    },
  ],
  instanceStorePolicy: 'RAID0',
  detailedMonitoring: true,
  metadataOptions: {
    httpEndpoint: 'enabled',
    httpProtocolIpv6: 'disabled',
    httpPutResponseHopLimit: 1,
    httpTokens: 'required',
  },
  associatePublicIpAddress: false,
  context: 'c',
  status: {
    subnets: [{ id: 'subnet-1', zone: 'us-east-1a', zoneId: 'use1-az1' }],
    securityGroups: [{ id: 'sg-1', name: 'nodes' }],
    amis: [{ id: 'ami-1', name: 'al2023', deprecated: false, arch: 'arm64', variant: 'nvidia' }],
    instanceProfile: 'p',
  },
};
const { uid: _uid, ...podRest } = samplePod;
const sampleDaemonSet: DaemonSet = {
  uid: 'ds-1',
  namespace: 'kube-system',
  name: 'proxy',
  resourceVersion: '1',
  template: { ...podRest, uid: 'ds-1', name: '' },
};
const sampleReason: Reason = {
  code: 'resources-too-large',
  message: 'cpu 200 is more than the largest type has',
  values: { resource: 'cpu', requested: '200' },
  subject: 'NodePool/default',
  fell: { count: 10, of: 10 },
  remedy: 'ask for 192',
};

/** One of each kind of the state feed. */
const sampleStates: readonly StateValue[] = [
  { kind: 'pod', value: samplePod },
  { kind: 'node', value: sampleNode },
  { kind: 'claim', value: sampleClaim },
  { kind: 'pool', value: samplePool },
  { kind: 'nodeclass', value: sampleClass },
  { kind: 'daemonset', value: sampleDaemonSet },
  {
    kind: 'pdb',
    value: {
      uid: 'u',
      namespace: 'n',
      name: 'b',
      resourceVersion: '1',
      selector: { requirements: [] },
      minAvailable: '50%',
      maxUnavailable: '1',
      unhealthyPodEvictionPolicy: 'AlwaysAllow',
      disruptionsAllowed: 2,
    },
  },
  {
    kind: 'namespace',
    value: { uid: 'u', name: 'shop', resourceVersion: '1', labels: { a: 'b' } },
  },
  {
    kind: 'pv',
    value: {
      uid: 'u',
      name: 'v',
      resourceVersion: '1',
      deletionMs: 3,
      nodeAffinity: [{ matchExpressions: [], matchFields: [] }],
      driver: 'ebs.csi.aws.com',
      local: true,
    },
  },
  {
    kind: 'pvc',
    value: {
      uid: 'u',
      namespace: 'n',
      name: 'c',
      resourceVersion: '1',
      deletionMs: 2,
      phase: 'Bound',
      volumeName: 'v',
      bindCompleted: true,
      storageClassName: 'gp3',
    },
  },
  {
    kind: 'storageclass',
    value: {
      uid: 'u',
      name: 's',
      resourceVersion: '1',
      createdMs: 4,
      isDefault: true,
      provisioner: 'ebs.csi.aws.com',
      bindingMode: 'WaitForFirstConsumer',
      allowedTopologies: [],
    },
  },
  {
    kind: 'csinode',
    value: { uid: 'u', name: 'n', resourceVersion: '1', limits: { 'ebs.csi.aws.com': 25 } },
  },
  {
    kind: 'promise',
    value: {
      holderUid: 'u',
      holderKind: 'NodeClaim',
      holderName: 'c',
      podUids: ['a', 'b'],
      admission: { epoch: 3, number: 12 },
      untilMs: 99,
      reserved: { cpu: 1 },
    },
  },
  {
    kind: 'verdict',
    value: {
      podUid: 'u',
      outcome: 'refused',
      planId: 'p',
      binId: 'bin-0',
      admission: { epoch: 3, number: 12 },
      reasons: [sampleReason],
      atMs: 7,
    },
  },
  { kind: 'admission', value: { epoch: 3, number: 0 } },
];
export const sampleRecords: readonly StateRecord[] = [
  ...sampleStates.map((state): StateRecord => ({
    kind: 'set',
    uid: state.kind === 'admission' ? 'head' : `${state.kind}-uid`,
    state,
    generation: '1.1',
  })),
  { kind: 'gone', stateKind: 'claim', uid: 'claim-uid', generation: '2.9' },
];

const options = [
  {
    instanceType: 'm5.large',
    zone: 'us-east-1a',
    capacityType: 'spot',
    priceMicrosPerHour: 35_000,
  },
  {
    instanceType: 'm5.xlarge',
    zone: 'us-east-1b',
    capacityType: 'reserved',
    priceMicrosPerHour: 0,
    reservationId: 'cr-1',
  },
] as const;
export const samplePlan: Plan = {
  stateSequence: 41,
  catalogRevision: 'r1',
  admissionHead: '3.11',
  seed: 42,
  steps: 17,
  newNodes: [
    {
      id: 'bin-0',
      pool: { kind: 'NodePool', name: 'default' },
      options,
      requirements: [{ key: 'k', operator: 'In', values: ['v'] }],
      labels: { l: '1' },
      taints: [{ key: 't', effect: 'NoSchedule' }],
      requests: { cpu: 1500 },
      podUids: ['pod-uid-1'],
      topologyGroups: ['zone/web'],
      minValuesRelaxed: true,
      notes: [sampleReason],
    },
    {
      id: 'bin-1',
      pool: { kind: 'Provisioner', name: 'default' },
      options: [options[1], options[0]],
      requirements: [],
      labels: {},
      taints: [],
      requests: {},
      podUids: ['pod-uid-2'],
      topologyGroups: [],
      minValuesRelaxed: false,
      notes: [],
    },
  ],
  placements: [{ nodeName: 'n', nodeUid: 'nu', podUids: ['pod-uid-3'], topologyGroups: ['g'] }],
  unplaced: [
    { podUid: 'pod-uid-4', reasons: [sampleReason, { ...sampleReason, code: 'no-pools' }] },
  ],
  priceMicrosPerHour: 35_000,
  bound: { kind: 'assignment-lp', priceMicrosPerHour: 30_000 },
  stats: { pods: 4, classes: 3, instanceTypes: 600 },
};
const position = { incarnation: '2026-11-21T14:00:00Z', sequence: 41 };
export const samplePlanMessage: PlanMessage = {
  id: '0123456789abcdef',
  cause: { kind: 'pending', group: 'g1', round: '3.7' },
  plan: samplePlan,
  statePosition: position,
  admissionSeen: { epoch: 3, number: 11 },
  createdMs: 1_700_000_000_000,
  solver: 'solver-1',
  solveMs: 12,
};
export const sampleReplacement: PlanMessage = {
  ...samplePlanMessage,
  cause: { kind: 'replacement', nodeName: 'n', nodeUid: 'nu', reason: 'interrupted' },
};
export const sampleBatch: PendingBatch = {
  group: 'g1',
  podUids: ['a', 'b'],
  round: '3.7',
  statePosition: position,
  cutAtMs: 10,
  youngestMs: 9,
};
export const sampleRequest: PlanRequest = {
  podUids: ['a'],
  withoutNodes: ['n'],
  commit: { nodeName: 'n', nodeUid: 'nu', reason: 'expired' },
  maxPriceMicrosPerHour: 5,
  budgetMs: 200,
};
export const sampleReply: PlanReply = { planId: 'p', plan: samplePlan, statePosition: position };
export const sampleCatalog: ClassCatalog = {
  classUid: 'class-uid-1',
  revision: 'r1',
  part: 0,
  parts: 1,
  instanceTypes: [
    {
      name: 'm5.large',
      requirements: new Map([
        ['kubernetes.io/arch', { kind: 'in', values: new Set(['amd64']), present: true }],
        [
          'x',
          {
            kind: 'notIn',
            values: new Set(['a', 'b']),
            gte: -3,
            lte: 8,
            present: false,
            minValues: 1,
          },
        ],
      ]),
      offerings: [
        {
          zone: 'us-east-1a',
          zoneId: 'use1-az1',
          capacityType: 'reserved',
          priceMicrosPerHour: 96_000,
          available: true,
          reservation: { id: 'cr-1', remaining: 3 },
          priceEstimated: true,
        },
      ],
      capacity: { cpu: 2000, memory: 8 * 2 ** 30 },
      allocatable: { cpu: 1930 },
    },
  ],
};
export const sampleUnavailable: UnavailableOffering = {
  instanceType: 'm5.large',
  zone: 'us-east-1a',
  capacityType: 'spot',
  untilMs: 5,
  awsCode: 'InsufficientInstanceCapacity',
  failures: 2,
};
export const sampleDecision: Decision = {
  id: 'd1',
  kind: 'launch-failed',
  atMs: 1_700_000_000_000,
  source: 'launcher',
  pool: { kind: 'NodePool', name: 'default' },
  summary: 'm5.large in us-east-1a is out of capacity',
  objects: [
    { kind: 'NodeClaim', name: 'c', uid: 'u' },
    { kind: 'Pod', name: 'web-1', namespace: 'shop' },
  ],
  reasons: [sampleReason],
  alternatives: [{ what: 'm5.xlarge', priceMicrosPerHour: 9, reason: 'dearer' }],
  priceMicrosPerHour: 1,
  lowerBoundMicrosPerHour: 1,
  priceEstimated: false,
  planId: 'p',
  claimName: 'c',
  instanceId: 'i-1',
  instanceType: 'm5.large',
  zone: 'us-east-1a',
  capacityType: 'on-demand',
  facts: { a: 'b' },
};
