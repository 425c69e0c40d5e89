import { nodeClassRef } from './manifests.js';

// Each manifest sets every field that its reader reads, so that a test can change them one by one.

const timeText = '2026-01-01T00:00:00Z';
const metadata = {
  name: 'default',
  uid: 'u-1',
  resourceVersion: '7',
  generation: 1,
  creationTimestamp: timeText,
  deletionTimestamp: timeText,
  finalizers: ['karpenter.sh/termination'],
  labels: { 'karpenter.sh/nodepool': 'default' },
  annotations: {
    'dovetail.sh/max-price-per-hour': '1',
    'dovetail.sh/max-launches-per-minute': '9',
  },
};
const conditions = [
  { type: 'Ready', status: 'True', reason: 'r', message: 'm', lastTransitionTime: timeText },
];
const taints = [{ key: 'a', value: 'b', effect: 'NoSchedule' }];
const startupTaints = [{ key: 'c', value: 'd', effect: 'NoExecute' }];
const requirements = [{ key: 'a', operator: 'In', values: ['x', 'y'], minValues: 2 }];
const kubelet = {
  clusterDNS: ['10.0.0.10'],
  maxPods: 20,
  podsPerCore: 2,
  systemReserved: { cpu: '100m' },
  kubeReserved: { memory: '1Gi' },
  evictionHard: { 'memory.available': '5%' },
  evictionSoft: { 'nodefs.available': '10%' },
  evictionSoftGracePeriod: { 'nodefs.available': '2m' },
  evictionMaxPodGracePeriod: 60,
  imageGCHighThresholdPercent: 85,
  imageGCLowThresholdPercent: 80,
  cpuCFSQuota: false,
};
const blockDeviceMappings = [
  {
    deviceName: '/dev/xvda',
    rootVolume: true,
    ebs: {
      volumeSize: '100Gi',
      volumeType: 'gp3',
      encrypted: true,
      deleteOnTermination: true,
      iops: 3000,
      throughput: 125,
      kmsKeyID: 'key',
      snapshotID: 'snap-1',
      volumeInitializationRate: 100,
    },
  },
];
const metadataOptions = {
  httpEndpoint: 'enabled',
  httpProtocolIPv6: 'disabled',
  httpPutResponseHopLimit: 1,
  httpTokens: 'required',
};
const findings = {
  subnets: [{ id: 'subnet-1', zone: 'a', zoneID: 'use1-az1' }],
  securityGroups: [{ id: 'sg-1', name: 'nodes' }],
  amis: [
    {
      id: 'ami-1',
      name: 'image',
      deprecated: false,
      requirements: [{ key: 'kubernetes.io/arch', operator: 'In', values: ['amd64'] }],
    },
  ],
  instanceProfile: 'profile',
};

export const wholeNodePool = {
  metadata,
  spec: {
    weight: 5,
    limits: { cpu: '10', nodes: 3 },
    disruption: {
      consolidationPolicy: 'WhenEmpty',
      consolidateAfter: '1m',
      budgets: [{ nodes: '10%', reasons: ['Empty'], schedule: '@daily', duration: '1h' }],
    },
    template: {
      metadata: { labels: { team: 'blue' }, annotations: { note: 'x' } },
      spec: {
        nodeClassRef,
        requirements,
        taints,
        startupTaints,
        expireAfter: '1h',
        terminationGracePeriod: '1h',
      },
    },
  },
  status: { conditions },
};

export const wholeEc2NodeClass = {
  metadata,
  spec: {
    role: 'node',
    subnetSelectorTerms: [{ tags: { a: 'b' } }, { id: 'subnet-1' }],
    securityGroupSelectorTerms: [{ name: 'nodes', tags: { a: 'b' } }, { id: 'sg-1' }],
    amiSelectorTerms: [{ alias: 'al2023@latest' }],
    amiFamily: 'AL2023',
    userData: 'echo',
    tags: { team: 'blue' },
    kubelet,
    blockDeviceMappings,
    instanceStorePolicy: 'RAID0',
    detailedMonitoring: true,
    metadataOptions,
    associatePublicIPAddress: true,
    context: 'c',
  },
  status: { conditions, ...findings },
};

export const wholeNodeClaim = {
  metadata: { ...metadata, annotations: { 'dovetail.sh/planned': timeText } },
  spec: {
    nodeClassRef,
    requirements,
    resources: { requests: { cpu: '1' } },
    taints,
    startupTaints,
    expireAfter: '1h',
    terminationGracePeriod: '1h',
  },
  status: {
    conditions,
    nodeName: 'node',
    providerID: 'aws:///a/i-1',
    imageID: 'ami-1',
    capacity: { cpu: '2' },
    allocatable: { cpu: '2' },
    lastPodEventTime: timeText,
  },
};

export const wholeProvisioner = {
  metadata,
  spec: {
    providerRef: { apiVersion: 'karpenter.k8s.aws/v1', kind: 'EC2NodeClass', name: 'default' },
    requirements,
    labels: { team: 'blue' },
    annotations: { note: 'x' },
    taints,
    startupTaints,
    limits: { resources: { cpu: '1' } },
    weight: 5,
    ttlSecondsAfterEmpty: 5,
    consolidation: { enabled: false },
    ttlSecondsUntilExpired: 5,
    kubeletConfiguration: { ...kubelet, containerRuntime: 'containerd' },
  },
  status: { conditions },
};

const provider = {
  amiFamily: 'Bottlerocket',
  subnetSelector: { Name: 'nodes', 'aws-ids': 'subnet-1' },
  securityGroupSelector: { Name: 'nodes' },
  amiSelector: { 'aws::name': 'image' },
  instanceProfile: 'profile',
  userData: 'echo',
  tags: { team: 'blue' },
  detailedMonitoring: true,
  metadataOptions,
  context: 'c',
  blockDeviceMappings,
};

export const wholeNodeTemplate = { metadata, spec: provider, status: { conditions, ...findings } };

export const wholeInlineProvider = {
  metadata,
  spec: { provider, kubeletConfiguration: kubelet },
  status: { conditions, provider: findings },
};
