import type { Layout } from '../layout/columns.js';
import { priceText, section } from '../simulate/table.js';
import type { CommandResult, ConsolidationResult } from './result.js';

/** Commands of more nodes show these, and how many more there are. */
const namesShown = 3;

function listed(names: readonly string[]): string {
  if (names.length === 0) return '-';
  const more = names.length - namesShown;
  return `${names.slice(0, namesShown).join(', ')}${more > 0 ? ` +${String(more)}` : ''}`;
}

const rowOf = (command: CommandResult, index: number): readonly string[] => [
  String(index + 1),
  listed(command.nodesOut.map(({ name }) => name)),
  listed(command.nodesIn.map(({ instanceTypes }) => instanceTypes[0] ?? '')),
  String(command.moves.length),
  priceText(command.cost.before),
  priceText(command.cost.after),
  priceText(command.cost.saving),
  priceText(command.score),
];

function summary({ commands, cost, nodes, evictions, stats }: ConsolidationResult): string {
  const share = cost.before > 0 ? (100 * (cost.before - cost.after)) / cost.before : 0;
  const gap =
    cost.gap === null
      ? ''
      : `, at most ${(100 * cost.gap).toFixed(1)} % above the least possible (${priceText(cost.lowerBound)})`;
  const limit =
    stats.ended === 'complete' ? '' : '; the time ended the search, more --budget may find more';
  return (
    `${String(commands.length)} commands: ${String(nodes.before)} nodes become ${String(nodes.after)}, ` +
    `${priceText(cost.before)}/h becomes ${priceText(cost.after)}/h (-${share.toFixed(1)} %)${gap}; ` +
    `${String(evictions)} evictions; ${stats.milliseconds.toFixed(0)} ms, ${String(stats.tries)} plans${limit}`
  );
}

/** The commands as text for people. Only a terminal gives a width. */
export function consolidationTableOf(result: ConsolidationResult, layout: Layout = {}): string {
  return [
    ...section(
      'COMMANDS, the most saving per disruption first',
      [
        '#',
        'GIVE UP',
        'BUY',
        ['MOVED PODS', 1],
        ['BEFORE/H', 2],
        ['AFTER/H', 2],
        'SAVING/H',
        ['PER DISRUPTION', 3],
      ],
      { rows: result.commands.map(rowOf), layout },
    ),
    ...section('NODES THAT STAY', ['NODE', 'WHY'], {
      rows: result.stays.map(({ node, reasons }) => [node, reasons.join('; ')]),
      layout,
    }),
    ...section('HELD BACK BY BUDGETS', ['POOL', 'WHY'], {
      rows: result.heldBack.map(({ pool, reason }) => [pool, reason]),
      layout,
    }),
    summary(result),
    '',
  ].join('\n');
}
