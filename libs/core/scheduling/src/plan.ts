import type { PoolIdentity } from '@dovetail/core-api';
import type { CapacityType } from '@dovetail/core-ec2-model';
import type { RequirementSpec, Resources, Taint } from '@dovetail/core-kube-model';

import type { Reason, ReasonCode } from './reasons.js';

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
  /** The pod whose own demands break the rule. Absent: no single planned pod is at fault. */
  readonly podUid?: string;
};
