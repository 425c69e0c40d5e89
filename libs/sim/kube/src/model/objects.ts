import type { Raw } from '@dovetail/core-kube-model';

/**
 * Complete object metadata. Objects in the store are never changed in place; every write makes a
 * new one.
 */
export type ObjectMeta = {
  readonly name: string;
  readonly generateName?: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation?: number;
  readonly creationTimestamp: string;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly OwnerReference[];
  readonly managedFields?: readonly Raw[];
};

/** A reference to the owner of an object. */
export type OwnerReference = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
};

/** An object as it is stored. */
export type StoredObject = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly [field: string]: unknown;
};

/** An object as clients send it: every field may be absent. */
export type SentObject = {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata?: Partial<ObjectMeta>;
  readonly [field: string]: unknown;
};

/** A label selector. All of its parts must match. */
export type LabelSelectorSpec = {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly SelectorExpression[];
};

/** An expression of a selector. */
export type SelectorExpression = {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
};

/** A condition of a status. */
export type Condition = {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
  readonly lastUpdateTime?: string;
  readonly lastProbeTime?: string | null;
  readonly lastHeartbeatTime?: string;
  readonly observedGeneration?: number;
};

/** A taint of a node. */
export type TaintSpec = {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
  readonly timeAdded?: string;
};

/** A toleration of a pod. */
export type TolerationSpec = {
  readonly key?: string;
  readonly operator?: string;
  readonly value?: string;
  readonly effect?: string;
  readonly tolerationSeconds?: number;
};

/** Quantities by resource name, as objects have them. */
export type Quantities = Readonly<Record<string, string | number>>;

/** The fields of a container that the twin reads. */
export type ContainerSpec = {
  readonly name: string;
  readonly image?: string;
  readonly restartPolicy?: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly resources?: { readonly requests?: Quantities; readonly limits?: Quantities };
  readonly ports?: readonly {
    readonly hostPort?: number;
    readonly containerPort: number;
    readonly hostIP?: string;
    readonly protocol?: string;
  }[];
};

/** A term of node affinity. All of its expressions must match. */
export type NodeSelectorTermSpec = {
  readonly matchExpressions?: readonly SelectorExpression[];
  readonly matchFields?: readonly SelectorExpression[];
};

/** A term of pod affinity or anti-affinity. */
export type PodAffinityTermSpec = {
  readonly topologyKey: string;
  readonly labelSelector?: LabelSelectorSpec;
  readonly namespaces?: readonly string[];
  readonly namespaceSelector?: LabelSelectorSpec;
  readonly matchLabelKeys?: readonly string[];
  readonly mismatchLabelKeys?: readonly string[];
};

/** A preferred term of pod affinity with its weight. */
export type WeightedPodTerm = {
  readonly weight: number;
  readonly podAffinityTerm: PodAffinityTermSpec;
};
type PodAffinitySpec = {
  readonly requiredDuringSchedulingIgnoredDuringExecution?: readonly PodAffinityTermSpec[];
  readonly preferredDuringSchedulingIgnoredDuringExecution?: readonly WeightedPodTerm[];
};
type AffinitySpec = {
  readonly nodeAffinity?: {
    readonly requiredDuringSchedulingIgnoredDuringExecution?: {
      readonly nodeSelectorTerms: readonly NodeSelectorTermSpec[];
    };
    readonly preferredDuringSchedulingIgnoredDuringExecution?: readonly {
      readonly weight: number;
      readonly preference: NodeSelectorTermSpec;
    }[];
  };
  readonly podAffinity?: PodAffinitySpec;
  readonly podAntiAffinity?: PodAffinitySpec;
};

/** A topology spread constraint. */
export type SpreadSpec = {
  readonly maxSkew: number;
  readonly topologyKey: string;
  readonly whenUnsatisfiable: string;
  readonly labelSelector?: LabelSelectorSpec;
  readonly minDomains?: number;
  readonly nodeAffinityPolicy?: string;
  readonly nodeTaintsPolicy?: string;
  readonly matchLabelKeys?: readonly string[];
};
type VolumeSpec = {
  readonly name: string;
  readonly persistentVolumeClaim?: { readonly claimName: string };
  readonly ephemeral?: {
    readonly volumeClaimTemplate?: { readonly metadata?: Raw; readonly spec: Raw };
  };
};

/** The fields of a pod's spec that the twin reads. */
export type PodSpecView = {
  readonly nodeName?: string;
  readonly schedulerName?: string;
  readonly priority?: number;
  readonly priorityClassName?: string;
  readonly hostNetwork?: boolean;
  readonly restartPolicy?: string;
  readonly terminationGracePeriodSeconds?: number;
  readonly activeDeadlineSeconds?: number;
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly affinity?: AffinitySpec;
  readonly tolerations?: readonly TolerationSpec[];
  readonly topologySpreadConstraints?: readonly SpreadSpec[];
  readonly containers: readonly ContainerSpec[];
  readonly initContainers?: readonly ContainerSpec[];
  readonly overhead?: Quantities;
  readonly resources?: { readonly requests?: Quantities; readonly limits?: Quantities };
  readonly schedulingGates?: readonly { readonly name: string }[];
  readonly resourceClaims?: readonly { readonly resourceClaimTemplateName?: string }[];
  readonly volumes?: readonly VolumeSpec[];
};
type PodStatusView = {
  readonly phase?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly conditions?: readonly Condition[];
  readonly podIP?: string;
  readonly hostIP?: string;
  readonly startTime?: string;
  readonly nominatedNodeName?: string;
  readonly qosClass?: string;
  readonly containerStatuses?: readonly ContainerStatusView[];
  readonly initContainerStatuses?: readonly ContainerStatusView[];
};

/** The fields of a container's status that the twin reads. */
export type ContainerStatusView = {
  readonly name: string;
  readonly ready: boolean;
  readonly restartCount: number;
  readonly state?: {
    readonly waiting?: { readonly reason?: string };
    readonly terminated?: { readonly reason?: string; readonly exitCode?: number };
    readonly running?: { readonly startedAt?: string };
  };
};

/** A pod. */
export type Pod = StoredObject & { readonly spec: PodSpecView; readonly status?: PodStatusView };

/** The template of the pods of a workload. */
export type PodTemplate = {
  readonly metadata?: {
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: PodSpecView;
};

/** A node. */
export type Node = StoredObject & {
  readonly spec?: {
    readonly providerID?: string;
    readonly unschedulable?: boolean;
    readonly taints?: readonly TaintSpec[];
    readonly podCIDR?: string;
  };
  readonly status?: {
    readonly capacity?: Quantities;
    readonly allocatable?: Quantities;
    readonly conditions?: readonly Condition[];
    readonly addresses?: readonly { readonly type: string; readonly address: string }[];
    readonly nodeInfo?: Readonly<Record<string, string>>;
  };
};

/** An object that makes pods from a template: a Deployment, a StatefulSet and others. */
export type Workload = StoredObject & {
  readonly spec: {
    readonly replicas?: number;
    readonly selector: LabelSelectorSpec;
    readonly template: PodTemplate;
    readonly minReadySeconds?: number;
    readonly [field: string]: unknown;
  };
  readonly status?: Raw;
};

/** A budget of the pods that may be evicted. */
export type PodDisruptionBudget = StoredObject & {
  readonly spec: {
    readonly minAvailable?: number | string;
    readonly maxUnavailable?: number | string;
    readonly selector?: LabelSelectorSpec;
    readonly unhealthyPodEvictionPolicy?: string;
  };
  readonly status?: {
    readonly disruptionsAllowed?: number;
    readonly currentHealthy?: number;
    readonly desiredHealthy?: number;
    readonly expectedPods?: number;
    readonly observedGeneration?: number;
    readonly disruptedPods?: Readonly<Record<string, string>>;
    readonly conditions?: readonly Condition[];
  };
};

/** A namespace. */
export type Namespace = StoredObject & {
  readonly spec?: { readonly finalizers?: readonly string[] };
  readonly status?: { readonly phase?: string };
};

/** One scope of a quota: the pods that it counts. */
export type QuotaScope = {
  readonly scopeName: string;
  readonly operator: string;
  readonly values?: readonly string[];
};

/** A quota of a namespace and its use. */
export type ResourceQuota = StoredObject & {
  readonly spec?: {
    readonly hard?: Quantities;
    readonly scopes?: readonly string[];
    readonly scopeSelector?: { readonly matchExpressions?: readonly QuotaScope[] };
  };
  readonly status?: { readonly hard?: Quantities; readonly used?: Quantities };
};

/** The limits and defaults of one type of object. */
export type LimitRangeItem = {
  readonly type: string;
  readonly max?: Quantities;
  readonly min?: Quantities;
  readonly default?: Quantities;
  readonly defaultRequest?: Quantities;
};

/** The limits and defaults of a namespace. */
export type LimitRange = StoredObject & {
  readonly spec?: { readonly limits?: readonly LimitRangeItem[] };
};

/** The condition of that type, if it is there. */
export const conditionOf = (
  conditions: readonly Condition[] | undefined,
  type: string,
): Condition | undefined => conditions?.find((condition) => condition.type === type);

/** The owner that controls the object. */
export const controllerOf = (object: StoredObject): OwnerReference | undefined =>
  object.metadata.ownerReferences?.find((owner) => owner.controller === true);

/** Succeeded or Failed: the pod will never run again. */
export const isTerminal = (pod: Pod): boolean =>
  pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';

/** The pod's Ready condition is true. */
export const isReady = (pod: Pod): boolean =>
  conditionOf(pod.status?.conditions, 'Ready')?.status === 'True';

/** RFC 3339 with seconds, as metadata has it. */
export const timeText = (ms: number): string =>
  new Date(Math.floor(ms / 1000) * 1000).toISOString().replace('.000Z', 'Z');

/** RFC 3339 with microseconds, as Leases and new Events have it. */
export const microTimeText = (ms: number): string =>
  new Date(ms).toISOString().replace('Z', '000Z');
