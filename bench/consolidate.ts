import { randomInt } from 'node:crypto';
import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';

import { highsSolver } from '@dovetail/adapter-highs';
import {
  consolidationCandidates,
  defaultMoveCostMicrosPerHour,
  priceOf,
} from '@dovetail/core-disruption';
import { at } from '@dovetail/core-invariant';
import { uprooted } from '@dovetail/core-kube-model';
import type { Bound } from '@dovetail/core-scheduling';
import Table from 'cli-table3';

import {
  type Aged,
  agedCluster,
  type AgedKind,
  agedKinds,
  type AgedSpec,
} from './consolidate/aged.js';
import { settleByKarpenter } from './consolidate/karpenter.js';
import { type Pass, settle } from './consolidate/settle.js';
import { keepRun } from './kept.js';
import { boundFor } from './planner/measure.js';

const flags = {
  nodes: { type: 'string', default: '50,200,500' },
  seed: { type: 'string' },
  budget: { type: 'string', default: '10' },
  kinds: { type: 'string', default: agedKinds.join(',') },
  worlds: { type: 'string', default: '1' },
  'move-cost': { type: 'string', default: String(defaultMoveCostMicrosPerHour / 1e6) },
  'no-karpenter': { type: 'boolean', default: false },
  'no-keep': { type: 'boolean', default: false },
} as const;

/** One aged cluster, as a line of `bench/results/consolidate.ndjson`. */
type ConsolidateRow = {
  readonly at: string;
  readonly cpus: number;
  readonly loadBefore: number;
  readonly kind: AgedKind;
  readonly seed: number;
  /** The micro-dollars an hour that the move of an ordinary pod had to save. */
  readonly moveCostMicrosPerHour: number;
  readonly nodes: number;
  readonly nodesAfter: number;
  readonly pods: number;
  /** The share of the cores that pods request, before. */
  readonly used: number;
  /** US dollars an hour: at first, after one pass, and settled. */
  readonly before: number;
  readonly firstPass: number;
  readonly after: number;
  readonly lowerBound: number;
  readonly bound: Bound['kind'];
  /** The share of the bound that the price is above it, after one pass and settled. */
  readonly firstGap: number;
  readonly gap: number;
  /** Of all passes. */
  readonly commands: number;
  readonly firstEvictions: number;
  readonly evictions: number;
  readonly passes: number;
  /** The plans, the end and the processor time of the first pass. */
  readonly tries: number;
  readonly ended: string;
  readonly cpuSeconds: number;
  /** Where Karpenter's rules settle with Dovetail's planner; absent: they were not played. */
  readonly karpenter?: { readonly after: number; readonly evictions: number };
  /** The longest time that a slice of any pass held its thread: processor time, in milliseconds. */
  readonly sliceMsMax: number;
};

const dollars = (micros: number): number => micros / 1e6;

/**
 * The price that no set of nodes for the running pods can beat. Nodes that may not be given up cost
 * what they cost, and their free room holds pods for nothing.
 */
async function boundOf({ input }: Aged, name: string): Promise<Bound> {
  const { candidates } = consolidationCandidates(input.views, input.eligibility);
  const going = new Set(candidates.map(({ view }) => view.node.uid));
  const stay = input.snapshot.nodes.filter(({ uid }) => !going.has(uid));
  const pods = candidates.flatMap((candidate) => candidate.pods).map(uprooted);
  const lp = highsSolver();
  lp.start();
  const world = { name, snapshot: { ...input.snapshot, nodes: stay }, pods };
  const bound = await boundFor(world, lp).finally(() => lp.close());
  const held = stay.reduce((sum, { priceMicrosPerHour = 0 }) => sum + priceMicrosPerHour, 0);
  return { ...bound, priceMicrosPerHour: bound.priceMicrosPerHour + held };
}

/** One aged cluster, and what is measured on it. */
type What = AgedSpec & { readonly budgetSeconds: number; readonly karpenter: boolean };

const rounded = (value: number, digits: number): number => Number(value.toFixed(digits));

/** Where Karpenter's rules lead. */
function playedByKarpenter(aged: Aged): Pick<ConsolidateRow, 'karpenter'> {
  const { price, evictions } = settleByKarpenter(aged);
  return { karpenter: { after: dollars(price), evictions } };
}

/** Searches one aged cluster until it settles, and proves what the best price could be. */
async function measured({ budgetSeconds, karpenter, ...spec }: What): Promise<ConsolidateRow> {
  const [loadBefore = 0] = loadavg();
  const aged = agedCluster(spec);
  const { kind, seed, moveCostMicrosPerHour } = spec;
  const passes = settle(aged, budgetSeconds);
  const played = karpenter ? playedByKarpenter(aged) : {};
  const bound = await boundOf(aged, kind);
  const before = aged.input.views.reduce((sum, view) => sum + priceOf(view), 0);
  return {
    at: new Date().toISOString(),
    cpus: cpus().length,
    loadBefore,
    ...{ kind, seed, moveCostMicrosPerHour },
    nodes: aged.input.views.length,
    pods: aged.pods.length,
    used: rounded(aged.used, 3),
    before: dollars(before),
    ...reached(passes, bound.priceMicrosPerHour),
    bound: bound.kind,
    ...played,
  };
}

/** The prices after the first pass and the last, beside the bound, and what it took. */
function reached(passes: readonly Pass[], lowerBound: number) {
  const [first, last] = [at(passes, 0), at(passes, passes.length - 1)];
  const gapOf = (price: number): number => rounded((price - lowerBound) / lowerBound, 4);
  const sum = (of: (pass: Pass) => number): number =>
    passes.reduce((total, pass) => total + of(pass), 0);
  return {
    nodesAfter: last.found.after.nodes.length,
    firstPass: dollars(first.price),
    after: dollars(last.price),
    lowerBound: dollars(lowerBound),
    firstGap: gapOf(first.price),
    gap: gapOf(last.price),
    commands: sum(({ found }) => found.commands.length),
    firstEvictions: first.evictions,
    evictions: sum(({ evictions }) => evictions),
    passes: passes.length,
    tries: first.found.tries,
    ended: first.found.ended,
    cpuSeconds: rounded(first.cpuSeconds, 2),
    sliceMsMax: Math.round(Math.max(...passes.map(({ sliceMsMax }) => sliceMsMax))),
  };
}

/** Each kind and size as often as asked, with a seed of its own. */
function worldsOf(
  values: {
    readonly nodes: string;
    readonly kinds: string;
    readonly worlds: string;
    readonly 'move-cost': string;
  },
  first: number,
): readonly AgedSpec[] {
  const kinds = values.kinds
    .split(',')
    .flatMap((name) => agedKinds.filter((kind) => kind === name));
  const specs = values.nodes
    .split(',')
    .flatMap((nodes) =>
      kinds.flatMap((kind) =>
        Array.from({ length: Number(values.worlds) }, () => ({
          kind,
          nodes: Number(nodes),
          moveCostMicrosPerHour: Number(values['move-cost']) * 1e6,
        })),
      ),
    );
  return specs.map((one, index) => ({ ...one, seed: first + index }));
}

/**
 * Measures the search for commands over aged clusters: the price that it reaches beside the lower
 * bound for the running pods, the pods that move, and the time. Each run draws new seeds.
 */
export async function consolidate(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({ args: [...args], options: flags });
  const first = values.seed === undefined ? randomInt(1, 1_000_000) : Number(values.seed);
  process.stdout.write(`seeds from ${String(first)}; again with --seed ${String(first)}\n`);
  const table = new Table({
    head: [
      'cluster',
      'seed',
      'used',
      'nodes',
      'pods',
      '$/h',
      'bound',
      'gap, first pass',
      'gap',
      'moved',
      "by Karpenter's rules: $/h, moved",
      'passes',
      'plans',
      'seconds',
      'slice, ms',
    ],
  });
  const gaps: number[] = [];
  for (const one of worldsOf(values, first)) {
    const row = await measured({
      ...one,
      budgetSeconds: Number(values.budget),
      karpenter: !values['no-karpenter'],
    });
    gaps.push(row.gap);
    if (!values['no-keep']) await keepRun('consolidate', row);
    table.push(cellsOf(row));
    process.stdout.write(`${cellsOf(row).join('  ')}\n`);
  }
  const average = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
  process.stdout.write(
    `${table.toString()}\naverage gap ${percent(average)} (goal 3 %), worst ${percent(Math.max(...gaps))} (goal 6 %)\n`,
  );
}

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

const cellsOf = (row: ConsolidateRow): string[] => [
  row.kind,
  String(row.seed),
  percent(row.used),
  `${String(row.nodes)} -> ${String(row.nodesAfter)}`,
  String(row.pods),
  `${row.before.toFixed(2)} -> ${row.after.toFixed(2)}`,
  row.lowerBound.toFixed(2),
  percent(row.firstGap),
  percent(row.gap),
  `${String(row.firstEvictions)}, ${String(row.evictions)}`,
  row.karpenter === undefined
    ? '-'
    : `${row.karpenter.after.toFixed(2)}, ${String(row.karpenter.evictions)}`,
  String(row.passes),
  `${String(row.tries)} (${row.ended})`,
  row.cpuSeconds.toFixed(1),
  String(row.sliceMsMax),
];
