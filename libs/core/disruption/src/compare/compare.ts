import { poolKey } from '@dovetail/core-api';
import { present } from '@dovetail/core-invariant';
import type { Plan } from '@dovetail/core-scheduling';

import { replaceableDrift } from '../causes/drift.js';
import { podsThatCount } from '../causes/emptiness.js';
import { nodesInMax } from '../consolidation/search.js';
import { type DisruptionNote, note } from '../facts/refusal.js';
import type { NodeView } from '../facts/view.js';
import { priceOf } from '../rules/costs.js';
import type { EndReason } from './rounds.js';

/** Which under-used nodes are given up: the reaper's setting `CONSOLIDATION`. */
export type ConsolidationMode = 'none' | 'delete' | 'replace' | 'all' | 'search';

/** A node that another autoscaler ends, as it was before. Its claim carries its price now. */
export type EndedNode = { readonly view: NodeView; readonly reason: EndReason };

/** A node that someone buys, with its price. */
export type PricedNode = {
  readonly pool: string;
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: string;
  readonly priceMicrosPerHour: number;
};

/** A round of another autoscaler, and the planner to compare it with. */
export type ComparisonInput = {
  readonly launched: readonly PricedNode[];
  readonly ended: readonly EndedNode[];
  readonly consolidation: ConsolidationMode;
  /**
   * Plans the round's pods: those that waited, and those of the ended nodes. Nodes whose claims
   * have these UIDs stay as they are.
   */
  readonly planKeeping: (claimUids: ReadonlySet<string>) => Plan;
};

/** The end that Dovetail would have made of a node that the other one ends, or why it keeps it. */
export type EndVerdict = {
  readonly claim: string;
  readonly node?: string;
  readonly pool: string;
  readonly reason: EndReason;
  readonly priceMicrosPerHour: number;
  /** Why Dovetail would have kept the node; absent: it would have ended it, too. */
  readonly keeps?: DisruptionNote;
};

/** A round of another autoscaler beside the one that Dovetail would have made of the same state. */
export type Comparison = {
  readonly theirs: { readonly nodes: readonly PricedNode[]; readonly priceMicrosPerHour: number };
  readonly ours: {
    readonly nodes: readonly PricedNode[];
    readonly podsOnExistingNodes: number;
    readonly podsUnplaced: number;
    /** The new nodes, and the nodes that the other one ends and Dovetail keeps. */
    readonly priceMicrosPerHour: number;
  };
  readonly ends: readonly EndVerdict[];
  /** Negative: Dovetail would have cost less. */
  readonly differenceMicrosPerHour: number;
};

const sum = (prices: readonly { readonly priceMicrosPerHour: number }[]): number =>
  prices.reduce((total, { priceMicrosPerHour }) => total + priceMicrosPerHour, 0);

/** Why the node would be kept, as far as no plan is needed to say so. */
function keptOutright(
  { view, reason }: EndedNode,
  consolidation: ConsolidationMode,
): DisruptionNote | undefined {
  switch (reason) {
    case 'Expired':
    case 'Other':
      return undefined;
    case 'Drifted':
      return replaceableDrift(view) === undefined
        ? note('not-drifted', 'it is as its pool and class ask for, or its pool is static')
        : undefined;
    case 'Empty': {
      const pods = podsThatCount(view.pods).length;
      if (pods > 0) return note('not-empty', `${String(pods)} pods need this node`, { pods });
      return view.pool?.disruption.consolidateAfterMs === undefined
        ? note('disruption-disabled', 'consolidateAfter is Never: empty nodes stay')
        : undefined;
    }
    case 'Underutilized':
      return consolidation === 'none'
        ? note('disruption-disabled', 'CONSOLIDATION is none: nodes with pods stay')
        : undefined;
  }
}

/** The most nodes that one command of this mode buys. */
const nodesMax: Readonly<Record<ConsolidationMode, number>> = {
  none: 0,
  delete: 0,
  replace: 1,
  all: 1,
  search: nodesInMax,
};

/** Why the under-used nodes would be kept after all, by what giving them up adds to the plan. */
function keptForPrice(
  added: { readonly nodes: number; readonly microsPerHour: number; readonly unplaced: number },
  nodes: readonly EndedNode[],
  consolidation: ConsolidationMode,
): DisruptionNote | undefined {
  const freedMicros = nodes.reduce((total, { view }) => total + priceOf(view), 0);
  if (added.unplaced > 0)
    return note('pods-without-place', `${String(added.unplaced)} of its pods fit nowhere else`);
  if (added.nodes > nodesMax[consolidation])
    return note(
      'needs-new-node',
      `${String(added.nodes)} new nodes for its pods are more than CONSOLIDATION=${consolidation} buys`,
    );
  const isOneByOne = consolidation !== 'all' && consolidation !== 'search';
  if (isOneByOne && nodes.length > 1)
    return note(
      'disruption-disabled',
      'several nodes go together only with CONSOLIDATION=all or search',
    );
  return added.microsPerHour < freedMicros
    ? undefined
    : note('not-worthwhile', 'new nodes for its pods cost as much');
}

type Sorted = {
  /** Why nodes are kept whatever a plan costs, by the UID of the claim. */
  readonly kept: ReadonlyMap<string, DisruptionNote>;
  /** The under-used nodes that go if that pays. */
  readonly underused: readonly EndedNode[];
};

function sorted({
  ended,
  consolidation,
}: Pick<ComparisonInput, 'ended' | 'consolidation'>): Sorted {
  const kept = new Map(
    ended.flatMap((one) => {
      const keeps = keptOutright(one, consolidation);
      return keeps === undefined ? [] : [[one.view.claim.uid, keeps] as const];
    }),
  );
  const underused = ended.filter(
    ({ reason, view }) => reason === 'Underutilized' && !kept.has(view.claim.uid),
  );
  return { kept, underused };
}

/** The sets of claims for which `compareRound` asks for a plan that keeps their nodes. */
export function keptSetsOf(
  input: Pick<ComparisonInput, 'ended' | 'consolidation'>,
): readonly ReadonlySet<string>[] {
  const { kept, underused } = sorted(input);
  const least = new Set(kept.keys());
  return underused.length === 0
    ? [least]
    : [least, new Set([...least, ...underused.map(({ view }) => view.claim.uid)])];
}

/** The nodes that Dovetail would have kept, with the reasons, and the plan for everything else. */
function decided(input: ComparisonInput): Pick<Sorted, 'kept'> & { readonly plan: Plan } {
  const { kept, underused } = sorted(input);
  const [plan, without] = keptSetsOf(input).map(input.planKeeping);
  if (plan === undefined || without === undefined)
    return { kept, plan: present(plan, 'there is a plan for every round') };
  const added = {
    nodes: plan.newNodes.length - without.newNodes.length,
    microsPerHour: plan.priceMicrosPerHour - without.priceMicrosPerHour,
    unplaced: plan.unplaced.length - without.unplaced.length,
  };
  const keeps = keptForPrice(added, underused, input.consolidation);
  if (keeps === undefined) return { kept, plan };
  const more = underused.map(({ view }) => [view.claim.uid, keeps] as const);
  return { kept: new Map([...kept, ...more]), plan: without };
}

const plannedNodes = (plan: Plan): readonly PricedNode[] =>
  plan.newNodes.flatMap(({ pool, options: [option] }) =>
    option === undefined ? [] : [{ ...option, pool: poolKey(pool) }],
  );

/**
 * Compares a round of another autoscaler with the plan that Dovetail would have made. Both are
 * judged by what the round's pods cost afterwards: nodes that were bought, and nodes that one ends
 * and the other keeps.
 */
export function compareRound(input: ComparisonInput): Comparison {
  const { kept, plan } = decided(input);
  const ends = input.ended.map(({ view, reason }): EndVerdict => {
    const keeps = kept.get(view.claim.uid);
    return {
      claim: view.claim.name,
      ...(view.node === undefined ? {} : { node: view.node.name }),
      pool: poolKey(view.claim.pool),
      reason,
      priceMicrosPerHour: priceOf(view),
      ...(keeps === undefined ? {} : { keeps }),
    };
  });
  const nodes = plannedNodes(plan);
  const theirs = sum(input.launched);
  const ours = sum(nodes) + sum(ends.filter(({ keeps }) => keeps !== undefined));
  return {
    theirs: { nodes: input.launched, priceMicrosPerHour: theirs },
    ours: {
      nodes,
      podsOnExistingNodes: plan.placements.reduce(
        (total, { podUids }) => total + podUids.length,
        0,
      ),
      podsUnplaced: plan.unplaced.length,
      priceMicrosPerHour: ours,
    },
    ends,
    differenceMicrosPerHour: ours - theirs,
  };
}
