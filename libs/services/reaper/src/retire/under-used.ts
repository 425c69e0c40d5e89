import {
  type Candidate,
  type Command,
  type DisruptionNote,
  note,
  type Retirement,
} from '@dovetail/core-disruption';
import { countText } from '@dovetail/service-kit';

/** `2 pods fit on other nodes`, or `2 pods fit on other nodes and on a cheaper new node`. */
export function placesOf({ moves, nodesIn }: Command): string {
  if (moves.length === 0) return 'no pod needs another place';
  const isToNode = moves.some(({ to }) => to.kind === 'node');
  const places = [
    ...(isToNode ? ['on other nodes'] : []),
    ...(nodesIn.length === 1 ? ['on a cheaper new node'] : []),
    ...(nodesIn.length > 1 ? [`on ${String(nodesIn.length)} cheaper new nodes`] : []),
  ];
  return `${countText(moves.length, 'pod')} fit ${places.join(' and ')}`;
}

/** Why the command gives up the node of this name. */
export const underUsed = (command: Command, nodeName: string): DisruptionNote =>
  note('underutilized', `${nodeName} is under-used: ${placesOf(command)}`, {
    command: command.name,
    pods: command.moves.length,
    savedMicrosPerHour: command.priceBeforeMicrosPerHour - command.priceAfterMicrosPerHour,
  });

/** The retirement of a node that a command gives up from `atMs` on, and why. */
export const retirementOf = (
  command: Command,
  { view }: Pick<Candidate, 'view'>,
  more: Pick<Retirement, 'atMs' | 'disruption' | 'planId'>,
): readonly [Retirement, DisruptionNote] => [
  { cause: command.cause, detail: command.name, ...more },
  underUsed(command, view.node.name),
];
