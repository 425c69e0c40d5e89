import { randomInt } from 'node:crypto';
import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';

import { highsSolver } from '@dovetail/adapter-highs';
import { type Consolidation, priceOf, searchCommands } from '@dovetail/core-disruption';
import { uprooted } from '@dovetail/core-kube-model';
import type { Bound } from '@dovetail/core-scheduling';
import Table from 'cli-table3';

import { type Aged, agedCluster, type AgedKind, agedKinds } from './consolidate/aged.js';
import { keepRun } from './kept.js';
import { boundFor } from './planner/measure.js';

const flags = {
  nodes: { type: 'string', default: '50,200,500' },
  seed: { type: 'string' },
  budget: { type: 'string', default: '10' },
} as const;

/** One aged cluster, as a line of `bench/results/consolidate.ndjson`. */
type ConsolidateRow = {
  readonly at: string;
  readonly cpus: number;
  readonly loadBefore: number;
  readonly kind: AgedKind;
  readonly seed: number;
  readonly nodes: number;
  readonly nodesAfter: number;
  readonly pods: number;
  /** The share of the cores that pods request, before. */
  readonly used: number;
  /** US dollars an hour. */
  readonly before: number;
  readonly after: number;
  readonly lowerBound: number;
  /** The share of the bound that the price is above it. */
  readonly gap: number;
  readonly commands: number;
  readonly evictions: number;
  readonly tries: number;
  readonly ended: string;
  readonly seconds: number;
};

const savedBy = ({ commands }: Consolidation): number =>
  commands.reduce(
    (sum, each) => sum + each.priceBeforeMicrosPerHour - each.priceAfterMicrosPerHour,
    0,
  );

const dollars = (micros: number): number => micros / 1e6;

/** The price that no set of nodes for the running pods can beat. */
async function boundOf({ input, pods }: Aged, name: string): Promise<Bound> {
  const lp = highsSolver();
  lp.start();
  const world = { name, snapshot: { ...input.snapshot, nodes: [] }, pods: pods.map(uprooted) };
  return boundFor(world, lp).finally(() => lp.close());
}

/** Searches one aged cluster, and proves what the best price could be. */
async function measured(
  aged: Aged,
  {
    kind,
    seed,
    budgetSeconds,
  }: { readonly kind: AgedKind; readonly seed: number; readonly budgetSeconds: number },
): Promise<ConsolidateRow> {
  const { input, pods, used } = aged;
  const [loadBefore = 0] = loadavg();
  const startMs = performance.now();
  const found = searchCommands(input, {
    triesMax: 1_000_000,
    shouldStop: () => performance.now() - startMs > budgetSeconds * 1000,
  });
  const seconds = (performance.now() - startMs) / 1000;
  const before = input.views.reduce((sum, view) => sum + priceOf(view), 0);
  const saved = savedBy(found);
  const bound = await boundOf(aged, kind);
  const lowerBound = bound.priceMicrosPerHour;
  return {
    at: new Date().toISOString(),
    cpus: cpus().length,
    loadBefore,
    ...{ kind, seed },
    nodes: input.views.length,
    nodesAfter: found.after.nodes.length,
    pods: pods.length,
    used: Math.round(1000 * used) / 1000,
    before: dollars(before),
    after: dollars(before - saved),
    lowerBound: dollars(lowerBound),
    gap: Math.round((10_000 * (before - saved - lowerBound)) / lowerBound) / 10_000,
    commands: found.commands.length,
    evictions: found.commands.reduce((sum, { moves }) => sum + moves.length, 0),
    tries: found.tries,
    ended: found.ended,
    seconds: Math.round(100 * seconds) / 100,
  };
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
      'gap',
      'moved',
      'commands',
      'plans',
      'seconds',
    ],
  });
  const gaps: number[] = [];
  for (const [index, nodes] of values.nodes.split(',').map(Number).entries())
    for (const [offset, kind] of agedKinds.entries()) {
      const seed = first + index * agedKinds.length + offset;
      const row = await measured(agedCluster({ kind, nodes, seed }), {
        kind,
        seed,
        budgetSeconds: Number(values.budget),
      });
      gaps.push(row.gap);
      await keepRun('consolidate', row);
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
  percent(row.gap),
  String(row.evictions),
  String(row.commands),
  `${String(row.tries)} (${row.ended})`,
  row.seconds.toFixed(1),
];
