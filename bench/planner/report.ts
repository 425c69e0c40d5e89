import type { PlannerResults } from '../planner.js';

const percent = (value: number): string => `${value.toFixed(2)} %`;
const dollars = (value: number): string => value.toFixed(2);
const whole = (value: number): string => Math.round(value).toLocaleString('en-US');
const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
const table = (head: readonly string[], rows: readonly (readonly string[])[]): string => [row(head), row(head.map(() => '---')), ...rows.map(row)].join('\n');
const met = (yes: boolean): string => (yes ? 'yes' : '**no**');

function speedTable({ speed }: PlannerResults): string {
  return table(
    ['world', 'classes', 'ms', 'pods/s', 'Karpenter ms', 'Karpenter pods/s', 'times', 'wanted', 'cost', "Karpenter's", 'nodes', "Karpenter's", 'checked', 'met', 'digest'],
    speed.map((one) => {
      const peer = one.karpenter;
      return [
        one.name, whole(one.classes), one.ms.toFixed(1), whole(one.podsPerSecond), peer === undefined ? '-' : whole(peer.ms), peer === undefined ? '-' : whole(peer.podsPerSecond),
        peer === undefined ? '-' : peer.times.toFixed(1), peer === undefined ? '-' : String(peer.wanted), dollars(one.cost), peer === undefined ? '-' : dollars(peer.cost),
        whole(one.nodes), peer === undefined ? '-' : whole(peer.nodes), one.checked ? 'yes' : 'no', peer === undefined ? '-' : met(peer.met), one.digest,
      ];
    }),
  );
}

function costTable({ cost }: PlannerResults): string {
  return table(
    ['worlds', 'n', 'first plan', 'ms', 'budget', 'gap, mean', 'gap, worst', 'met', 'cost', 'bound', 'kind', 'Karpenter, mean', 'worst', 'below it, mean', 'least', 'strict spread, mean', 'digest'],
    cost.flatMap((one) => one.budgets.map((at) => [
      one.name, String(one.worlds), percent(one.first.mean), one.firstMs.toFixed(1), `${at.budgetMs} ms`, percent(at.gap.mean), percent(at.gap.worst), met(at.met), dollars(at.cost), dollars(one.bound), one.bounds.join(', '),
      one.karpenter === undefined ? '-' : percent(one.karpenter.mean), one.karpenter === undefined ? '-' : percent(one.karpenter.worst),
      one.below === undefined ? '-' : percent(one.below.mean), one.below === undefined ? '-' : percent(one.below.least), one.strict === undefined ? '-' : percent(one.strict.mean), one.digest.slice(0, 12),
    ])),
  );
}

/** What was measured, as tables. */
export function markdownOf(measured: PlannerResults): string {
  const existing = measured.existing.map((one) => `${whole(one.pods)} pods over ${whole(one.nodes)} existing nodes: ${one.seconds.toFixed(2)} s, ${whole(one.heapMebibytes)} MiB (whole process), ${whole(one.placed)} placed there, ${one.newNodes} new nodes; met: ${met(one.met)}.`);
  return [
    '# The planner, measured', '',
    `${measured.at}, ${measured.cpus} CPUs, load ${measured.loadBefore.toFixed(1)} before. Times are the smaller of clock and processor time, on both sides; budgets are processor time.`,
    "Karpenter's time is its Solve alone, without preparing its scheduler; Dovetail's is everything from snapshot to plan.", '',
    ...(measured.speed.length > 0 ? ['## First plan, beside Karpenter', '', speedTable(measured), ''] : []),
    ...(measured.cost.length > 0 ? ['## Cost over the best lower bound', '', costTable(measured), ''] : []),
    ...(existing.length > 0 ? ['## Existing nodes', '', ...existing, ''] : []),
  ].join('\n');
}
