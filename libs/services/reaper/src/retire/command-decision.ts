import type { Candidate, Command } from '@dovetail/core-disruption';
import { at } from '@dovetail/core-invariant';
import { compareText } from '@dovetail/core-kube-model';
import type { NewDecision } from '@dovetail/service-kit';

import { isEstimated, summaryOf, toldMoves } from './command-told.js';
import { underUsed } from './under-used.js';

/** The most options, pods and moves that a decision lists: enough to explain it. */
const listedMax = 20;

/** A command that has begun. */
type Begun = {
  readonly command: Command;
  readonly candidates: readonly Candidate[];
  /** The plan that it was judged by. Its record makes it again. */
  readonly whatIfId: string;
  /** The plan that buys its nodes, if it buys any. */
  readonly planId?: string;
  readonly atMs: number;
};

/**
 * A command as a decision: its nodes, the pods that move, its prices before and after, and the
 * other options of the nodes that it buys. It is told once its nodes are marked: a command that
 * never began is none.
 */
export function decisionOfCommand(begun: Begun): NewDecision {
  const { command, candidates, planId, atMs } = begun;
  const { nodesOut, nodesIn, priceAfterMicrosPerHour } = command;
  const [{ pool }, ...others] = [at(nodesOut, 0), ...nodesOut.slice(1)];
  const isOfOnePool = others.every((one) => one.pool.name === pool.name);
  return {
    id: `command/${command.name}/${String(atMs)}`,
    kind: 'command',
    ...(isOfOnePool ? { pool } : {}),
    summary: [summaryOf(command), ...savingOf(begun)].join(', '),
    reasons: candidates.map(({ view }) => underUsed(command, view.node.name)).slice(0, listedMax),
    ...(nodesIn.length === 0 ? {} : { priceMicrosPerHour: priceAfterMicrosPerHour }),
    alternatives: nodesIn
      .flatMap(({ bin }) =>
        bin.options.map(({ instanceType, zone, capacityType, priceMicrosPerHour }) => ({
          what: `${bin.id}: ${instanceType} ${zone} ${capacityType}`,
          priceMicrosPerHour,
        })),
      )
      .slice(0, listedMax),
    ...(planId === undefined ? {} : { planId }),
    objects: nodesOut
      .toSorted((a, b) => compareText(a.nodeName, b.nodeName))
      .map(({ nodeName, nodeUid }) => ({ kind: 'Node', name: nodeName, uid: nodeUid })),
    facts: factsOf(begun),
  };
}

const savedOf = ({ priceBeforeMicrosPerHour, priceAfterMicrosPerHour }: Command): number =>
  priceBeforeMicrosPerHour - priceAfterMicrosPerHour;

/** The saving in words, if there is one: the price of a node that goes may not be known at all. */
function savingOf({ command, candidates }: Begun): readonly string[] {
  const saved = savedOf(command);
  const mark = isEstimated(candidates) ? '~' : '';
  return saved > 0 ? [`${mark}$${(saved / 1e6).toFixed(4)}/h saved`] : [];
}

function factsOf({ command, whatIfId }: Begun): Readonly<Record<string, string>> {
  const { name, nodesOut, nodesIn, moves, disruptionCost, score } = command;
  return {
    command: name,
    whatIf: whatIfId,
    nodesOut: String(nodesOut.length),
    nodesIn: String(nodesIn.length),
    pods: String(moves.length),
    moves: toldMoves(command, listedMax)
      .map(({ pod, from, to }) => `${pod}: ${from} to ${to}`)
      .join('; '),
    priceBeforeMicrosPerHour: String(command.priceBeforeMicrosPerHour),
    savedMicrosPerHour: String(savedOf(command)),
    disruptionCost: disruptionCost.toFixed(2),
    score: score.toFixed(2),
  };
}
