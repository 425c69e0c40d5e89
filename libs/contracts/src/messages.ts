/**
 * The messages between the services, as domain values. Their wire form is `proto/dovetail/v1`, and
 * `codec/` converts. Writers and readers of each message are listed in docs/contracts.md.
 */
import type { NodeClaim, NodeClass, Pool, PoolIdentity } from '@dovetail/core-api';
import type { CapacityType, InstanceType } from '@dovetail/core-ec2-model';
import type {
  CsiNode,
  DaemonSet,
  Namespace,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  PodDisruptionBudget,
  Resources,
  StorageClass,
} from '@dovetail/core-kube-model';
import type { Plan, Reason } from '@dovetail/core-scheduling';

/**
 * One object of the state feed (`state.v1.<kind>.<uid>`). A deletion is a tombstone on the same
 * subject.
 */
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

/** The kinds of the state feed, as they stand in subjects. */
export type StateKind = StateValue['kind'];
/** Every kind of the state feed. */
export const stateKinds = [
  'pod',
  'node',
  'claim',
  'pool',
  'nodeclass',
  'daemonset',
  'pdb',
  'namespace',
  'pv',
  'pvc',
  'storageclass',
  'csinode',
  'promise',
  'verdict',
  'admission',
] as const satisfies readonly StateKind[];

/** A message of the state feed: the object's last state, or that it is gone. */
export type StateRecord =
  | {
      readonly kind: 'set';
      readonly uid: string;
      readonly state: StateValue;
      readonly generation: string;
    }
  | {
      readonly kind: 'gone';
      readonly stateKind: StateKind;
      readonly uid: string;
      readonly generation: string;
    };

/**
 * The order of admissions: the launcher's Lease epoch and a number within it. `compareAdmissions`
 * orders them.
 */
export type AdmissionNumber = { readonly epoch: number; readonly number: number };
/**
 * The last admission. The launcher publishes it when its epoch begins, after each round, and when
 * the stream lacks it.
 */
export type AdmissionHead = AdmissionNumber;

/**
 * Room for named pods on a claim or on an existing node. The truth is an annotation on that object;
 * this is its copy.
 */
export type PodPromise = {
  /** UID of the NodeClaim or Node that holds the promise. */
  readonly holderUid: string;
  readonly holderKind: 'NodeClaim' | 'Node';
  readonly holderName: string;
  readonly podUids: readonly string[];
  readonly admission: AdmissionNumber;
  /** When it ends at the latest. Absent while its claim is not initialised yet. */
  readonly untilMs?: number;
  /** For replacements: room held by amount, for pods that come back under other UIDs. */
  readonly reserved: Resources;
  /**
   * The pods whose successors that room is for. A pod's share ends once it needs no other place.
   * Absent: the whole amount is held until the promise ends.
   */
  readonly forPodUids?: readonly string[];
};

/** The outcome of a plan for one of its pods. pod-watcher decides what follows. */
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

/**
 * The complete set of a group's pending, unpromised pods. A newer batch of the group replaces it.
 * The feed has the pods' bodies.
 */
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

/** A node that goes. */
export type ReplacedNode = { readonly nodeName: string; readonly nodeUid: string };

/** A node to replace, and the others that go at the same time. `replacedNodes` lists all. */
export type Replacement = ReplacedNode & {
  readonly reason: string;
  /** Replaced by the same plan, for the same reason. Absent: none. */
  readonly others?: readonly ReplacedNode[];
};

/** Every node of a replacement. */
export const replacedNodes = ({
  nodeName,
  nodeUid,
  others = [],
}: Omit<Replacement, 'reason'>): readonly ReplacedNode[] => [{ nodeName, nodeUid }, ...others];

/** The reason for a plan: pending pods, or nodes to replace. */
export type PlanCause =
  | { readonly kind: 'pending'; readonly group: string; readonly round: string }
  | ({
      readonly kind: 'replacement';
      /**
       * The name of the command that the plan carries out. Then all of the plan is admitted, or
       * nothing. Absent: its bins are judged one by one.
       */
      readonly command?: string;
    } & Replacement);

/** A plan on its way to the launcher. Its id is the hash of its content. */
export type PlanMessage = {
  readonly id: string;
  readonly cause: PlanCause;
  readonly plan: Plan;
  readonly statePosition: { readonly incarnation: string; readonly sequence: number };
  readonly admissionSeen: AdmissionNumber;
  /** By the solver's clock. The launcher goes by the time at which the bus stored the message. */
  readonly createdMs: number;
  readonly solver: string;
  readonly solveMs: number;
};

/**
 * The record of a plan: everything that it was made from. `input` is the text of `writtenRecord` of
 * @dovetail/core-scheduling, which names its parts.
 */
export type PlanRecord = Omit<PlanMessage, 'plan'> & { readonly input: string };

/** A part of a record on its way: its text is packed. */
export type PackedPart = { readonly id: string; readonly packed: Uint8Array };

/**
 * The instance types that one node class can boot, as the planner reads them. A large catalog comes
 * in parts.
 */
export type ClassCatalog = {
  readonly classUid: string;
  readonly revision: string;
  readonly part: number;
  readonly parts: number;
  readonly instanceTypes: readonly InstanceType[];
};

/**
 * An offering that had no capacity, and the time until which it is avoided. Type and zone `*`:
 * every offering of the capacity type.
 */
export type UnavailableOffering = {
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: CapacityType;
  readonly untilMs: number;
  readonly awsCode: string;
  /** Consecutive failures, for the back-off. */
  readonly failures: number;
};

/** Every kind of decision, as they stand in subjects. Kinds are added, never renamed. */
export const decisionKinds = [
  'plan',
  'admit',
  'refuse',
  'launch',
  'launch-failed',
  'register',
  'initialize',
  'unschedulable',
  'command',
  'disrupt',
  'interrupt',
  'drain',
  'terminate',
  'collect',
  'gap',
] as const;
/** The kind of fact that a decision states. */
export type DecisionKind = (typeof decisionKinds)[number];

/** A fact that has happened: the public contract, for anyone (`decision.v1.<kind>.<pool>`). */
export type Decision = {
  /** Deterministic: a fact that is published twice has the same id. */
  readonly id: string;
  readonly kind: DecisionKind;
  readonly atMs: number;
  /** The service that decided. */
  readonly source: string;
  readonly pool?: PoolIdentity;
  /** One sentence for people. */
  readonly summary: string;
  readonly objects: readonly {
    readonly kind: string;
    readonly name: string;
    readonly namespace?: string;
    readonly uid?: string;
  }[];
  readonly reasons: readonly Reason[];
  /** Other options that were considered, cheapest first, at most 20. */
  readonly alternatives: readonly {
    readonly what: string;
    readonly priceMicrosPerHour?: number;
    readonly reason?: string;
  }[];
  readonly priceMicrosPerHour?: number;
  readonly lowerBoundMicrosPerHour?: number;
  /** True when one of its prices is estimated, because the region publishes none. */
  readonly priceEstimated?: boolean;
  readonly planId?: string;
  readonly claimName?: string;
  readonly instanceId?: string;
  readonly instanceType?: string;
  readonly zone?: string;
  readonly capacityType?: CapacityType;
  /** Further facts, by name. */
  readonly facts: Readonly<Record<string, string>>;
  /** The trace of its work, 32 hexadecimal digits. Absent: it was not traced. */
  readonly traceId?: string;
};

/**
 * Orders admissions: negative when `left` came first. A later epoch comes after every admission of
 * an earlier one.
 */
export const compareAdmissions = (left: AdmissionNumber, right: AdmissionNumber): number =>
  left.epoch - right.epoch || left.number - right.number;

/** A message read from the wire: its value, or the wrong field and the reason. */
export type Decoded<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly field: string; readonly reason: string };
