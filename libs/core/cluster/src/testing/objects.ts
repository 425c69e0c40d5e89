/** Small objects for tests, plain unless told otherwise. */
import type { NodeClaim, NodeClass, Pool } from '@dovetail/core-api';
import type { InstanceType } from '@dovetail/core-ec2-model';
import { type Node, type Pod, requirementsOf } from '@dovetail/core-kube-model';

const classRef = { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' } as const;

export const podOf = (uid: string, over: Partial<Pod> = {}): Pod => ({
  uid,
  namespace: 'default',
  name: uid,
  resourceVersion: '1',
  labels: {},
  annotations: {},
  createdMs: 0,
  phase: 'Pending',
  ready: false,
  unschedulable: true,
  mirror: false,
  priority: 0,
  schedulerName: 'default-scheduler',
  schedulingGates: [],
  schedulingGroup: false,
  requests: { cpu: 1_000, pods: 1 },
  nodeSelector: {},
  preferredNodeAffinity: [],
  tolerations: [],
  topologySpread: [],
  requiredPodAffinity: [],
  preferredPodAffinity: [],
  requiredPodAntiAffinity: [],
  preferredPodAntiAffinity: [],
  hostPorts: [],
  volumes: [],
  resourceClaims: [],
  terminationGracePeriodSeconds: 30,
  ...over,
});

export const nodeOf = (name: string, over: Partial<Node> = {}): Node => ({
  uid: `node-${name}`,
  name,
  resourceVersion: '1',
  labels: {},
  annotations: {},
  createdMs: 0,
  finalizers: [],
  taints: [],
  cordoned: false,
  ready: true,
  capacity: { cpu: 4_000, pods: 58 },
  allocatable: { cpu: 3_900, pods: 58 },
  ...over,
});

export const claimOf = (name: string, over: Partial<NodeClaim> = {}): NodeClaim => ({
  uid: `claim-${name}`,
  name,
  resourceVersion: '1',
  createdMs: 0,
  finalizers: [],
  labels: { 'karpenter.sh/nodepool': 'default' },
  annotations: {},
  pool: { kind: 'NodePool', name: 'default' },
  classRef,
  requirements: [],
  requests: {},
  taints: [],
  startupTaints: [],
  capacity: {},
  allocatable: {},
  conditions: [],
  ...over,
});

export const poolOf = (name: string, over: Partial<Pool> = {}): Pool => ({
  identity: { kind: 'NodePool', name },
  uid: `pool-${name}`,
  resourceVersion: '1',
  generation: 1,
  createdMs: 0,
  weight: 0,
  limits: {},
  labels: {},
  annotations: {},
  taints: [],
  startupTaints: [],
  requirements: [],
  classRef,
  hash: 'h',
  ready: true,
  disruption: { policy: 'WhenEmpty', budgets: [] },
  ...over,
});

export const classOf = (name: string, over: Partial<NodeClass> = {}): NodeClass => ({
  ref: { ...classRef, name },
  uid: `class-${name}`,
  resourceVersion: '1',
  generation: 1,
  ready: true,
  hash: 'h',
  subnetSelectorTerms: [],
  securityGroupSelectorTerms: [],
  amiFamily: 'AL2023',
  amiSelectorTerms: [],
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
  ...over,
});

/** A type with one offering, on demand in zone `a`. */
export const typeOf = (name: string, cpu: number, priceMicrosPerHour: number): InstanceType => ({
  name,
  requirements: requirementsOf([]),
  capacity: { cpu, pods: 58 },
  allocatable: { cpu: cpu - 100, pods: 58 },
  offerings: [
    {
      zone: 'a',
      capacityType: 'on-demand',
      priceMicrosPerHour,
      available: true,
      priceEstimated: false,
    },
  ],
});

export const typesOf = (...types: readonly InstanceType[]): ReadonlyMap<string, InstanceType> =>
  new Map(types.map((type) => [type.name, type]));
