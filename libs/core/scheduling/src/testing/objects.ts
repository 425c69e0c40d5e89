import type { Pool } from '@dovetail/core-api';
import type { InstanceType, Offering } from '@dovetail/core-ec2-model';
import {
  type DaemonSet,
  type LabelSelector,
  type Pod,
  type Requirements,
  requirementsOf,
} from '@dovetail/core-kube-model';

import type { ExistingNode, Snapshot } from '../snapshot.js';

const gibibyte = 1024 ** 3;
export const mebibytes = (count: number): number => count * 1024 ** 2;
export const gibibytes = (count: number): number => count * gibibyte;

/** A pod with one core's tenth and 128 MiB unless told otherwise. */
export function podOf(uid: string, over: Partial<Pod> = {}): Pod {
  return {
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
    requests: { cpu: 100, memory: mebibytes(128), pods: 1, ...over.requests },
  };
}

/** `count` equal pods named `<prefix>-<n>`. */
export const podsOf = (prefix: string, count: number, over: Partial<Pod> = {}): readonly Pod[] =>
  Array.from({ length: count }, (_, index) => podOf(`${prefix}-${index}`, over));

export const selecting = (labels: Readonly<Record<string, string>>): LabelSelector => ({
  requirements: Object.entries(labels).map(([key, value]) => ({
    key,
    operator: 'In' as const,
    values: [value],
  })),
});

export function poolOf(name: string, over: Partial<Pool> = {}): Pool {
  return {
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
    hash: 'h',
    ready: true,
    classRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
    disruption: { policy: 'WhenEmptyOrUnderutilized', consolidateAfterMs: 0, budgets: [] },
    ...over,
  };
}

export type TypeSpec = {
  readonly name: string;
  readonly cpuMillis: number;
  readonly memoryBytes: number;
  readonly pods?: number;
  readonly arch?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly resources?: Readonly<Record<string, number>>;
  readonly overhead?: { readonly cpu: number; readonly memory: number };
  readonly offerings: readonly Offering[];
};

export const offeringOf = (
  zone: string,
  capacityType: Offering['capacityType'],
  priceMicrosPerHour: number,
  over: Partial<Offering> = {},
): Offering => ({
  zone,
  capacityType,
  priceMicrosPerHour: Math.round(priceMicrosPerHour),
  available: true,
  priceEstimated: false,
  ...over,
});

export function typeOf(spec: TypeSpec): InstanceType {
  const overhead = spec.overhead ?? { cpu: 0, memory: 0 };
  const capacity = {
    cpu: spec.cpuMillis,
    memory: spec.memoryBytes,
    pods: spec.pods ?? 110,
    'ephemeral-storage': gibibytes(20),
    ...spec.resources,
  };
  const values = (of: (offering: Offering) => string): readonly string[] => [
    ...new Set(spec.offerings.map(of)),
  ];
  const requirements: Requirements = requirementsOf([
    { key: 'node.kubernetes.io/instance-type', operator: 'In', values: [spec.name] },
    { key: 'kubernetes.io/arch', operator: 'In', values: [spec.arch ?? 'amd64'] },
    { key: 'kubernetes.io/os', operator: 'In', values: ['linux'] },
    { key: 'topology.kubernetes.io/zone', operator: 'In', values: values((one) => one.zone) },
    {
      key: 'karpenter.sh/capacity-type',
      operator: 'In',
      values: values((one) => one.capacityType),
    },
    ...Object.entries(spec.labels ?? {}).map(([key, value]) => ({
      key,
      operator: 'In' as const,
      values: [value],
    })),
  ]);
  return {
    name: spec.name,
    requirements,
    offerings: spec.offerings,
    capacity,
    allocatable: {
      ...capacity,
      cpu: capacity.cpu - overhead.cpu,
      memory: capacity.memory - overhead.memory,
    },
  };
}

export function nodeOf(name: string, over: Partial<ExistingNode> = {}): ExistingNode {
  const capacity = {
    cpu: 4000,
    memory: gibibytes(16),
    pods: 110,
    'ephemeral-storage': gibibytes(20),
  };
  return {
    name,
    uid: `node-${name}`,
    state: 'ready',
    requirements: new Map(),
    taints: [],
    cordoned: false,
    capacity,
    allocatable: capacity,
    pods: [],
    promisedPods: [],
    reserved: {},
    ...over,
    labels: {
      'kubernetes.io/hostname': name,
      'kubernetes.io/arch': 'amd64',
      'kubernetes.io/os': 'linux',
      ...over.labels,
    },
  };
}

export const daemonSetOf = (name: string, over: Partial<Pod> = {}): DaemonSet => ({
  uid: `ds-${name}`,
  namespace: 'kube-system',
  name,
  resourceVersion: '1',
  template: podOf(`ds-${name}`, { namespace: 'kube-system', ...over }),
});

export function snapshotOf(over: Partial<Snapshot> = {}): Snapshot {
  return {
    stateSequence: 1,
    catalogRevision: 'r1',
    admissionHead: '',
    pools: [],
    nodes: [],
    daemonSets: [],
    namespaces: [],
    persistentVolumes: [],
    persistentVolumeClaims: [],
    storageClasses: [],
    csiNodes: [],
    ...over,
  };
}
