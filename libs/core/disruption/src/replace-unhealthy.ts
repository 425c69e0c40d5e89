import { annotations, isWithoutPool, type NodeClaim, type Pool, poolKey } from '@dovetail/core-api';
import { present } from '@dovetail/core-invariant';
import { compareText } from '@dovetail/core-kube-model';

import { allowedDisruptions } from './budgets.js';
import { livePromises, type PodLookup } from './eligibility.js';
import { censusOf } from './methods.js';
import { type DisruptionNote, note } from './refusal.js';
import { reasonOf, type RepairDecision, type UnhealthyNode, unhealthyNodes } from './repair.js';
import {
  brakeOf,
  type HealthCensus,
  healthCensus,
  type NodeHealth,
  unhealthySharePercent,
} from './repair-brake.js';
import { isEnding, isInitialized, type NodeView } from './view.js';

/** Everything beside the health of nodes that a look reads. */
export type ReplaceOptions = {
  /** The view of every claim. Nodes whose retirement has begun are shown so. */
  readonly views: readonly NodeView[];
  readonly podOf: PodLookup;
  readonly nowMs: number;
  /** Whether a claim pauses after a retirement that was given up. */
  readonly pauses: (claim: NodeClaim) => boolean;
};

/** The result of one look by the method `replace`. */
export type ReplaceDecision = RepairDecision & {
  /** The pools whose budgets hold back nodes that are due. */
  readonly exhausted: readonly { readonly pool: Pool; readonly note: DisruptionNote }[];
  /** How many more nodes of each pool (`NodePool/default`) may be disrupted for their health. */
  readonly allowed: ReadonlyMap<string, number>;
  /** The number of nodes that are due and stay for now. */
  readonly waiting: number;
};

type Candidate = UnhealthyNode & { readonly view: NodeView };

const soonestFirst = (a: Candidate, b: Candidate): number =>
  a.condition.dueMs - b.condition.dueMs || compareText(a.node.name, b.node.name);

/**
 * Decides which unhealthy nodes to replace now, as Karpenter 1.15 does: those that are due, the
 * longest due first, as far as the budgets of their pools allow for the reason Unhealthy. The
 * annotation do-not-disrupt does not count, and do-not-repair does. A node that never became usable
 * takes nothing from a budget. The order of the nodes does not count.
 */
export function decideReplacements(
  nodes: readonly NodeHealth[],
  options: ReplaceOptions,
): ReplaceDecision {
  const { views, nowMs } = options;
  const viewOf = new Map(views.map((view) => [view.claim.uid, view]));
  const candidates = unhealthyNodes(nodes).flatMap((one): readonly Candidate[] => {
    const view = viewOf.get(one.claim.uid);
    return view === undefined || isEnding(view) ? [] : [{ ...one, view }];
  });
  const due = candidates.filter(({ condition }) => condition.dueMs <= nowMs).sort(soonestFirst);
  const nextDueMs = Math.min(
    ...candidates
      .filter(({ condition }) => condition.dueMs > nowMs)
      .map((one) => one.condition.dueMs),
  );
  const census = healthCensus(nodes);
  const judged = due
    .filter(({ claim }) => !options.pauses(claim))
    .map((one) => ({ one, block: blockOf(one, census, options) }));
  const free = judged.filter(({ block }) => block === undefined).map(({ one }) => one);
  const begun = withinBudgets(free, options);
  return {
    ...begun,
    waiting: due.length - begun.repair.length,
    blocked: judged.flatMap(({ one, block }) =>
      block === undefined ? [] : [{ ...one, note: block }],
    ),
    ...(Number.isFinite(nextDueMs) ? { nextDueMs } : {}),
  };
}

/** The reason in the node or its pool that holds back its replacement; undefined: none does. */
function blockOf(
  { claim, node, view }: Candidate,
  census: HealthCensus,
  { podOf, nowMs }: ReplaceOptions,
): DisruptionNote | undefined {
  if (view.pool === undefined || isWithoutPool(claim))
    return note('disruption-disabled', 'the node has no pool: it is not repaired');
  const [first] = isInitialized(view) ? livePromises(view, podOf, nowMs) : [];
  if (first !== undefined)
    return note('node-promised', 'Node is nominated for a pending pod', { node: node.name, first });
  if ([node, claim].some(({ annotations: held }) => held[annotations.doNotRepair] === 'true'))
    return note(
      'repair-vetoed',
      `repair is blocked through the "${annotations.doNotRepair}" annotation`,
      { node: node.name },
    );
  const braked = brakeOf(claim, census);
  if (braked === undefined) return undefined;
  const { pool: _pool, ...counts } = braked;
  const share = `more than ${String(unhealthySharePercent)}% of nodes`;
  return note('repair-blocked', `${share} in nodepool "${claim.pool.name}" are unhealthy`, counts);
}

function withinBudgets(
  free: readonly Candidate[],
  { views, nowMs }: ReplaceOptions,
): Omit<ReplaceDecision, 'blocked' | 'nextDueMs' | 'waiting'> {
  const census = censusOf(views, 'Unhealthy');
  const pools = new Map(
    views.flatMap(({ pool }) => (pool ? [[poolKey(pool.identity), pool]] : [])),
  );
  const answers = new Map(
    [...pools].map(([key, { disruption }]) => {
      const counted = census.get(key) ?? { nodes: 0, disrupted: 0 };
      return [key, allowedDisruptions(disruption.budgets, 'Unhealthy', counted, nowMs)];
    }),
  );
  const allowed = new Map([...answers].map(([key, answer]) => [key, answer.allowed]));
  const left = new Map(allowed);
  const exhausted = new Map<string, { pool: Pool; note: DisruptionNote }>();
  const repair = free.filter(({ claim, view }) => {
    if (!isInitialized(view)) return true;
    const key = poolKey(claim.pool);
    const remaining = present(left.get(key), 'every pool of a candidate has an allowance');
    left.set(key, remaining - 1);
    const held = remaining > 0 ? undefined : answers.get(key)?.note;
    const pool = pools.get(key);
    if (held !== undefined && pool !== undefined) exhausted.set(key, { pool, note: held });
    return remaining > 0;
  });
  return {
    repair: repair.map((one) => ({ ...one, note: reasonOf(one, nowMs) })),
    exhausted: [...exhausted.values()],
    allowed,
  };
}
