import type { PoolIdentity } from '@dovetail/core-api';
import type { CapacityType } from '@dovetail/core-ec2-model';
import type { RequirementSpec, Resources, Taint } from '@dovetail/core-kube-model';

/**
 * Why something was not possible: a code for machines, the values that were compared, and a
 * sentence rendered from them.
 */
export type Reason = {
  readonly code: ReasonCode;
  readonly message: string;
  /**
   * What was asked and what there was, e.g. { key, wanted, offered } or { resource, requested,
   * largest }.
   */
  readonly values: Readonly<Record<string, string>>;
  /**
   * The pool (`NodePool/default`) or the existing-node group that this reason is about; absent: the
   * pod itself.
   */
  readonly subject?: string;
  /** How many candidates (types or nodes) fell at this step, of how many. */
  readonly fell?: { readonly count: number; readonly of: number };
  /** The smallest change that would have placed the pod, when one is known. */
  readonly remedy?: string;
};

export type ReasonCode =
  | 'no-pools'
  | 'pool-not-ready'
  | 'pool-limit'
  | 'pool-static'
  | 'pool-deleting'
  | 'taint-not-tolerated'
  | 'requirement-mismatch'
  | 'restricted-label'
  | 'match-fields-unsupported'
  | 'resources-too-large'
  | 'no-capacity'
  | 'no-offering'
  | 'node-full'
  | 'node-cordoned'
  | 'topology-spread'
  | 'pod-affinity'
  | 'pod-anti-affinity'
  | 'host-port'
  | 'volume'
  | 'volume-limit'
  | 'pool-chosen'
  | 'min-values'
  | 'reserved-capacity'
  | 'resource-claims'
  | 'scheduling-gate'
  | 'price-cap'
  | 'displaced'
  | 'daemonset-overhead'
  | 'budget-ended'
  | AdmissionCode
  | DisruptionCode
  | LaunchCode
  | 'unreadable';

/** Why a node is retired, or is not: the codes of `@dovetail/core-disruption`. */
export type DisruptionCode =
  | 'empty'
  | 'expired'
  | 'interrupted'
  | 'garbage-collected'
  | 'pool-gone'
  | 'deleted-by-user'
  | 'node-missing'
  | 'node-not-initialized'
  | 'node-deleting'
  | 'node-protected'
  | 'node-promised'
  | 'pod-protected'
  | 'pod-without-budget'
  | 'pod-of-many-budgets'
  | 'not-empty'
  | 'countdown'
  | 'disruption-disabled'
  | 'never-expires'
  | 'not-expired'
  | 'budget-spent'
  | 'budget-invalid'
  | 'drain-deadline'
  | 'replacement-missing'
  | 'interruption-notice'
  | 'collection-brake'
  | 'cluster-mismatch'
  | 'instance-of-another-claim'
  | 'instance-of-another-cluster';

/**
 * Why the launcher refused a bin of a plan (admission), beside the codes that planning and
 * admission share.
 */
export type AdmissionCode =
  | 'pod-gone'
  | 'pod-bound'
  | 'pod-promised'
  | 'node-gone'
  | 'node-retiring'
  | 'launch-rate'
  | 'group-touched'
  | 'older-epoch'
  | 'plan-too-old'
  | 'round-voided'
  | 'constraint-broken'
  | 'not-on-replaced-node'
  | 'already-replaced'
  | 'admission-failed';

/**
 * Why a claim went on, or did not, from its launch to its ready node; `existing-room`: it was not
 * needed.
 */
export type LaunchCode =
  | 'existing-room'
  | 'fleet-choice'
  | 'instance-joined'
  | 'node-initialized'
  | 'launch-timeout'
  | 'registration-timeout';

/** One way to launch a bin: a type in a zone, bought one way, with its price. */
export type BinOption = {
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: CapacityType;
  readonly priceMicrosPerHour: number;
  readonly reservationId?: string;
};

/** A node to launch and the pods that it is for. */
export type NewNode = {
  /** `bin-0`, `bin-1`, … in the plan's order. */
  readonly id: string;
  readonly pool: PoolIdentity;
  /** Cheapest first; every one of them holds the whole bin. */
  readonly options: readonly BinOption[];
  /**
   * What the claim will say: pool requirements ∩ pods' requirements, with the options' types, zones
   * and capacity types.
   */
  readonly requirements: readonly RequirementSpec[];
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  /** Sum over the pods and the daemonsets that will run there. */
  readonly requests: Resources;
  readonly podUids: readonly string[];
  /** Spread and affinity groups that the bin's placement relies on (opaque, stable keys). */
  readonly topologyGroups: readonly string[];
  readonly minValuesRelaxed: boolean;
  /** Why this pool, and what ended the types that are not options. */
  readonly notes: readonly Reason[];
};

/** Pods that fit on a node that exists, is in flight or is promised. */
export type Placement = {
  /** Node name, or claim name while in flight. */
  readonly nodeName: string;
  readonly nodeUid: string;
  readonly podUids: readonly string[];
  readonly topologyGroups: readonly string[];
};

export type Unplaced = { readonly podUid: string; readonly reasons: readonly Reason[] };

export type Bound = {
  /** Which relaxation gave the largest valid lower bound. */
  readonly kind:
    'resource-price' | 'aggregate-lp' | 'assignment-lp' | 'integer-aggregate' | 'spread' | 'none';
  readonly priceMicrosPerHour: number;
};

/** What to do: every pod asked for is in exactly one of newNodes, placements and unplaced. */
export type Plan = {
  readonly stateSequence: number;
  readonly catalogRevision: string;
  readonly admissionHead: string;
  readonly seed: number;
  /** Improvement steps done; with the seed they reproduce the plan. */
  readonly steps: number;
  readonly newNodes: readonly NewNode[];
  readonly placements: readonly Placement[];
  readonly unplaced: readonly Unplaced[];
  /** Sum of each new node's cheapest option. */
  readonly priceMicrosPerHour: number;
  readonly bound: Bound;
  readonly stats: {
    readonly pods: number;
    readonly classes: number;
    readonly instanceTypes: number;
  };
};

/** A rule that a plan breaks, found by the checker. */
export type Violation = {
  readonly code:
    | ReasonCode
    | 'double-placement'
    | 'missing-pod'
    | 'unknown-pod'
    | 'wrong-price'
    | 'unknown-node';
  readonly where: string;
  readonly message: string;
};
