import { poolKey } from '@dovetail/core-api';
import type { Command, Consolidation, NodeIn, NodeView } from '@dovetail/core-disruption';
import type { Bound } from '@dovetail/core-scheduling';

/** A node that a command buys. Prices are US dollars per hour. */
type NodeInResult = {
  readonly id: string;
  readonly pool: string;
  readonly instanceTypes: readonly string[];
  readonly zones: readonly string[];
  readonly capacityTypes: readonly string[];
  readonly price: number;
  /** The most that the launched instance may cost. */
  readonly priceMost: number;
};

/** A command in the form of `-o json`. */
export type CommandResult = {
  readonly name: string;
  readonly nodesOut: readonly {
    readonly name: string;
    readonly pool: string;
    readonly price: number;
  }[];
  readonly nodesIn: readonly NodeInResult[];
  /** The place of each pod that moves: a running node, or the `id` of a node in. */
  readonly moves: readonly { readonly pod: string; readonly from: string; readonly to: string }[];
  readonly cost: { readonly before: number; readonly after: number; readonly saving: number };
  /** The cost of the disruption in Karpenter's units. */
  readonly disruption: number;
  /** Dollars an hour saved per unit of disruption. */
  readonly score: number;
};

/** The form of the commands, which docs/reference/schemas publishes. */
const consolidateSchema = 'dovetail.sh/consolidate/v1';

/** The commands in the form of `-o json` and `-o yaml`. Prices are US dollars per hour. */
export type ConsolidationResult = {
  readonly schema: typeof consolidateSchema;
  readonly commands: readonly CommandResult[];
  /** Nodes that stay whatever could be saved, with the reasons. */
  readonly stays: readonly { readonly node: string; readonly reasons: readonly string[] }[];
  /** Pools whose budget holds all of their nodes back. */
  readonly heldBack: readonly { readonly pool: string; readonly reason: string }[];
  /** `gap` is the share of the bound that the cost after all commands is above it. */
  readonly cost: {
    readonly before: number;
    readonly after: number;
    readonly lowerBound: number;
    readonly gap: number | null;
    readonly bound: string;
  };
  readonly nodes: { readonly before: number; readonly after: number };
  readonly evictions: number;
  readonly stats: {
    readonly tries: number;
    /** `complete`: nothing more was found. `stopped` and `tries`: a limit ended the search. */
    readonly ended: Consolidation['ended'];
    readonly milliseconds: number;
  };
};

const dollars = (micros: number): number => micros / 1_000_000;
const distinct = (values: readonly string[]): readonly string[] => [...new Set(values)];

const nodeInOf = ({ bin, priceMicrosPerHour, priceCapMicrosPerHour }: NodeIn): NodeInResult => ({
  id: bin.id,
  pool: poolKey(bin.pool),
  instanceTypes: distinct(bin.options.map(({ instanceType }) => instanceType)),
  zones: distinct(bin.options.map(({ zone }) => zone)).toSorted(),
  capacityTypes: distinct(bin.options.map(({ capacityType }) => capacityType)).toSorted(),
  price: dollars(priceMicrosPerHour),
  priceMost: dollars(priceCapMicrosPerHour),
});

function commandOf(command: Command): CommandResult {
  const names = new Map(command.nodesOut.map(({ nodeUid, nodeName }) => [nodeUid, nodeName]));
  const before = dollars(command.priceBeforeMicrosPerHour);
  const after = dollars(command.priceAfterMicrosPerHour);
  return {
    name: command.name,
    nodesOut: command.nodesOut.map(({ nodeName, pool, priceMicrosPerHour }) => ({
      name: nodeName,
      pool: poolKey(pool),
      price: dollars(priceMicrosPerHour),
    })),
    nodesIn: command.nodesIn.map(nodeInOf),
    moves: command.moves.map(({ namespace, name, fromNodeUid, to }) => ({
      pod: `${namespace}/${name}`,
      from: names.get(fromNodeUid) ?? '',
      to: to.kind === 'node' ? to.nodeName : to.binId,
    })),
    cost: {
      before,
      after,
      saving: dollars(command.priceBeforeMicrosPerHour - command.priceAfterMicrosPerHour),
    },
    disruption: command.disruptionCost,
    score: dollars(command.score),
  };
}

/** The nodes that no command may give up. */
const leftAloneOf = ({
  candidates,
}: Consolidation): Pick<ConsolidationResult, 'stays' | 'heldBack'> => ({
  stays: candidates.stays.map(({ view, notes }) => ({
    node: view.node?.name ?? view.claim.name,
    reasons: notes.map(({ message }) => message),
  })),
  heldBack: candidates.exhausted.map(({ pool, note }) => ({
    pool: poolKey(pool.identity),
    reason: note.message,
  })),
});

/** The commands that were found, with the price of all nodes before and after them. */
export function consolidationResultOf(
  found: Consolidation,
  of: {
    readonly views: readonly NodeView[];
    readonly priceMicrosPerHour: number;
    readonly bound: Bound;
    readonly milliseconds: number;
  },
): ConsolidationResult {
  const { commands } = found;
  const sum = (pick: (command: Command) => number): number =>
    commands.reduce((total, command) => total + pick(command), 0);
  const before = of.priceMicrosPerHour;
  const after =
    before - sum((each) => each.priceBeforeMicrosPerHour - each.priceAfterMicrosPerHour);
  const bound = of.bound.priceMicrosPerHour;
  const nodes = of.views.length;
  return {
    schema: consolidateSchema,
    commands: commands.map(commandOf),
    ...leftAloneOf(found),
    cost: {
      before: dollars(before),
      after: dollars(after),
      lowerBound: dollars(bound),
      gap: bound > 0 && bound <= after ? (after - bound) / bound : null,
      bound: of.bound.kind,
    },
    nodes: {
      before: nodes,
      after: nodes + sum(({ nodesIn, nodesOut }) => nodesIn.length - nodesOut.length),
    },
    evictions: sum(({ moves }) => moves.length),
    stats: {
      tries: found.tries,
      ended: found.ended,
      milliseconds: Math.round(of.milliseconds * 1000) / 1000,
    },
  };
}
