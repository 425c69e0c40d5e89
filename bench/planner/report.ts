import type { BudgetRow } from './budget.js';
import type { CostRow } from './cost.js';
import type { CurveRow } from './curve.js';
import type { ExistingRow } from './existing.js';
import type { Measured } from './record.js';
import type { SizesRow } from './sizes.js';
import type { SpeedRow } from './speed.js';

const percent = (value: number | undefined): string =>
  value === undefined ? '-' : `${value.toFixed(2)} %`;
const dollars = (value: number | undefined): string =>
  value === undefined ? '-' : value.toFixed(2);
const whole = (value: number | undefined): string =>
  value === undefined ? '-' : Math.round(value).toLocaleString('en-US');
const met = (yes: boolean | undefined): string =>
  yes === undefined ? '-' : yes ? 'yes' : '**no**';
const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
/** When a row was measured, and how busy the machine was. */
const when = ({ at, load }: Measured): string =>
  `${at.slice(0, 16).replace('T', ' ')}, load ${load.toFixed(1)}`;

type Of<K extends Measured['row']['kind']> = Extract<Measured['row'], { readonly kind: K }>;
const rowsOf = <K extends Measured['row']['kind']>(
  all: readonly Measured[],
  kind: K,
): readonly (Measured & { readonly row: Of<K> })[] =>
  all.filter((one): one is Measured & { readonly row: Of<K> } => one.row.kind === kind);

function table<K extends Measured['row']['kind']>(
  title: string,
  all: readonly Measured[],
  kind: K,
  what: {
    readonly head: readonly string[];
    readonly cells: (one: Of<K>) => readonly (readonly string[])[];
  },
): readonly string[] {
  const rows = rowsOf(all, kind);
  if (rows.length === 0) return [];
  const head = [...what.head, 'measured'];
  return [
    `## ${title}`,
    '',
    row(head),
    row(head.map(() => '---')),
    ...rows.flatMap((one) => what.cells(one.row).map((cells) => row([...cells, when(one)]))),
    '',
  ];
}

const speedCells = (one: SpeedRow): readonly string[] => {
  const peer = one.karpenter;
  return [
    one.name,
    String(one.worlds),
    whole(one.classes),
    one.ms.toFixed(1),
    whole(one.podsPerSecond),
    whole(peer?.ms),
    whole(peer?.podsPerSecond),
    peer === undefined
      ? '-'
      : `${peer.times.toFixed(0)}${peer.wanted === undefined ? '' : ` of ${peer.wanted}`}`,
    dollars(one.cost),
    dollars(peer?.cost),
    whole(one.nodes),
    whole(peer?.nodes),
    dollars(one.bound),
    one.boundKind,
    percent(one.gap),
    met(peer?.met),
    one.digest,
  ];
};

const costCells = (one: CostRow): readonly (readonly string[])[] =>
  one.budgets.map((at) => [
    one.name,
    String(one.worlds),
    percent(one.first.mean),
    one.firstMs.toFixed(1),
    `${at.budgetMs} ms`,
    percent(at.gap.mean),
    percent(at.gap.worst),
    met(at.met),
    dollars(at.cost),
    dollars(one.bound),
    one.bounds.join(', '),
    dollars(one.karpenter?.cost),
    percent(one.karpenter?.mean),
    percent(one.karpenter?.worst),
    percent(one.below?.mean),
    percent(one.below?.least),
    percent(one.strict?.mean),
    percent(one.strict?.below),
    one.digest.slice(0, 12),
  ]);

const sizesCells = (one: SizesRow): readonly string[] => [
  one.name,
  String(one.worlds),
  whole(one.least.nodes),
  dollars(one.least.cost),
  dollars(one.least.charged),
  one.first.ms.toFixed(1),
  whole(one.first.nodes),
  dollars(one.first.cost),
  dollars(one.first.charged),
  whole(one.improved.nodes),
  dollars(one.improved.cost),
  dollars(one.improved.charged),
  dollars(one.bound),
  percent(one.gap),
  whole(one.fewest),
  whole(one.karpenter?.nodes),
  dollars(one.karpenter?.cost),
  dollars(one.karpenter?.charged),
  percent(one.karpenter?.below),
  met(one.karpenter?.met),
  one.digest.slice(0, 12),
];

const budgetCells = (one: BudgetRow): readonly string[] => [
  one.name,
  `${one.tookMs.toFixed(0)} ms`,
  `${one.overMs.toFixed(0)} ms`,
  whole(one.steps),
  dollars(one.first),
  dollars(one.cost),
  met(one.met),
  one.digest,
];
const curveCells = (one: CurveRow): readonly string[] => [
  whole(one.pods),
  whole(one.classes),
  one.ms.toFixed(1),
  one.msPerClass.toFixed(3),
  whole(one.nodes),
  one.digest,
];
const existingCells = (one: ExistingRow): readonly string[] => [
  one.name,
  `${one.seconds.toFixed(2)} s`,
  `${whole(one.heapMebibytes)} MiB`,
  whole(one.placed),
  whole(one.newNodes),
  met(one.met),
  one.digest,
];

const speedHead = [
  'world',
  'n',
  'classes',
  'ms',
  'pods/s',
  'Karpenter ms',
  'pods/s',
  'times',
  'cost',
  "Karpenter's",
  'nodes',
  "Karpenter's",
  'bound',
  'kind',
  'gap',
  'met',
  'digest',
];
const costHead = [
  'worlds',
  'n',
  'first plan',
  'ms',
  'budget',
  'gap, mean',
  'gap, worst',
  'met',
  'cost',
  'bound',
  'kind',
  "Karpenter's cost",
  'gap, mean',
  'worst',
  'below it, mean',
  'least',
  'strict spread, gap',
  'below Karpenter',
  'digest',
];
const sizesHead = [
  'worlds',
  'n',
  'least price: nodes',
  'cost',
  'charged',
  'default sizes: ms',
  'nodes',
  'cost',
  'charged',
  'after 1 s: nodes',
  'cost',
  'charged',
  'bound',
  'gap',
  'fewest nodes',
  "Karpenter's nodes",
  'cost',
  'charged',
  'below it, least',
  'met',
  'digest',
];
const budgetHead = [
  'world and budget',
  'took',
  'over',
  'steps',
  'first plan',
  'in time',
  'met',
  'digest',
];
const curveHead = ['pods', 'classes', 'ms', 'ms a class', 'nodes', 'digest'];
const existingHead = [
  'world',
  'time',
  'memory of the whole process',
  'placed there',
  'new nodes',
  'met',
  'digest',
];

/** The measured rows as tables. */
export function markdownOf(all: readonly Measured[]): string {
  const cpuCounts = [...new Set(all.map((one) => one.cpus))].join(' or ');
  return [
    '# The planner, measured',
    '',
    `Each row is its newest whole measurement, on ${cpuCounts} CPUs. Times and budgets are the smaller of clock and processor time, on both sides, so that`,
    "a busy machine distorts less. Karpenter's time is its Solve alone, without preparing its scheduler; Dovetail's is everything from snapshot to plan. Every plan is proven by the checker.",
    'Costs count instances alone, but for the table of sizes: there, `charged` adds the default charge per node, and the bound has it too. No plan within 5 % of that bound has fewer than the `fewest nodes`.',
    '',
    ...table('First plan, beside Karpenter', all, 'speed', {
      head: speedHead,
      cells: (one) => [speedCells(one)],
    }),
    ...table('Sizes of nodes', all, 'sizes', {
      head: sizesHead,
      cells: (one) => [sizesCells(one)],
    }),
    ...table('Cost over the best lower bound', all, 'cost', { head: costHead, cells: costCells }),
    ...table('Budgets', all, 'budget', { head: budgetHead, cells: (one) => [budgetCells(one)] }),
    ...table('Pods and classes', all, 'curve', {
      head: curveHead,
      cells: (one) => [curveCells(one)],
    }),
    ...table('Existing nodes', all, 'existing', {
      head: existingHead,
      cells: (one) => [existingCells(one)],
    }),
  ].join('\n');
}
