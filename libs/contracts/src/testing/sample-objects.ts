import type { NodeClaim, NodeClass, Pool } from '@dovetail/core-api';
import type { DaemonSet, Node, Pod } from '@dovetail/core-kube-model';

/** A pod with every field set. */
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

/** A node with every field set. */
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

/** A NodeClaim with every field set. */
export const sampleClaim: NodeClaim = {
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

/** A pool with every field set. */
export const samplePool: Pool = {
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

/** A node class with every field set. */
export const sampleClass: NodeClass = {
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
  launchTemplateName: 'mine',
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

/** A DaemonSet made of the sample pod's fields. */
export const sampleDaemonSet: DaemonSet = {
  uid: 'ds-1',
  namespace: 'kube-system',
  name: 'proxy',
  resourceVersion: '1',
  template: { ...podRest, uid: 'ds-1', name: '' },
};
