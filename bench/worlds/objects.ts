import type { NodeClass, Pool } from '@dovetail/core-api';
import { catalogZones, type InstanceType } from '@dovetail/core-ec2-model';
import type { DaemonSet, LabelSelector, Pod } from '@dovetail/core-kube-model';
import type { Snapshot } from '@dovetail/core-scheduling';

/** A generated case: the state of the cluster, and the pods to place. */
export type BenchWorld = {
  readonly name: string;
  readonly snapshot: Snapshot;
  readonly pods: readonly Pod[];
};

export const zoneKey = 'topology.kubernetes.io/zone';
export const hostKey = 'kubernetes.io/hostname';
export const mebibyte = 1024 ** 2;
export const gibibyte = 1024 ** 3;

/** A pending pod that asks for nothing, with changes. */
export function podOf(uid: string, over: Partial<Pod>): Pod {
  return {
    uid,
    namespace: 'default',
    name: uid,
    resourceVersion: '1',
    labels: {},
    annotations: {},
    createdMs: 1_700_000_000_000,
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
    requests: { pods: 1 },
    ...over,
  };
}

/** Selects objects that carry all of these labels. */
export const selecting = (labels: Readonly<Record<string, string>>): LabelSelector => ({
  requirements: Object.entries(labels).map(([key, value]) => ({
    key,
    operator: 'In' as const,
    values: [value],
  })),
});

/** The pool `default`, without limits and requirements, with changes. */
export const poolOf = (over: Partial<Pool> = {}): Pool => ({
  identity: { kind: 'NodePool', name: 'default' },
  uid: 'pool-default',
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
});

/** A daemonset of kube-system whose pods run on every node. */
export const daemonSetOf = (name: string, cpuMillis: number, memoryMib: number): DaemonSet => ({
  uid: `ds-${name}`,
  namespace: 'kube-system',
  name,
  resourceVersion: '1',
  template: podOf(`ds-${name}`, {
    namespace: 'kube-system',
    requests: { cpu: cpuMillis, memory: memoryMib * mebibyte, pods: 1 },
  }),
});

/** A cluster without nodes that may launch these types. */
export function snapshotOf(
  instanceTypes: readonly InstanceType[],
  daemonSets: readonly DaemonSet[],
  pool = poolOf(),
): Snapshot {
  return {
    stateSequence: 1,
    catalogRevision: 'bench',
    admissionHead: '',
    pools: [{ pool, instanceTypes }],
    nodes: [],
    daemonSets,
    namespaces: [],
    persistentVolumes: [],
    persistentVolumeClaims: [],
    storageClasses: [],
    csiNodes: [],
  };
}

/** Where the types and prices of the generated worlds come from. */
export const region = 'us-east-1';
/** The zones of the generated worlds. */
export const zones = ['us-east-1a', 'us-east-1b', 'us-east-1c'] as const;

/** An AL2023 class with subnets in three zones. */
export function nodeClass(): NodeClass {
  const ids = new Map(catalogZones(region).map((zone) => [zone.name, zone.id]));
  return {
    ref: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
    uid: 'class-1',
    resourceVersion: '1',
    generation: 1,
    ready: true,
    hash: 'h',
    subnetSelectorTerms: [],
    securityGroupSelectorTerms: [],
    amiFamily: 'AL2023',
    amiSelectorTerms: [{ alias: 'al2023@latest' }],
    role: 'node',
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
    status: {
      subnets: zones.map((zone) => ({
        id: `subnet-${zone}`,
        zone,
        ...(ids.has(zone) ? { zoneId: ids.get(zone) as string } : {}),
      })),
      securityGroups: [],
      amis: [{ id: 'ami-1', name: 'amd64', deprecated: false, arch: 'amd64', variant: 'standard' }],
    },
  };
}
