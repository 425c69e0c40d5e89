import type { PoolIdentity } from '@dovetail/core-api';
import type { CapacityType } from '@dovetail/core-ec2-model';
import type { RequirementSpec, Resources, Taint } from '@dovetail/core-kube-model';

/**
 * The reason for a decision: a code for machines, the compared values, and a sentence rendered from
 * them.
 */
export type Reason = {
  readonly code: ReasonCode;
  readonly message: string;
  /**
   * The wanted and the offered values, e.g. { key, wanted, offered } or { resource, requested,
   * largest }.
   */
  readonly values: Readonly<Record<string, string>>;
  /**
   * The pool (`NodePool/default`) or the group of existing nodes that the reason concerns. Absent
   * if it concerns the pod itself.
   */
  readonly subject?: string;
  /**
   * The candidates (types or nodes) that this step excludes (`count`), out of those before it
   * (`of`).
   */
  readonly fell?: { readonly count: number; readonly of: number };
  /** The smallest change that would have placed the pod, if one is known. */
  readonly remedy?: string;
};

/** The stable name of a reason, for decisions, verdicts and tools. */
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

/** Reasons why a node is retired or stays: the codes of `@dovetail/core-disruption`. */
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
  | 'not-drifted'
  | 'budget-spent'
  | 'budget-invalid'
  | 'drain-deadline'
  | 'replacement-missing'
  | 'replacement-refused'
  | 'replacement-unanswered'
  | 'drifted'
  | 'drift-ended'
  | 'underutilized'
  | 'not-worthwhile'
  | 'moved-recently'
  | 'pods-without-place'
  | 'needs-new-node'
  | 'command-incomplete'
  | 'interruption-notice'
  | 'unhealthy'
  | 'repair-blocked'
  | 'collection-brake'
  | 'cluster-mismatch'
  | 'instance-of-another-claim'
  | 'instance-of-another-cluster';

/**
 * Reasons why the launcher refused a bin of a plan, besides the codes that planning and admission
 * share.
 */
type AdmissionCode =
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
  | 'command-incomplete'
  | 'no-progress'
  | 'admission-failed';

/**
 * Reasons why a claim went on, or did not, from its launch to its ready node. `existing-room` means
 * that the node was not needed.
 */
type LaunchCode =
  | 'existing-room'
  | 'fleet-choice'
  | 'instance-joined'
  | 'node-initialized'
  | 'launch-timeout'
  | 'registration-timeout';

/** One way to launch a bin: an instance type in a zone, a capacity type and a price. */
export type BinOption = {
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: CapacityType;
  readonly priceMicrosPerHour: number;
  readonly reservationId?: string;
};

/** A node to launch and the pods that it is for. */
export type NewNode = {
  /** The name of the bin in its plan: `bin-0`, `bin-1`, and so on. */
  readonly id: string;
  readonly pool: PoolIdentity;
  /** The ways to launch the node. Invariant: cheapest first, and each holds the whole bin. */
  readonly options: readonly BinOption[];
  /**
   * The requirements of the claim: those of the pool and the pods together, with the options'
   * types, zones and capacity types.
   */
  readonly requirements: readonly RequirementSpec[];
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  /** The sum over the pods and the daemonsets of the node. */
  readonly requests: Resources;
  readonly podUids: readonly string[];
  /** The spread and affinity groups that the bin's place relies on, as opaque and stable keys. */
  readonly topologyGroups: readonly string[];
  readonly minValuesRelaxed: boolean;
  /** The reasons for the pool, and for the types that are not options. */
  readonly notes: readonly Reason[];
};

/** Pods that fit on a node that exists, is in flight or is promised. */
export type Placement = {
  /** The node's name, or the claim's name while it is in flight. */
  readonly nodeName: string;
  readonly nodeUid: string;
  readonly podUids: readonly string[];
  readonly topologyGroups: readonly string[];
};

/**
 * A pod that the plan has no place for. It has one reason per pool and per group of existing nodes.
 */
export type Unplaced = { readonly podUid: string; readonly reasons: readonly Reason[] };

/**
 * A lower bound: no plan of the same pods with as few new nodes costs less, in micro-dollars an
 * hour. Without a charge per node it holds for any number of nodes.
 */
export type Bound = {
  /** The relaxation that gave the largest valid lower bound. */
  readonly kind:
    | 'resource-price'
    | 'aggregate-lp'
    | 'assignment-lp'
    | 'integer-aggregate'
    | 'spread'
    | 'whole-nodes'
    | 'none';
  readonly priceMicrosPerHour: number;
};

/**
 * The decisions for a set of pods. Invariant: each pod is in exactly one of newNodes, placements
 * and unplaced.
 */
export type Plan = {
  readonly stateSequence: number;
  readonly catalogRevision: string;
  readonly admissionHead: string;
  readonly seed: number;
  /** The improvement steps that were done. Snapshot, pods, seed and steps reproduce the plan. */
  readonly steps: number;
  readonly newNodes: readonly NewNode[];
  readonly placements: readonly Placement[];
  readonly unplaced: readonly Unplaced[];
  /** The sum of each new node's cheapest option. */
  readonly priceMicrosPerHour: number;
  readonly bound: Bound;
  /** The charge per new node that plans were compared with; absent: none. Prices leave it out. */
  readonly nodeChargeMicrosPerHour?: number;
  /**
   * The amounts that the new nodes count for pods that request none of a resource. Absent if each
   * pod counts by its requests.
   */
  readonly assumedRequests?: Resources;
  readonly stats: {
    readonly pods: number;
    readonly classes: number;
    readonly instanceTypes: number;
  };
};

/** A rule that a plan breaks, as the checker found it. */
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
