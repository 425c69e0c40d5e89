import type { NodeClaim } from '@dovetail/core-api';
import type { Node } from '@dovetail/core-kube-model';

import type { DisruptionNote } from '../facts/refusal.js';
import type { RetirementCause } from '../facts/retirement-record.js';
import type { UnhealthyCondition } from '../facts/unhealthy.js';
import type { EligibilityOptions } from '../rules/eligibility.js';
import type { HealthCensus } from '../rules/repair-brake.js';

const askingCauses = ['drifted', 'unhealthy'] as const satisfies readonly RetirementCause[];
/** A cause that asks a solver for the places of a node's pods before it begins. */
export type AskingCause = (typeof askingCauses)[number];

/** Whether a cause asks a solver before it begins. */
export const isAsking = (cause: RetirementCause): cause is AskingCause =>
  askingCauses.some((one) => one === cause);

/** The health of the nodes, for causes that ask it. */
type HealthFacts = {
  /** Undefined: the node is healthy. */
  readonly conditionOf: (node: Node) => UnhealthyCondition | undefined;
  readonly census: HealthCensus;
};

/** Everything beside the node itself that a cause reads. */
export type CauseFacts = EligibilityOptions & {
  /** Absent: unhealthy nodes are not repaired. */
  readonly health?: HealthFacts;
  /** Whether under-used nodes are given up at all. Absent: they are. */
  readonly consolidates?: boolean;
  /**
   * Why a node that is due for this cause stays, as a solver said a moment ago: its pods have no
   * other place. `null`: they have. Undefined: it is not known. Absent: of no node.
   */
  readonly placeAnswer?: (
    claim: NodeClaim,
    cause: AskingCause,
  ) => DisruptionNote | null | undefined;
  /** The reason for which the last search left a node. Undefined, or absent: it was not left. */
  readonly searchAnswer?: (claim: NodeClaim) => DisruptionNote | undefined;
};

/** A node that is due for a cause. */
export type Due = {
  readonly kind: 'due';
  /** Since when, for the order among nodes of one cause. */
  readonly sinceMs: number;
  readonly note: DisruptionNote;
  /** The things in it or its pods that hold it although it is due. */
  readonly held: readonly DisruptionNote[];
  /** Why a solver's last answer leaves it. Absent: it does not, or it was not asked. */
  readonly left?: DisruptionNote;
  /** The record of its retirement, beside the cause. */
  readonly record?: { readonly detail?: string; readonly drainMs?: number };
  /** Whether a solver has to say first that its pods have another place. */
  readonly isToAsk?: boolean;
};

/**
 * How a node stands for one cause. `stays`: nothing of this cause asks for its end; without notes,
 * there is nothing to say about it. `later`: a time runs.
 */
export type Standing =
  | { readonly kind: 'stays'; readonly notes: readonly DisruptionNote[] }
  | { readonly kind: 'later'; readonly dueMs?: number; readonly notes: readonly DisruptionNote[] }
  | Due;

/** Nothing of the cause concerns the node. */
export const ofNoConcern: Standing = { kind: 'stays', notes: [] };
