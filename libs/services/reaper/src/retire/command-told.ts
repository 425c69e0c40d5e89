import {
  type CommandRecordParts,
  type CommandTold,
  nodePriceText,
  poolKey,
} from '@dovetail/core-api';
import type { Command, NodeIn, PodMove } from '@dovetail/core-disruption';
import { compareText } from '@dovetail/core-kube-model';
import { countText } from '@dovetail/service-kit';

/** Options of a bought node that are told: people read the cheapest. */
const optionsMax = 10;
/** Moves that are told. A hundred full nodes have more, and an object of etcd has a limit. */
const movesMax = 1_000;

const priceText = (priceMicrosPerHour: number): string =>
  nodePriceText({ priceMicrosPerHour, priceEstimated: false });

const purchaseOf = ({ bin, priceMicrosPerHour, priceCapMicrosPerHour }: NodeIn) => ({
  pool: poolKey(bin.pool),
  options: bin.options
    .slice(0, optionsMax)
    .map(({ instanceType, zone, capacityType }) => `${instanceType} in ${zone} (${capacityType})`),
  pricePerHour: priceText(priceMicrosPerHour),
  maxPricePerHour: priceText(priceCapMicrosPerHour),
});

/** The resource of a command, with the plan that buys nodes for its pods if there is one. */
export const partsOf = (command: Command, plan?: { readonly id: string }): CommandRecordParts => ({
  name: command.name,
  nodesOut: command.nodesOut.map(({ nodeName, nodeUid, claimName, claimUid }) => ({
    nodeName,
    nodeUid,
    claimName,
    claimUid,
  })),
  told: toldOf(command),
  ...(plan === undefined ? {} : { planId: plan.id }),
});

/** The words about a command in its resource. */
function toldOf(command: Command): CommandTold {
  const { nodesOut, nodesIn, moves } = command;
  const { priceBeforeMicrosPerHour: before, priceAfterMicrosPerHour: after } = command;
  const names = nodesOut.map(({ nodeName }) => nodeName).sort(compareText);
  const out = names.join(', ');
  const come = nodesIn.length === 0 ? 'go' : `→ ${countText(nodesIn.length, 'new node')}`;
  return {
    summary: `${out} ${come}; ${countText(moves.length, 'pod')} to move`,
    nodesIn: nodesIn.map(purchaseOf),
    moves: moves.slice(0, movesMax).map((move) => moveOf(move, command)),
    pricePerHourBefore: priceText(before),
    pricePerHourAfter: priceText(after),
    savingPerHour: priceText(before - after),
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
