import type { Node } from '../node.js';
import type { DaemonSet, LabelSelector, Pod } from '../pod.js';

/** Bytes of so many MiB. */
export const mebibytes = (count: number): number => count * 1024 ** 2;
/** Bytes of so many GiB. */
export const gibibytes = (count: number): number => count * 1024 ** 3;

/** A pending pod in `default` that asks for one CPU, and changes to it; its name is its uid. */
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

/** A ready node of four CPUs without labels and taints, and changes to it. */
export const nodeValue = (name: string, over: Partial<Node> = {}): Node => ({
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

/** A daemonset of kube-system that puts such a pod on every node. */
export const daemonSetValue = (name: string, template: Pod): DaemonSet => ({
  uid: `ds-${name}`,
  namespace: 'kube-system',
  name,
  resourceVersion: '1',
  template: { ...template, namespace: 'kube-system' },
});

/** Selects objects that carry all of these labels. */
export const selecting = (labels: Readonly<Record<string, string>>): LabelSelector => ({
  requirements: Object.entries(labels).map(([key, value]) => ({
    key,
    operator: 'In' as const,
    values: [value],
  })),
});
