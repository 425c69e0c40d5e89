import type { Resources } from './quantity.js';
import type { RequirementSpec } from './requirement.js';

/** One requirement of a label selector. */
export type LabelSelectorRequirement = {
  readonly key: string;
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
  readonly values: readonly string[];
};

/**
 * A Kubernetes label selector, with `matchLabels` folded into `In` requirements. An absent selector
 * selects nothing and an empty one selects everything.
 */
export type LabelSelector = { readonly requirements: readonly LabelSelectorRequirement[] };

/**
 * One term of a node selector: all of it must match. `matchFields` are kept, to refuse them by
 * name.
 */
export type NodeSelectorTerm = {
  readonly matchExpressions: readonly RequirementSpec[];
  readonly matchFields: readonly RequirementSpec[];
};

/** A pod's toleration of taints. An absent key with Exists, and an absent effect, match all. */
export type Toleration = {
  readonly key?: string;
  readonly operator: 'Equal' | 'Exists' | 'Lt' | 'Gt';
  readonly value?: string;
  readonly effect?: TaintEffect;
  readonly tolerationSeconds?: number;
};

/** How a taint acts on pods that do not tolerate it. */
export type TaintEffect = 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute';
/** A taint of a node. An absent value is the empty one. */
export type Taint = { readonly key: string; readonly value?: string; readonly effect: TaintEffect };

/** A spread constraint of a pod over the domains of a node label. Invariant: maxSkew >= 1. */
export type TopologySpreadConstraint = {
  readonly maxSkew: number;
  readonly topologyKey: string;
  readonly whenUnsatisfiable: 'DoNotSchedule' | 'ScheduleAnyway';
  /** Absent selects nothing. `matchLabelKeys` are merged in, as `In` with the pod's own values. */
  readonly selector?: LabelSelector;
  readonly minDomains?: number;
  readonly nodeAffinityPolicy: 'Honor' | 'Ignore';
  readonly nodeTaintsPolicy: 'Honor' | 'Ignore';
};

/** One term of pod affinity or anti-affinity. */
export type PodAffinityTerm = {
  readonly topologyKey: string;
  readonly selector?: LabelSelector;
  /** Namespaces that the term lists. With neither list nor selector, it means the pod's own. */
  readonly namespaces: readonly string[];
  readonly namespaceSelector?: LabelSelector;
};

/** A preferred term. Invariant: 1 <= weight <= 100. */
export type Weighted<T> = { readonly weight: number; readonly term: T };

/** A port that a pod takes on its node. `0.0.0.0` collides with every address. */
export type HostPort = {
  readonly ip: string;
  readonly port: number;
  readonly protocol: 'TCP' | 'UDP' | 'SCTP';
};

/**
 * A claim that a pod mounts. An ephemeral volume is a claim named `<pod>-<volume>` of its
 * template's class.
 */
export type PodVolume = {
  readonly claimName: string;
  readonly ephemeral?: { readonly storageClassName?: string };
};

/** The object that controls another. */
export type Owner = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
};

/**
 * A pod, projected to what planning and retiring read. Times are milliseconds since 1970.
 *
 * Invariant: `requests` are effective. Init containers, sidecars, overhead, pod-level resources and
 * in-place resize are included, and `pods` is 1 (Kubernetes' PodRequests with status resources).
 */
export type Pod = {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly resourceVersion: string;
  readonly labels: Readonly<Record<string, string>>;
  /**
   * Only karpenter.sh/do-not-disrupt, karpenter.sh/disruption-cost and
   * controller.kubernetes.io/pod-deletion-cost, if it has them.
   */
  readonly annotations: Readonly<Record<string, string>>;
  readonly createdMs: number;
  readonly deletionMs?: number;
  readonly phase: 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown';
  /** When the kubelet acknowledged the pod (status.startTime). */
  readonly startMs?: number;
  /** Whether the condition Ready is True. */
  readonly ready: boolean;
  /** Whether the condition PodScheduled is False with reason Unschedulable. */
  readonly unschedulable: boolean;
  readonly nodeName?: string;
  /** The node whose pods kube-scheduler is preempting for this pod. */
  readonly nominatedNodeName?: string;
  /** The controlling owner. */
  readonly owner?: Owner;
  /** Whether it mirrors a static pod: annotation kubernetes.io/config.mirror. */
  readonly mirror: boolean;
  readonly priority: number;
  readonly priorityClassName?: string;
  readonly schedulerName: string;
  /** Names of scheduling gates; a gated pod is never planned. */
  readonly schedulingGates: readonly string[];
  /** Whether it belongs to a scheduling group, which only kube-scheduler places. */
  readonly schedulingGroup: boolean;
  readonly requests: Resources;
  readonly nodeSelector: Readonly<Record<string, string>>;
  /** Alternatives, of which one must match. Absent: any node. Empty: no node. */
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
  /**
   * Names of resource claims (dynamic resource allocation). Planning refuses such pods with a
   * reason.
   */
  readonly resourceClaims: readonly string[];
  readonly terminationGracePeriodSeconds: number;
};

/**
 * A daemonset and its template as a pod. Every matching node will carry one. Invariant:
 * template.uid is its own uid.
 */
export type DaemonSet = {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly resourceVersion: string;
  readonly template: Pod;
};

/**
 * A PodDisruptionBudget, projected. `minAvailable` and `maxUnavailable` are a count or a
 * percentage.
 */
export type PodDisruptionBudget = {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly resourceVersion: string;
  readonly selector?: LabelSelector;
  readonly minAvailable?: string;
  readonly maxUnavailable?: string;
  readonly unhealthyPodEvictionPolicy: 'IfHealthyBudget' | 'AlwaysAllow';
  /** How many of its pods may be evicted now, as its controller last wrote. */
  readonly disruptionsAllowed: number;
};

/** A namespace, projected to the labels that affinity terms select by. */
export type Namespace = {
  readonly uid: string;
  readonly name: string;
  readonly resourceVersion: string;
  readonly labels: Readonly<Record<string, string>>;
};
