import { countText, type Fill, periodText, shareOf, sumOfFills } from '@dovetail/core-fleet/words';

import type { Layout } from '../layout/columns.js';
import { type Column, fitted } from '../layout/fitted.js';
import type { TopNode } from './node.js';

/** The characters of a bar. */
const barLength = 10;

const percent = (fill: Fill): string =>
  fill.allocatable === 0 ? '-' : `${String(Math.round(shareOf(fill) * 100))} %`;

/** The share as a bar and a number, for a terminal. */
function bar(fill: Fill): string {
  const full = Math.min(barLength, Math.round(shareOf(fill) * barLength));
  return `${'█'.repeat(full)}${'░'.repeat(barLength - full)} ${percent(fill).padStart(5)}`;
}

const priceText = ({ priceMicrosPerHour: micros, priceEstimated }: TopNode): string =>
  micros === undefined ? '-' : `${priceEstimated ? '~' : ''}${(micros / 1e6).toFixed(4)}`;

const columnsOf = (fillText: (fill: Fill) => string): readonly Column<TopNode>[] => [
  { name: 'NODE', cell: ({ node }) => node, rank: 0 },
  { name: 'POOL', cell: ({ pool }) => pool.replace(/^NodePool\//, ''), rank: 3 },
  { name: 'TYPE', cell: ({ instanceType }) => instanceType, rank: 2 },
  { name: 'BOUGHT', cell: ({ capacityType }) => capacityType, rank: 6 },
  { name: 'ZONE', cell: ({ zone }) => zone, rank: 5 },
  { name: 'CPU', cell: ({ cpu }) => fillText(cpu), rank: 0 },
  { name: 'MEMORY', cell: ({ memory }) => fillText(memory), rank: 0 },
  { name: 'PODS', cell: ({ pods }) => String(pods), rank: 7 },
  { name: 'PRICE $/H', cell: priceText, rank: 1 },
  { name: 'AGE', cell: ({ ageMs }) => periodText(ageMs), rank: 4 },
  { name: 'NEXT', cell: ({ next }) => next, rank: 0 },
];

/** The nodes of a fleet together. */
export type TopTotal = {
  readonly nodes: number;
  readonly cpu: Fill;
  readonly memory: Fill;
  readonly priceMicrosPerHour: number;
  readonly priceEstimated: boolean;
  /** Pods that wait for a node, in the whole cluster. */
  readonly waiting: number;
};

/** Sums up nodes. */
export const totalOf = (nodes: readonly TopNode[], waiting: number): TopTotal => ({
  nodes: nodes.length,
  cpu: sumOfFills(nodes.map(({ cpu }) => cpu)),
  memory: sumOfFills(nodes.map(({ memory }) => memory)),
  priceMicrosPerHour: nodes.reduce((sum, one) => sum + (one.priceMicrosPerHour ?? 0), 0),
  priceEstimated: nodes.some(({ priceEstimated }) => priceEstimated),
  waiting,
});

function headline(nodes: readonly TopNode[], waiting: number): string {
  const total = totalOf(nodes, waiting);
  const count = (state: TopNode['state']): number =>
    nodes.filter((node) => node.state === state).length;
  const states = (['launching', 'starting', 'not-ready', 'ending'] as const)
    .filter((state) => count(state) > 0)
    .map((state) => `, ${String(count(state))} ${state.replace('-', ' ')}`)
    .join('');
  const price = `${total.priceEstimated ? '~' : ''}$${(total.priceMicrosPerHour / 1e6).toFixed(4)}/h`;
  const wait = waiting === 0 ? 'no pod waits' : `${countText(waiting, 'pod')} without a node`;
  return `${countText(nodes.length, 'node')}${states} · ${price} · CPU ${percent(total.cpu)} · memory ${percent(total.memory)} · ${wait}\n`;
}

/** A fleet for people: a line for all nodes, and a row for each. */
export function topText(
  nodes: readonly TopNode[],
  waiting: number,
  {
    rowsMax,
    bars,
    layout,
  }: { readonly rowsMax?: number; readonly bars: boolean; readonly layout: Layout },
): string {
  const head = headline(nodes, waiting);
  if (nodes.length === 0) return `${head}no node of ours, or none that the flags choose\n`;
  const rows = rowsMax === undefined ? nodes : nodes.slice(0, rowsMax);
  const more = nodes.length - rows.length;
  const rest =
    more === 0
      ? ''
      : `and ${String(more)} more: a taller terminal, a filter or --once shows them\n`;
  return `${head}${fitted(columnsOf(bars ? bar : percent), rows, layout)}${rest}`;
}
