import {
  annotations,
  labels,
  type NodeClaim,
  nodePriceOf,
  type Pool,
  poolKey,
} from '@dovetail/core-api';
import { isRetiring } from '@dovetail/core-cluster';
import {
  emptySinceAnnotation,
  expiryOf,
  parseRetirement,
  shownCause,
} from '@dovetail/core-disruption';
import type { Node } from '@dovetail/core-kube-model';

import { countText, type Fill, type NextStep } from './words.js';

/** How far a node is in its life. */
export const nodeStates = ['launching', 'starting', 'ready', 'not-ready', 'ending'] as const;
/** How far a node is in its life. */
export type NodeState = (typeof nodeStates)[number];

/** The requests of all pods of a node. */
export type Use = {
  readonly cpu: number;
  readonly memory: number;
  readonly pods: number;
  /** The pods that would need another place: not those of daemonsets. */
  readonly moving: number;
};

/** A node, or a claim that becomes one, as people look at it. The present time is no part of it. */
export type FleetNode = {
  /** The UID of its claim. */
  readonly uid: string;
  /** The name of the node, or of its claim until it joins. */
  readonly node: string;
  readonly claim: string;
  /** Kind and name of the pool. */
  readonly pool: string;
  readonly instanceType: string;
  readonly capacityType: string;
  readonly zone: string;
  readonly state: NodeState;
  readonly cpu: Fill;
  readonly memory: Fill;
  readonly pods: number;
  readonly podsMax: number;
  /** At its launch. Absent: not launched yet, or unknown. */
  readonly priceMicrosPerHour?: number;
  readonly priceEstimated: boolean;
  readonly createdMs: number;
  /** Why it is being retired. Absent: it is not, or the reaper did not begin it. */
  readonly cause?: string;
  readonly next: NextStep;
};

/** The parts that a row is made of. Node and pool may be missing. */
export type NodeParts = {
  readonly claim: NodeClaim;
  readonly node: Node | undefined;
  readonly pool: Pool | undefined;
  readonly use: Use;
};

const isTrue = ({ conditions }: NodeClaim, type: string): boolean =>
  conditions.some((one) => one.type === type && one.status === 'True');

function stateOf({ claim, node }: NodeParts): NodeState {
  if (isRetiring(node, claim)) return 'ending';
  if (node === undefined) return 'launching';
  if (node.labels[labels.initialized] !== 'true') return 'starting';
  return node.ready ? 'ready' : 'not-ready';
}

function causeOf({ node }: NodeParts): string | undefined {
  const retirement = parseRetirement(node?.annotations[annotations.retirement]);
  return retirement === undefined ? undefined : shownCause(retirement);
}

function endingText({ use }: NodeParts, cause: string | undefined): string {
  const left = use.moving === 0 ? '' : `: ${countText(use.moving, 'pod')} to move`;
  return `ending${cause === undefined ? '' : ` (${cause})`}${left}`;
}

/** When the node ends as empty. Undefined: it is not empty, or its pool keeps empty nodes. */
function emptyEndMs({ claim, pool, use }: NodeParts): number | undefined {
  const afterMs = pool?.disruption.consolidateAfterMs;
  if (use.moving > 0 || afterMs === undefined) return undefined;
  const marked = Date.parse(claim.annotations[emptySinceAnnotation] ?? '');
  const sinceMs = Number.isNaN(marked) ? (claim.lastPodEventMs ?? claim.createdMs) : marked;
  return sinceMs + afterMs;
}

/**
 * The next thing that happens to a node, by its claim, pool and pods. Budgets and disruptions that
 * the reaper weighs are not known here.
 */
function nextOf(parts: NodeParts, state: NodeState, cause: string | undefined): NextStep {
  const { claim, pool } = parts;
  if (state === 'ending') return { what: endingText(parts, cause) };
  if (state === 'launching') return { what: 'launches' };
  if (state === 'starting') return { what: 'becomes ready' };
  if (state === 'not-ready') return { what: 'not ready: repaired or ended' };
  if (isTrue(claim, 'Drifted')) return { what: 'drifted: is replaced' };
  const emptyMs = emptyEndMs(parts);
  if (emptyMs !== undefined) return { what: 'empty: ends', atMs: emptyMs };
  // Only the time of the expiry counts here, and it does not depend on when it is asked for.
  const expiry = expiryOf(pool === undefined ? { claim } : { claim, pool }, claim.createdMs);
  if (expiry.kind === 'never') return { what: 'stays' };
  return { what: 'expires', atMs: expiry.dueMs };
}

/** The row of one node. */
export function fleetNodeOf(parts: NodeParts): FleetNode {
  const { claim, node, use } = parts;
  const state = stateOf(parts);
  const cause = causeOf(parts);
  const price = nodePriceOf(claim);
  const of = { ...claim.labels, ...node?.labels };
  const gives = node?.allocatable ?? claim.allocatable;
  return {
    uid: claim.uid,
    node: node?.name ?? claim.nodeName ?? claim.name,
    claim: claim.name,
    pool: poolKey(claim.pool),
    instanceType: of[labels.instanceType] ?? '-',
    capacityType: of[labels.capacityType] ?? '-',
    zone: of[labels.zone] ?? '-',
    state,
    cpu: { requested: use.cpu, allocatable: gives['cpu'] ?? 0 },
    memory: { requested: use.memory, allocatable: gives['memory'] ?? 0 },
    pods: use.pods,
    podsMax: gives['pods'] ?? 0,
    ...(price === undefined ? {} : { priceMicrosPerHour: price.priceMicrosPerHour }),
    priceEstimated: price?.priceEstimated ?? false,
    createdMs: claim.createdMs,
    ...(cause === undefined ? {} : { cause }),
    next: nextOf(parts, state, cause),
  };
}
