import { annotations, poolKey } from '@dovetail/core-api';
import { formatDuration } from '@dovetail/core-kube-model';

import { type DisruptionNote, note } from '../facts/refusal.js';
import { parseRetirement } from '../facts/retirement-record.js';
import type { NodeView } from '../facts/view.js';
import type { CauseFacts, Standing } from './standing.js';

/** Whether and when a claim expires. */
export type Expiry =
  | { readonly kind: 'never'; readonly note: DisruptionNote }
  | { readonly kind: 'later'; readonly dueMs: number; readonly note: DisruptionNote }
  | { readonly kind: 'due'; readonly dueMs: number; readonly note: DisruptionNote };

/**
 * The longest life of a node. A NodePool's node keeps the `expireAfter` of its creation; a later
 * change drifts the node but does not move its expiry (Karpenter v1). A Provisioner's node never
 * drifts, and lives as long as `ttlSecondsUntilExpired` says now (Karpenter before v1beta1).
 */
const lifetimeMs = ({ claim, pool }: Pick<NodeView, 'claim' | 'pool'>): number | undefined =>
  pool?.identity.kind === 'Provisioner' ? pool.expireAfterMs : claim.expireAfterMs;

/**
 * Decides whether a claim has expired: its creation plus its longest life is over. Expiry ignores
 * budgets and do-not-disrupt. Draining still honours PodDisruptionBudgets.
 */
export function expiryOf(view: Pick<NodeView, 'claim' | 'pool'>, nowMs: number): Expiry {
  const { claim } = view;
  const expireAfterMs = lifetimeMs(view);
  if (expireAfterMs === undefined)
    return { kind: 'never', note: note('never-expires', 'expireAfter is Never', {}) };
  const dueMs = claim.createdMs + expireAfterMs;
  const values = {
    ageSeconds: Math.floor((nowMs - claim.createdMs) / 1000),
    expireAfterSeconds: Math.floor(expireAfterMs / 1000),
  };
  const said = note(
    nowMs < dueMs ? 'not-expired' : 'expired',
    `${ageText(values.ageSeconds)} old, expires after ${ageText(values.expireAfterSeconds)}`,
    values,
  );
  return { kind: nowMs < dueMs ? 'later' : 'due', dueMs, note: said };
}

/** How a node stands for expiry. */
export function expiredStanding(view: NodeView, { nowMs }: CauseFacts): Standing {
  const expiry = expiryOf(view, nowMs);
  switch (expiry.kind) {
    case 'never':
      return { kind: 'stays', notes: [expiry.note] };
    case 'later':
      return { kind: 'later', dueMs: expiry.dueMs, notes: [expiry.note] };
    case 'due':
      return { kind: 'due', sinceMs: expiry.dueMs, note: expiry.note, held: [] };
  }
}

const daySeconds = 86_400;

/** An age as people say it: whole days from two on, `1h44m` before. */
const ageText = (seconds: number): string =>
  seconds >= 2 * daySeconds
    ? `${String(Math.floor(seconds / daySeconds))} days`
    : formatDuration(seconds * 1_000);

/** How many nodes of a pool may be replaced at once because they expired. */
export type ExpiryLimits = {
  /** At most this share of the pool's nodes, rounded down, */
  readonly poolShareMax: number;
  /** or this many, whichever is more. */
  readonly alwaysAllowed: number;
  /** A drain that takes longer than this counts no more, so that a stuck one holds up no pool. */
  readonly drainMs: number;
};

/** Nodes of one scale-up expire together, and a clock may jump: neither may move a whole pool. */
const defaultExpiryLimits: ExpiryLimits = { poolShareMax: 0.1, alwaysAllowed: 5, drainMs: 900_000 };

function isInFlight({ claim, node }: NodeView, nowMs: number, limits: ExpiryLimits): boolean {
  if (parseRetirement(node?.annotations[annotations.retirement])?.cause !== 'expired') return false;
  return claim.deletionMs === undefined || nowMs - claim.deletionMs < limits.drainMs;
}

/** How many more nodes of each pool (`NodePool/default`) may begin to expire now. */
export function allowedExpiries(
  views: readonly NodeView[],
  nowMs: number,
  limits: ExpiryLimits = defaultExpiryLimits,
): ReadonlyMap<string, number> {
  const pools = new Map<string, { nodes: number; inFlight: number }>();
  for (const view of views) {
    const key = poolKey(view.claim.pool);
    const counted = pools.get(key) ?? { nodes: 0, inFlight: 0 };
    counted.nodes += 1;
    if (isInFlight(view, nowMs, limits)) counted.inFlight += 1;
    pools.set(key, counted);
  }
  const { poolShareMax, alwaysAllowed } = limits;
  return new Map(
    [...pools].map(([key, { nodes, inFlight }]) => [
      key,
      Math.max(0, Math.max(alwaysAllowed, Math.floor(nodes * poolShareMax)) - inFlight),
    ]),
  );
}
