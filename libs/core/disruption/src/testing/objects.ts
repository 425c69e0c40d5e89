import type { NodeClaim, Pool } from '@dovetail/core-api';
import type { Node, Pod, PodDisruptionBudget } from '@dovetail/core-kube-model';

import type { NodeView } from '../view.js';

export const nowMs = Date.UTC(2026, 10, 21, 12);

/** A running, ready pod of a replica set on node `n1`. */
export const pod = (name: string, more: Partial<Pod> = {}): Pod => ({
  uid: `uid-${name}`,
  namespace: 'default',
  name,
  resourceVersion: '1',
  labels: { app: name },
  annotations: {},
  createdMs: nowMs - 3_600_000,
  startMs: nowMs - 3_600_000,
  phase: 'Running',
  ready: true,
  unschedulable: false,
  nodeName: 'n1',
  owner: { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'rs', uid: 'rs' },
  mirror: false,
  priority: 0,
  schedulerName: 'default-scheduler',
  schedulingGates: [],
  schedulingGroup: false,
  requests: { cpu: 1000, memory: 1_000, pods: 1 },
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
  ...more,
});
export const daemon = (name: string, more: Partial<Pod> = {}): Pod =>
  pod(name, {
    owner: { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'ds', uid: 'ds' },
    ...more,
  });

export const claim = (name: string, more: Partial<NodeClaim> = {}): NodeClaim => ({
  uid: `uid-${name}`,
  name,
  resourceVersion: '1',
  createdMs: nowMs - 3_600_000,
  finalizers: ['karpenter.sh/termination'],
  labels: {},
  annotations: {},
  pool: { kind: 'NodePool', name: 'default' },
  classRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
  requirements: [],
  requests: {},
  taints: [],
  startupTaints: [],
  nodeName: 'n1',
  providerId: `aws:///a/i-0${name.length}`,
  capacity: {},
  allocatable: {},
  conditions: [
    {
      type: 'Initialized',
      status: 'True',
      reason: '',
      message: '',
      lastTransitionMs: nowMs - 3_000_000,
    },
  ],
  ...more,
});

export const node = (name: string, more: Partial<Node> = {}): Node => ({
  uid: `uid-${name}`,
  name,
  resourceVersion: '1',
  labels: {},
  annotations: {},
  createdMs: nowMs - 3_600_000,
  finalizers: ['karpenter.sh/termination'],
  taints: [],
  cordoned: false,
  ready: true,
  capacity: { cpu: 4000, memory: 16_000, pods: 10 },
  allocatable: { cpu: 4000, memory: 16_000, pods: 10 },
  ...more,
});

export const pool = (more: Partial<Pool> = {}): Pool => ({
  identity: { kind: 'NodePool', name: 'default' },
  uid: 'uid-pool',
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
  classRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
  hash: '',
  ready: true,
  disruption: { policy: 'WhenEmpty', consolidateAfterMs: 30_000, budgets: [] },
  ...more,
});

export const view = (more: Partial<NodeView> = {}): NodeView => ({
  claim: claim('c1'),
  node: node('n1'),
  pods: [],
  pool: pool(),
  ...more,
});

export const pdb = (
  name: string,
  disruptionsAllowed: number,
  more: Partial<PodDisruptionBudget> = {},
): PodDisruptionBudget => ({
  uid: `uid-${name}`,
  namespace: 'default',
  name,
  resourceVersion: '1',
  unhealthyPodEvictionPolicy: 'IfHealthyBudget',
  disruptionsAllowed,
  ...more,
});
