import { contentHash, type DisruptionReason, type PoolIdentity, poolKey } from '@dovetail/core-api';
import { assert } from '@dovetail/core-invariant';
import { compareText } from '@dovetail/core-kube-model';
import type { NewNode } from '@dovetail/core-scheduling';

/** Why a command exists. */
type CommandCause = 'empty' | 'underutilized' | 'drifted';

/** A node that a command gives up. */
export type NodeOut = {
  readonly nodeUid: string;
  readonly nodeName: string;
  readonly claimUid: string;
  readonly claimName: string;
  readonly pool: PoolIdentity;
  /** The price now of this type in this zone, with this capacity type. */
  readonly priceMicrosPerHour: number;
};

/** A node that a command buys. */
export type NodeIn = {
  /** The bin as planned: pool, requirements, options and pods. */
  readonly bin: NewNode;
  /** The price of the bin's cheapest option. */
  readonly priceMicrosPerHour: number;
  /** The most that the launched instance may cost. Options above it are not launched. */
  readonly priceCapMicrosPerHour: number;
};

/** The place of a pod that moves: a running node that stays, or a bin of the command. */
export type Destination =
  | { readonly kind: 'node'; readonly nodeName: string; readonly nodeUid: string }
  | { readonly kind: 'bin'; readonly binId: string };

/** A pod that leaves its node. Its successor has another UID. */
export type PodMove = {
  readonly podUid: string;
  readonly namespace: string;
  readonly name: string;
  /** The UID of a node out. */
  readonly fromNodeUid: string;
  readonly to: Destination;
};

/** The nodes that a command takes from the budget of a pool. */
type BudgetCharge = {
  readonly pool: PoolIdentity;
  readonly reason: DisruptionReason;
  readonly nodes: number;
};

/** The state of the feed that a command was judged on. */
export type JudgedPosition = { readonly incarnation: string; readonly sequence: number };

/** A proposal: the content that a command is made of. */
export type Proposal = {
  readonly cause: CommandCause;
  readonly nodesOut: readonly NodeOut[];
  readonly nodesIn: readonly NodeIn[];
  readonly moves: readonly PodMove[];
  /**
   * The cost of the disruption in Karpenter's units: 1, plus the eviction costs of the pods that
   * move, for each node out.
   */
  readonly disruptionCost: number;
  readonly position: JudgedPosition;
};

/**
 * One disruption, to be done whole or not at all: the nodes that go, the nodes that come, and the
 * pods that move. Invariant: nodes out, nodes in and moves are sorted by identity. Each move starts
 * on a node out, and ends on a node in or on a node that stays.
 */
export type Command = Proposal & {
  /**
   * The hash of what the command does. The same nodes, bins and moves have the same name, also when
   * they are judged again on a later position or at other prices.
   */
  readonly name: string;
  readonly priceBeforeMicrosPerHour: number;
  /** The price of the nodes in. Nodes that stay cost the same before and after. */
  readonly priceAfterMicrosPerHour: number;
  /** Micro-dollars an hour that are saved per unit of disruption. The best command comes first. */
  readonly score: number;
  readonly budgets: readonly BudgetCharge[];
};

const reasons = {
  empty: 'Empty',
  underutilized: 'Underutilized',
  drifted: 'Drifted',
} as const satisfies Readonly<Record<CommandCause, DisruptionReason>>;

/** The reason by which a pool's budgets know the cause. */
const budgetReasonOf = (cause: CommandCause): DisruptionReason => reasons[cause];

/** Makes the command of a proposal. The order of its lists does not count. */
export function commandOf(proposal: Proposal): Command {
  const nodesOut = proposal.nodesOut.toSorted((a, b) => compareText(a.nodeUid, b.nodeUid));
  const nodesIn = proposal.nodesIn.toSorted((a, b) => compareText(a.bin.id, b.bin.id));
  const moves = proposal.moves.toSorted((a, b) => compareText(a.podUid, b.podUid));
  const sorted = { ...proposal, nodesOut, nodesIn, moves };
  assertSound(sorted);
  const priceBeforeMicrosPerHour = sumOf(nodesOut);
  const priceAfterMicrosPerHour = sumOf(nodesIn);
  const saved = priceBeforeMicrosPerHour - priceAfterMicrosPerHour;
  return {
    ...sorted,
    name: nameOf(sorted),
    priceBeforeMicrosPerHour,
    priceAfterMicrosPerHour,
    score: saved / proposal.disruptionCost,
    budgets: chargesOf(sorted),
  };
}

const sumOf = (priced: readonly { readonly priceMicrosPerHour: number }[]): number =>
  priced.reduce((sum, { priceMicrosPerHour }) => sum + priceMicrosPerHour, 0);

function assertSound({ nodesOut, nodesIn, moves, disruptionCost }: Proposal): void {
  assert(nodesOut.length > 0, 'a command gives up a node at least');
  assert(disruptionCost > 0, 'a disruption costs more than nothing');
  const out = new Set(nodesOut.map(({ nodeUid }) => nodeUid));
  assert(out.size === nodesOut.length, 'a command names each node out once');
  const bins = new Set(nodesIn.map(({ bin }) => bin.id));
  assert(bins.size === nodesIn.length, 'a command names each bin once');
  assert(
    new Set(moves.map(({ podUid }) => podUid)).size === moves.length,
    'a command moves each pod once',
  );
  for (const { priceMicrosPerHour, priceCapMicrosPerHour } of nodesIn)
    assert(priceMicrosPerHour <= priceCapMicrosPerHour, 'a bin has an option below its cap');
  for (const { fromNodeUid, to } of moves) {
    assert(out.has(fromNodeUid), 'a pod moves away from a node out');
    assert(
      to.kind === 'bin' ? bins.has(to.binId) : !out.has(to.nodeUid),
      'a pod moves to a node that is there afterwards',
    );
  }
}

/** Hashes the effects of the command, without prices and position. */
function nameOf({ cause, nodesOut, nodesIn, moves }: Proposal): string {
  const does = {
    cause,
    out: nodesOut.map(({ nodeUid, claimUid }) => `${nodeUid} ${claimUid}`),
    in: nodesIn.map(({ bin: { id, pool, requirements, podUids } }) => ({
      id,
      pool: poolKey(pool),
      requirements,
      podUids,
    })),
    moves: moves.map(({ podUid, to }) => ({
      podUid,
      to: to.kind === 'node' ? `node ${to.nodeUid}` : `bin ${to.binId}`,
    })),
  };
  return `${cause}-${contentHash(does)}`;
}

function chargesOf({ cause, nodesOut }: Proposal): readonly BudgetCharge[] {
  const charges = new Map<string, BudgetCharge>();
  for (const { pool } of nodesOut) {
    const key = poolKey(pool);
    const nodes = (charges.get(key)?.nodes ?? 0) + 1;
    charges.set(key, { pool, reason: budgetReasonOf(cause), nodes });
  }
  return [...charges].sort(([a], [b]) => compareText(a, b)).map(([, charge]) => charge);
}
