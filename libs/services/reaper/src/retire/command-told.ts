import {
  type CommandRecordParts,
  type CommandTold,
  nodePriceText,
  poolKey,
} from '@dovetail/core-api';
import type { Candidate, Command, NodeIn, PodMove } from '@dovetail/core-disruption';
import { compareText } from '@dovetail/core-kube-model';
import { countText } from '@dovetail/service-kit';

/** Options of a bought node that are told: people read the cheapest. */
const optionsMax = 10;
/** Moves that are told. A hundred full nodes have more, and an object of etcd has a limit. */
const movesMax = 1_000;

const priceText = (priceMicrosPerHour: number, priceEstimated = false): string =>
  nodePriceText({ priceMicrosPerHour, priceEstimated });

const purchaseOf = ({ bin, priceMicrosPerHour, priceCapMicrosPerHour }: NodeIn) => ({
  pool: poolKey(bin.pool),
  options: bin.options
    .slice(0, optionsMax)
    .map(({ instanceType, zone, capacityType }) => `${instanceType} in ${zone} (${capacityType})`),
  pricePerHour: priceText(priceMicrosPerHour),
  maxPricePerHour: priceText(priceCapMicrosPerHour),
});

/** A command, its nodes, and the plan that buys nodes for its pods if there is one. */
type Told = {
  readonly command: Command;
  readonly candidates: readonly Candidate[];
  readonly plan?: { readonly id: string };
};

/** The resource of a command. */
export const partsOf = ({ command, candidates, plan }: Told): CommandRecordParts => ({
  name: command.name,
  nodesOut: command.nodesOut.map(({ nodeName, nodeUid, claimName, claimUid }) => ({
    nodeName,
    nodeUid,
    claimName,
    claimUid,
  })),
  told: toldOf(command, isEstimated(candidates)),
  ...(plan === undefined ? {} : { planId: plan.id }),
});

/** Whether a node that goes has the price of its launch, since its price now is not known. */
export const isEstimated = (candidates: readonly Candidate[]): boolean =>
  candidates.some(({ view }) => view.priceMicrosPerHour === undefined);

/** A command in one line: the nodes that go, how many come, and how many pods move. */
export function summaryOf({ nodesOut, nodesIn, moves }: Command): string {
  const names = nodesOut.map(({ nodeName }) => nodeName).sort(compareText);
  const goes = names.length === 1 ? 'goes' : 'go';
  const come = nodesIn.length === 0 ? goes : `→ ${countText(nodesIn.length, 'new node')}`;
  return `${names.join(', ')} ${come}; ${countText(moves.length, 'pod')} to move`;
}

/** The first moves of a command: each pod, the node that it leaves, and where it goes. */
export const toldMoves = (command: Command, max: number) =>
  command.moves.slice(0, max).map((move) => moveOf(move, command));

/** The words about a command in its resource. */
function toldOf(command: Command, isBeforeEstimated: boolean): CommandTold {
  const { priceBeforeMicrosPerHour: before, priceAfterMicrosPerHour: after } = command;
  return {
    summary: summaryOf(command),
    nodesIn: command.nodesIn.map(purchaseOf),
    moves: toldMoves(command, movesMax),
    pricePerHourBefore: priceText(before, isBeforeEstimated),
    pricePerHourAfter: priceText(after),
    savingPerHour: priceText(before - after, isBeforeEstimated),
    disruptionCost: command.disruptionCost.toFixed(2),
  };
}

function moveOf({ namespace, name, fromNodeUid, to }: PodMove, { nodesOut, nodesIn }: Command) {
  const from = nodesOut.find(({ nodeUid }) => nodeUid === fromNodeUid)?.nodeName ?? fromNodeUid;
  const number = nodesIn.findIndex(({ bin }) => to.kind === 'bin' && bin.id === to.binId) + 1;
  return {
    pod: `${namespace}/${name}`,
    from,
    to: to.kind === 'node' ? to.nodeName : `new node ${String(number)}`,
  };
}
