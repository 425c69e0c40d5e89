import type { NodeClaim, NodeClass, Pool } from '@dovetail/core-api';
import type { InstanceType } from '@dovetail/core-ec2-model';
import type { Node, Pod, ValueSet } from '@dovetail/core-kube-model';

const gibibyte = 1024 ** 3;
const classRef = { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' } as const;

/** A pending pod in `default` that asks for one CPU; its name is its uid. */
export const podValue = (uid: string, over: Partial<Pod> = {}): Pod => ({
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

/** A ready NodePool of the class `default` that takes anything. */
export const poolValue = (name: string, over: Partial<Pool> = {}): Pool => ({
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

/** A ready EC2NodeClass. */
export const nodeClassValue = (name = 'default'): NodeClass => ({
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
});

const only = (...values: readonly string[]): ValueSet => ({
  kind: 'in',
  values: new Set(values),
  present: true,
});
const zones = ['us-east-1a', 'us-east-1b'];

/**
 * An on-demand type with 4 GiB for each CPU, sold in both zones. Price in micro-dollars an hour.
 */
export function instanceTypeValue(
  name: string,
  cpus: number,
  priceMicrosPerHour: number,
): InstanceType {
  const capacity = {
    cpu: cpus * 1_000,
    memory: cpus * 4 * gibibyte,
    pods: 58,
    'ephemeral-storage': 20 * gibibyte,
  };
  return {
    name,
    capacity,
    allocatable: capacity,
    requirements: new Map([
      ['node.kubernetes.io/instance-type', only(name)],
      ['kubernetes.io/arch', only('amd64')],
      ['kubernetes.io/os', only('linux')],
      ['topology.kubernetes.io/zone', only(...zones)],
      ['karpenter.sh/capacity-type', only('on-demand')],
    ]),
    offerings: zones.map((zone) => ({
      zone,
      capacityType: 'on-demand',
      priceMicrosPerHour,
      available: true,
      priceEstimated: false,
    })),
  };
}
/** Three sizes; each costs twice the one before. */
export const m5Types: readonly InstanceType[] = [
  instanceTypeValue('m5.large', 2, 96_000),
  instanceTypeValue('m5.xlarge', 4, 192_000),
  instanceTypeValue('m5.2xlarge', 8, 384_000),
];

const nodeLabels = (type: string): Readonly<Record<string, string>> => ({
  'node.kubernetes.io/instance-type': type,
  'kubernetes.io/arch': 'amd64',
  'kubernetes.io/os': 'linux',
  'topology.kubernetes.io/zone': 'us-east-1a',
  'karpenter.sh/capacity-type': 'on-demand',
  'karpenter.sh/nodepool': 'default',
});

/** A ready m5.2xlarge of the pool `default`, in the first zone. */
export const nodeValue = (name: string, over: Partial<Node> = {}): Node => ({
  uid: `node-${name}`,
  name,
  resourceVersion: '1',
  labels: {
    ...nodeLabels('m5.2xlarge'),
    'kubernetes.io/hostname': name,
    'karpenter.sh/registered': 'true',
    'karpenter.sh/initialized': 'true',
  },
  annotations: {},
  createdMs: 0,
  finalizers: [],
  providerId: `aws:///us-east-1a/i-${name}`,
  taints: [],
  cordoned: false,
  ready: true,
  capacity: instanceTypeValue('x', 8, 0).capacity,
  allocatable: instanceTypeValue('x', 8, 0).capacity,
  ...over,
});

/** A claim of the pool `default` that has not launched yet and may become one of two types. */
export const claimValue = (name: string, over: Partial<NodeClaim> = {}): NodeClaim => ({
  uid: `claim-${name}`,
  name,
  resourceVersion: '1',
  createdMs: 0,
  finalizers: [],
  labels: { 'karpenter.sh/nodepool': 'default' },
  annotations: {},
  pool: { kind: 'NodePool', name: 'default' },
  classRef,
  requirements: [
    {
      key: 'node.kubernetes.io/instance-type',
      operator: 'In',
      values: ['m5.xlarge', 'm5.2xlarge'],
    },
    { key: 'topology.kubernetes.io/zone', operator: 'In', values: zones },
  ],
  requests: {},
  taints: [],
  startupTaints: [],
  capacity: {},
  allocatable: {},
  conditions: [],
  ...over,
});
