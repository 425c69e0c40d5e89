import type { Resources } from './quantity.js';
import type { RequirementSpec } from './requirement.js';

export type LabelSelectorRequirement = {
  readonly key: string;
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
  readonly values: readonly string[];
};

/** A Kubernetes label selector, `matchLabels` folded into `In` requirements. Absent selects nothing, empty selects everything. */
export type LabelSelector = { readonly requirements: readonly LabelSelectorRequirement[] };

/** One term of a node selector: a conjunction. `matchFields` are kept so that they can be refused by name. */
export type NodeSelectorTerm = {
  readonly matchExpressions: readonly RequirementSpec[];
  readonly matchFields: readonly RequirementSpec[];
};

export type Toleration = {
  readonly key?: string;
  readonly operator: 'Equal' | 'Exists' | 'Lt' | 'Gt';
  readonly value?: string;
  readonly effect?: TaintEffect;
  readonly tolerationSeconds?: number;
};

export type TaintEffect = 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute';
export type Taint = { readonly key: string; readonly value?: string; readonly effect: TaintEffect };

export type TopologySpreadConstraint = {
  readonly maxSkew: number;
  readonly topologyKey: string;
  readonly whenUnsatisfiable: 'DoNotSchedule' | 'ScheduleAnyway';
  /** Absent selects nothing. `matchLabelKeys` are already merged in as `In` requirements with the pod's own values. */
  readonly selector?: LabelSelector;
  readonly minDomains?: number;
  readonly nodeAffinityPolicy: 'Honor' | 'Ignore';
  readonly nodeTaintsPolicy: 'Honor' | 'Ignore';
};

export type PodAffinityTerm = {
  readonly topologyKey: string;
  readonly selector?: LabelSelector;
  /** Names listed by the term; with neither list nor selector, the pod's own namespace. */
  readonly namespaces: readonly string[];
  readonly namespaceSelector?: LabelSelector;
};

export type Weighted<T> = { readonly weight: number; readonly term: T };

export type HostPort = { readonly ip: string; readonly port: number; readonly protocol: 'TCP' | 'UDP' | 'SCTP' };

/** A claim that a pod mounts. Ephemeral volumes are claims named `<pod>-<volume>`, with the class of their template. */
export type PodVolume = {
  readonly claimName: string;
  readonly ephemeral?: { readonly storageClassName?: string };
};

export type Owner = { readonly apiVersion: string; readonly kind: string; readonly name: string; readonly uid: string };

/**
 * A pod, projected to what planning and retiring read.
 * `requests` are effective: init containers, sidecars, overhead, pod-level resources and in-place resize are already in,
 * and `pods: 1` is always there (Kubernetes' PodRequests with status resources).
 */
export type Pod = {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly resourceVersion: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Only the annotations that Dovetail reads: karpenter.sh/do-not-disrupt and controller.kubernetes.io/pod-deletion-cost. */
  readonly annotations: Readonly<Record<string, string>>;
  readonly createdMs: number;
  readonly deletionMs?: number;
  readonly phase: 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown';
  /** When the kubelet acknowledged the pod (status.startTime). */
  readonly startMs?: number;
  readonly ready: boolean;
  /** True when the condition PodScheduled is False with reason Unschedulable. */
  readonly unschedulable: boolean;
  readonly nodeName?: string;
  readonly nominatedNodeName?: string;
  /** The controlling owner. */
  readonly owner?: Owner;
  readonly mirror: boolean;
  readonly priority: number;
  readonly priorityClassName?: string;
  readonly schedulerName: string;
  /** Names of scheduling gates; a gated pod is never planned. */
  readonly schedulingGates: readonly string[];
  /** The pod is a member of a scheduling group (spec.workloadRef or schedulingGroup), which only the scheduler places. */
  readonly schedulingGroup: boolean;
  readonly requests: Resources;
  readonly nodeSelector: Readonly<Record<string, string>>;
  /** Alternatives (OR). Absent: no required node affinity; empty: matches no node. */
  readonly requiredNodeAffinity?: readonly NodeSelectorTerm[];
  readonly preferredNodeAffinity: readonly Weighted<NodeSelectorTerm>[];
  readonly tolerations: readonly Toleration[];
  readonly topologySpread: readonly TopologySpreadConstraint[];
  readonly requiredPodAffinity: readonly PodAffinityTerm[];
  readonly preferredPodAffinity: readonly Weighted<PodAffinityTerm>[];
  readonly requiredPodAntiAffinity: readonly PodAffinityTerm[];
  readonly preferredPodAntiAffinity: readonly Weighted<PodAffinityTerm>[];
  readonly hostPorts: readonly HostPort[];
  readonly volumes: readonly PodVolume[];
  /** Names of resource claims (dynamic resource allocation); planning leaves such pods to others, with a reason. */
  readonly resourceClaims: readonly string[];
  readonly terminationGracePeriodSeconds: number;
};

/** A daemonset: its template as a pod (uid = the daemonset's uid), which every matching node will carry. */
export type DaemonSet = {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly resourceVersion: string;
  readonly template: Pod;
};

export type PodDisruptionBudget = {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly resourceVersion: string;
  readonly selector?: LabelSelector;
  readonly minAvailable?: string;
  readonly maxUnavailable?: string;
  readonly unhealthyPodEvictionPolicy: 'IfHealthyBudget' | 'AlwaysAllow';
  readonly disruptionsAllowed: number;
};

export type Namespace = { readonly uid: string; readonly name: string; readonly resourceVersion: string; readonly labels: Readonly<Record<string, string>> };
