import { labels, type NodeClaim, nodePriceOf, type Pool, poolKey } from '@dovetail/core-api';
import { annotations } from '@dovetail/core-api';
import { isRetiring } from '@dovetail/core-cluster';
import {
  emptySinceAnnotation,
  expiryOf,
  parseRetirement,
  shownCause,
} from '@dovetail/core-disruption';
import type { Node } from '@dovetail/core-kube-model';

import { countText } from '../layout/counts.js';
import { periodText } from '../layout/periods.js';

/** The name and version of the form of `dovetail top -o json`. A version only gains fields. */
export const topSchema = 'dovetail.sh/top/v1';

/** How far a node is in its life. */
export const nodeStates = ['launching', 'starting', 'ready', 'not-ready', 'ending'] as const;

/** How far a node is in its life. */
export type NodeState = (typeof nodeStates)[number];

/** The pods' requests of what a node can give: `cpu` in millicores, memory in bytes. */
export type Fill = { readonly requested: number; readonly allocatable: number };

/** The requests of all pods of a node. */
export type Use = {
  readonly cpu: number;
  readonly memory: number;
  readonly pods: number;
  /** The pods that would need another place: not those of daemonsets. */
  readonly moving: number;
};

/** A node, or a claim that becomes one, as `dovetail top` shows it. */
export type TopNode = {
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
  readonly ageMs: number;
  /** The next thing that happens to it, for people. */
  readonly next: string;
  /** When that happens, if a time is known: milliseconds since 1970. */
  readonly nextMs?: number;
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

type Next = { readonly next: string; readonly nextMs?: number };

const inTime = (what: string, atMs: number, nowMs: number): Next => ({
  next: atMs <= nowMs ? `${what} now` : `${what} in ${periodText(atMs - nowMs)}`,
  nextMs: atMs,
});

function endingText({ node, use }: NodeParts): string {
  const retirement = parseRetirement(node?.annotations[annotations.retirement]);
  const cause = retirement === undefined ? '' : ` (${shownCause(retirement)})`;
  const left = use.moving === 0 ? '' : `: ${countText(use.moving, 'pod')} to move`;
  return `ending${cause}${left}`;
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
function nextOf(parts: NodeParts, state: NodeState, nowMs: number): Next {
  const { claim, pool } = parts;
  if (state === 'ending') return { next: endingText(parts) };
  if (state === 'launching') return { next: 'launches' };
  if (state === 'starting') return { next: 'becomes ready' };
  if (state === 'not-ready') return { next: 'not ready: repaired or ended' };
  if (isTrue(claim, 'Drifted')) return { next: 'drifted: is replaced' };
  const emptyMs = emptyEndMs(parts);
  if (emptyMs !== undefined) return inTime('empty: ends', emptyMs, nowMs);
  const expiry = expiryOf(pool === undefined ? { claim } : { claim, pool }, nowMs);
  if (expiry.kind === 'never') return { next: 'stays' };
  return inTime('expires', expiry.dueMs, nowMs);
}

/** The row of one node. */
export function topNodeOf(parts: NodeParts, nowMs: number): TopNode {
  const { claim, node, use } = parts;
  const state = stateOf(parts);
  const price = nodePriceOf(claim);
  const of = { ...claim.labels, ...node?.labels };
  const gives = node?.allocatable ?? claim.allocatable;
  return {
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
    ageMs: Math.max(0, nowMs - claim.createdMs),
    ...nextOf(parts, state, nowMs),
  };
}
