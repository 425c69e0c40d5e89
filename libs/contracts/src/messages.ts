/**
 * What travels between the services, as domain values. The wire form is `proto/dovetail/v1`; `codec/` turns one into the other.
 * Who writes and who reads each one: docs/contracts.md.
 */
import type { NodeClaim, NodeClass, Pool, PoolIdentity } from '@dovetail/core-api';
import type { CapacityType, InstanceType } from '@dovetail/core-ec2-model';
import type {
  CsiNode, DaemonSet, Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod, PodDisruptionBudget, Resources, StorageClass,
} from '@dovetail/core-kube-model';
import type { Plan, Reason } from '@dovetail/core-scheduling';

/** One object of the state feed (`state.v1.<kind>.<uid>`); a deletion is a tombstone of the same subject. */
export type StateValue =
  | { readonly kind: 'pod'; readonly value: Pod }
  | { readonly kind: 'node'; readonly value: Node }
  | { readonly kind: 'claim'; readonly value: NodeClaim }
  | { readonly kind: 'pool'; readonly value: Pool }
  | { readonly kind: 'nodeclass'; readonly value: NodeClass }
  | { readonly kind: 'daemonset'; readonly value: DaemonSet }
  | { readonly kind: 'pdb'; readonly value: PodDisruptionBudget }
  | { readonly kind: 'namespace'; readonly value: Namespace }
  | { readonly kind: 'pv'; readonly value: PersistentVolume }
  | { readonly kind: 'pvc'; readonly value: PersistentVolumeClaim }
  | { readonly kind: 'storageclass'; readonly value: StorageClass }
  | { readonly kind: 'csinode'; readonly value: CsiNode }
  | { readonly kind: 'promise'; readonly value: PodPromise }
  | { readonly kind: 'verdict'; readonly value: Verdict }
  | { readonly kind: 'admission'; readonly value: AdmissionHead };

export type StateKind = StateValue['kind'];
export const stateKinds = ['pod', 'node', 'claim', 'pool', 'nodeclass', 'daemonset', 'pdb', 'namespace', 'pv', 'pvc', 'storageclass', 'csinode', 'promise', 'verdict', 'admission'] as const satisfies readonly StateKind[];

export type StateRecord =
  | { readonly kind: 'set'; readonly uid: string; readonly state: StateValue; readonly generation: string }
  | { readonly kind: 'gone'; readonly stateKind: StateKind; readonly uid: string; readonly generation: string };

/** The order of admissions: the launcher's Lease epoch and a number within it. `compareAdmissions` orders them. */
export type AdmissionNumber = { readonly epoch: number; readonly number: number };
/** The last admission; published when a launcher takes over, after each round, and whenever the stream lacks it. */
export type AdmissionHead = AdmissionNumber;

/** Pods that have been given room: on a claim, or on a node that exists. Lives as an annotation on that object too. */
export type PodPromise = {
  /** UID of the NodeClaim or Node that holds the promise. */
  readonly holderUid: string;
  readonly holderKind: 'NodeClaim' | 'Node';
  readonly holderName: string;
  readonly podUids: readonly string[];
  readonly admission: AdmissionNumber;
  /** When it ends at the latest; absent while its claim is not initialised yet. */
  readonly untilMs?: number;
  /** For replacements: room held by owner and class instead of by UID. */
  readonly reserved: Resources;
};

/** What became of one pod of a plan. pod-watcher owns what follows. */
export type Verdict = {
  readonly podUid: string;
  readonly outcome: 'admitted' | 'refused' | 'unplaced';
  readonly planId: string;
  readonly binId: string;
  readonly admission: AdmissionNumber;
  /** For refused: the refusal's code. For unplaced: the plan's reasons. */
  readonly reasons: readonly Reason[];
  readonly atMs: number;
};

/** The complete set of a group's pending, unpromised pods; a newer batch of the group replaces it. Bodies are in the feed. */
export type PendingBatch = {
  readonly group: string;
  readonly podUids: readonly string[];
  /** `<epoch>.<round>` of pod-watcher's leader. */
  readonly round: string;
  readonly statePosition: { readonly incarnation: string; readonly sequence: number };
  readonly cutAtMs: number;
  /** Creation time of the youngest pod, for latency metrics. */
  readonly youngestMs: number;
};

/** Why a plan was asked for. */
export type PlanCause =
  | { readonly kind: 'pending'; readonly group: string; readonly round: string }
  | { readonly kind: 'replacement'; readonly nodeName: string; readonly nodeUid: string; readonly reason: string };

/** A plan on its way to the launcher. Its id is the hash of its content. */
export type PlanMessage = {
  readonly id: string;
  readonly cause: PlanCause;
  readonly plan: Plan;
  readonly statePosition: { readonly incarnation: string; readonly sequence: number };
  readonly admissionSeen: AdmissionNumber;
  readonly createdMs: number;
  readonly solver: string;
  readonly solveMs: number;
};

/** What one node class can boot: instance types as the planner reads them, in parts when large. */
export type ClassCatalog = {
  readonly classUid: string;
  readonly revision: string;
  readonly part: number;
  readonly parts: number;
  readonly instanceTypes: readonly InstanceType[];
};

/** An offering that answered without capacity, and until when it is avoided. */
export type UnavailableOffering = {
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: CapacityType;
  readonly untilMs: number;
  readonly awsCode: string;
  /** Consecutive failures, for the back-off. */
  readonly failures: number;
};

/** A request to plan without pending pods: which pods, on which nodes as if they were gone. */
export type PlanRequest = {
  /** Plan these (bound or pending) pods as if they had to move. */
  readonly podUids: readonly string[];
  /** Leave these nodes out, as if they were gone. */
  readonly withoutNodes: readonly string[];
  /** Publish the plan for admission, naming the node it replaces. */
  readonly commit?: { readonly nodeName: string; readonly nodeUid: string; readonly reason: string };
  /** Only options cheaper than this, for replacements that must save. */
  readonly maxPriceMicrosPerHour?: number;
  readonly budgetMs: number;
};
export type PlanReply = { readonly planId: string; readonly plan: Plan; readonly statePosition: { readonly incarnation: string; readonly sequence: number } };

export const decisionKinds = ['plan', 'admit', 'refuse', 'launch', 'launch-failed', 'register', 'initialize', 'unschedulable', 'disrupt', 'interrupt', 'drain', 'terminate', 'collect'] as const;
export type DecisionKind = (typeof decisionKinds)[number];

/** A fact that has happened: the public contract that anyone may subscribe to (`decision.v1.<kind>.<pool>`). */
export type Decision = {
  /** Deterministic: the same fact told twice has the same id. */
  readonly id: string;
  readonly kind: DecisionKind;
  readonly atMs: number;
  /** The service that decided. */
  readonly source: string;
  readonly pool?: PoolIdentity;
  /** One sentence for people. */
  readonly summary: string;
  readonly objects: readonly { readonly kind: string; readonly name: string; readonly namespace?: string; readonly uid?: string }[];
  readonly reasons: readonly Reason[];
  /** What else was considered, cheapest first, at most 20. */
  readonly alternatives: readonly { readonly what: string; readonly priceMicrosPerHour?: number; readonly reason?: string }[];
  readonly priceMicrosPerHour?: number;
  readonly lowerBoundMicrosPerHour?: number;
  /** True when a price in it is not published for the region. */
  readonly priceEstimated?: boolean;
  readonly planId?: string;
  readonly claimName?: string;
  readonly instanceId?: string;
  readonly instanceType?: string;
  readonly zone?: string;
  readonly capacityType?: CapacityType;
  /** Further facts, by name. */
  readonly facts: Readonly<Record<string, string>>;
};

/** Orders admissions: negative when `left` came first. */
export const compareAdmissions = (left: AdmissionNumber, right: AdmissionNumber): number => left.epoch - right.epoch || left.number - right.number;

/** A message read from the wire: its value, or which field was wrong with what value. */
export type Decoded<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly field: string; readonly reason: string };
