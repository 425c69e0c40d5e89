import { columns, type Layout } from '../layout/columns.js';
import type { NodeRow, Outcome, PlanFigures } from './outcome.js';

/** The name and version of the form of `dovetail replay … -o json`. It only gains fields. */
const replaySchema = 'dovetail.sh/replay/v1';

/** The outcome for programs. */
export const outcomeJson = (outcome: Outcome): string =>
  `${JSON.stringify({ schema: replaySchema, ...outcome }, undefined, 2)}\n`;

const dollars = (micros: number): string => `$${(micros / 1e6).toFixed(4)}/h`;

const figuresText = ({ nodes, priceMicrosPerHour, unplacedPods }: PlanFigures): string =>
  `${String(nodes)} new ${nodes === 1 ? 'node' : 'nodes'}, ${dollars(priceMicrosPerHour)}${unplacedPods === 0 ? '' : `, ${String(unplacedPods)} ${unplacedPods === 1 ? 'pod' : 'pods'} without a place`}`;

function headline({ planId, same, changes, recorded, now }: Outcome): string {
  const changed = changes.length === 0 ? '' : ` with ${changes.join(', ')}`;
  if (same)
    return `plan ${planId}: made again${changed}, the same to the byte (${figuresText(now)})\n`;
  const moreMicros = now.priceMicrosPerHour - recorded.priceMicrosPerHour;
  const more =
    moreMicros === 0
      ? 'at the same price'
      : `${dollars(Math.abs(moreMicros))} ${moreMicros > 0 ? 'dearer' : 'cheaper'}`;
  const why = changes.length === 0 ? ': this release plans otherwise' : changed;
  return `plan ${planId}: made again${why}, ${more}\nrecorded: ${figuresText(recorded)}\nnow:      ${figuresText(now)}\n`;
}

const cells = ({ instanceType, zone, capacityType, recorded, now, ...row }: NodeRow) => [
  instanceType,
  zone,
  capacityType,
  String(recorded),
  String(now),
  dollars(row.priceMicrosPerHour),
];

/** The outcome for people. Only a terminal gives a width. */
export function outcomeText(outcome: Outcome, layout: Layout): string {
  const { same, nodes, placedNow, unplacedNow } = outcome;
  if (same) return headline(outcome);
  const header = ['TYPE', 'ZONE', 'CAPACITY', 'RECORDED', 'NOW', 'EACH'];
  const table = nodes.length === 0 ? '' : `\n${columns(header, nodes.map(cells), layout)}`;
  const pods = [
    placedNow.length === 0 ? '' : `pods that have a place now: ${placedNow.join(', ')}\n`,
    unplacedNow.length === 0 ? '' : `pods that have none now: ${unplacedNow.join(', ')}\n`,
  ].join('');
  return `${headline(outcome)}${table}${pods === '' ? '' : `\n${pods}`}`;
}
