import type { Layout } from '../layout/columns.js';
import { type Column, fitted } from '../layout/fitted.js';
import type { NewNodeResult, SimulationResult } from './result.js';

/** A longer table ends in one line that counts the rest. */
const rowsMax = 40;

/** Estimated prices carry a `~`, which the last line explains. */
export const priceText = (dollars: number, estimated = false): string =>
  `${estimated ? '~' : ''}$${dollars.toFixed(4)}`;
const plural = (count: number, word: string): string => `${count} ${word}${count === 1 ? '' : 's'}`;

const newNodeHeadings: readonly Heading[] = [
  'NODES',
  'POOL',
  'INSTANCE TYPE',
  ['ZONES', 3],
  ['CAPACITY', 1],
  'PRICE/H',
  ['CPU', 2],
  ['MEMORY', 2],
  'PODS',
];

const first = (values: readonly string[], more: string): string =>
  values.length <= 1 ? (values[0] ?? '-') : `${values[0] ?? '-'} +${values.length - 1} ${more}`;

/** Equal for nodes that share a row, because they differ in nothing that the table shows. */
const rowKey = (node: NewNodeResult): string =>
  JSON.stringify([
    node.poolKind,
    node.nodePool,
    node.instanceTypes,
    node.zones,
    node.capacityTypes,
    node.price,
    node.priceEstimated,
    node.requests,
  ]);

function newNodeRows(nodes: readonly NewNodeResult[]): readonly (readonly string[])[] {
  const groups = new Map<string, NewNodeResult[]>();
  for (const node of nodes) {
    const key = rowKey(node);
    const known = groups.get(key);
    if (known === undefined) groups.set(key, [node]);
    else known.push(node);
  }
  return [...groups.values()].map((group) => {
    const [node] = group as [NewNodeResult];
    const pods = group.reduce((sum, one) => sum + one.pods.length, 0);
    return [
      String(group.length),
      `${node.poolKind}/${node.nodePool}`,
      first(node.instanceTypes, 'types'),
      node.zones.join(','),
      node.capacityTypes.join(','),
      priceText(node.price, node.priceEstimated),
      node.requests['cpu'] ?? '0',
      node.requests['memory'] ?? '0',
      String(pods),
    ];
  });
}

/** The name of a column, and its rank if it may go on a narrow terminal: greater ranks go first. */
type Heading = string | readonly [name: string, rank: number];

const columnOf = (heading: Heading, index: number): Column<readonly string[]> => ({
  name: typeof heading === 'string' ? heading : heading[0],
  cell: (row) => row[index] ?? '',
  rank: typeof heading === 'string' ? 0 : heading[1],
});

/** A table with its title; empty without rows. On a terminal no line is longer than its width. */
export function section(
  title: string,
  headings: readonly Heading[],
  { rows, layout }: { readonly rows: readonly (readonly string[])[]; readonly layout: Layout },
): readonly string[] {
  if (rows.length === 0) return [];
  const shown = rows.slice(0, rowsMax);
  const rest =
    rows.length > shown.length
      ? [`… and ${rows.length - shown.length} more rows; -o json has them all`]
      : [];
  return [title, fitted(headings.map(columnOf), shown, layout).trimEnd(), ...rest, ''];
}

/** The most workloads that are named for one reason. */
const workloadsShown = 3;

/** Pods by the first one of each workload, whose pods differ in the number at their end. */
function ofWorkloads(pods: readonly string[]): string {
  const firsts = new Map<string, string>();
  for (const pod of pods) {
    const workload = pod.replace(/-[0-9]+$/, '');
    if (!firsts.has(workload)) firsts.set(workload, pod);
  }
  const shown = [...firsts.values()].slice(0, workloadsShown);
  const more = pods.length - shown.length;
  return more === 0 ? shown.join(', ') : `${shown.join(', ')} +${plural(more, 'pod')}`;
}

function unschedulableRows(result: SimulationResult): readonly (readonly string[])[] {
  const groups = new Map<
    string,
    {
      readonly pods: string[];
      readonly reasons: SimulationResult['unschedulable'][number]['reasons'];
    }
  >();
  for (const { pod, reasons } of result.unschedulable) {
    const key = JSON.stringify(reasons);
    const known = groups.get(key);
    if (known === undefined) groups.set(key, { pods: [pod], reasons });
    else known.pods.push(pod);
  }
  return [...groups.values()].flatMap(({ pods, reasons }) =>
    reasons.map((reason, index) => [
      index === 0 ? ofWorkloads(pods) : '',
      reason.code,
      reason.subject ?? '',
      `${reason.message}${reason.remedy === undefined ? '' : ` (${reason.remedy})`}`,
    ]),
  );
}

function summary(result: SimulationResult): string {
  const { cost, stats, newNodes } = result;
  const placed = stats.pods - result.unschedulable.length;
  return (
    `${placed} of ${plural(stats.pods, 'pod')} placed; ${plural(newNodes.length, 'new node')} for ${priceText(cost.hourly, cost.estimated)}/h${boundText(cost)}\n` +
    `${chargeText(cost)}${plural(stats.classes, 'class').replace('classs', 'classes')}, ${plural(stats.types, 'instance type')}, ${stats.milliseconds.toFixed(1)} ms`
  );
}

/**
 * Closer to the bound than this, a plan is shown as the cheapest: it is what the table rounds to.
 */
const gapShown = 0.0005;

/** Says what new nodes count for pods without requests; empty if they count requests alone. */
export function assumedText(amounts: SimulationResult['cost']['assumedRequests']): string {
  const shown = Object.entries(amounts).map(([name, amount]) => `${amount} ${name}`);
  return shown.length === 0
    ? ''
    : `new nodes count ${shown.join(' and ')} for a pod that requests none`;
}

const chargeText = ({ nodeCharge }: SimulationResult['cost']): string =>
  nodeCharge > 0 ? `plans compared at ${priceText(nodeCharge)}/h more for each node; ` : '';

/** With a charge per node, the bound holds for plans of as few nodes. */
function boundText({ gap, lowerBound, nodeCharge, sized }: SimulationResult['cost']): string {
  if (sized)
    return ', with nodes sized by a part of the types (see --explain), so no least price is shown';
  if (gap === null) return '';
  const few = nodeCharge > 0 ? ' with as few nodes' : '';
  return gap < gapShown
    ? `, the least possible${few}`
    : `, at most ${(gap * 100).toFixed(1)} % above the least possible${few} (no plan${few} costs less than ${priceText(lowerBound)})`;
}

/** The plan as text for people. Only a terminal gives a width. */
export function tableOf(result: SimulationResult, layout: Layout = {}): string {
  return [
    ...section('NEW NODES', newNodeHeadings, { rows: newNodeRows(result.newNodes), layout }),
    ...section('EXISTING NODES', ['NODE', 'PODS', 'NAMES'], {
      rows: result.existingNodes.map((node) => [
        node.name,
        String(node.pods.length),
        `${node.pods.slice(0, 3).join(', ')}${node.pods.length > 3 ? ', …' : ''}`,
      ]),
      layout,
    }),
    ...section('UNSCHEDULABLE', ['POD', 'REASON', 'OF', 'WHY'], {
      rows: unschedulableRows(result),
      layout,
    }),
    summary(result),
    ...[assumedText(result.cost.assumedRequests)].filter((text) => text !== ''),
    ...(result.cost.estimated
      ? [
          "~ estimated: no source has this price offline; another region's, or for spot the on-demand price, stands for it",
        ]
      : []),
    '',
  ].join('\n');
}
