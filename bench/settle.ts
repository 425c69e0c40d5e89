import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';

import { kubeResources } from '@dovetail/core-ports';
import { runCommand, type Settings } from '@dovetail/stories';
import Table from 'cli-table3';

import { keepRun } from './kept.js';
import { aged, type Aging, kinds, priceOf } from './settle/aging.js';
import { fresh } from './settle/fresh.js';

const flags = {
  apps: { type: 'string', default: '40' },
  hours: { type: 'string', default: '6' },
  seed: { type: 'string', default: '1' },
  modes: { type: 'string', default: 'all,search' },
  budget: { type: 'string', default: '10%' },
  kind: { type: 'string', default: 'plain' },
  'no-keep': { type: 'boolean', default: false },
} as const;

/** One cluster under one way to consolidate. */
type Settled = {
  readonly mode: string;
  /** US dollars an hour once the apps have shrunk, and at the end. */
  readonly before: number;
  readonly after: number;
  readonly nodesBefore: number;
  readonly nodesAfter: number;
  /** Pods that were evicted since the apps have shrunk. */
  readonly evictions: number;
  /** Minutes until the price changed for the last time. */
  readonly settledMinutes: number;
  /** US dollars that were paid since the apps have shrunk. */
  readonly paid: number;
};

/** One run, as a line of `bench/results/settle.ndjson`. */
type SettleRun = Omit<Aging, 'consolidation'> & {
  readonly at: string;
  readonly cpus: number;
  readonly loadBefore: number;
  readonly hours: number;
  /** The price of a plan from nothing for the pods that are left, and the least of any plan. */
  readonly fresh: number;
  readonly lowerBound: number;
  readonly modes: readonly Settled[];
};

const dollars = (micros: number): number => Number((micros / 1e6).toFixed(4));
const evictions = 'karpenter_pods_eviction_requests_total';

/** Lets one aged cluster be for so many hours. */
async function settle(aging: Aging, hours: number) {
  const stage = await aged(aging);
  const evicted = (): number => stage.metrics.value(evictions, { code: '201' }) ?? 0;
  const nodes = (): number => stage.list(kubeResources.nodes).length;
  const [before, nodesBefore, evictedBefore] = [priceOf(stage), nodes(), evicted()];
  let [settledMinutes, last, paid] = [0, before, 0];
  for (let minute = 1; minute <= hours * 60; minute += 1) {
    await runCommand(stage, 'run 1m');
    const price = priceOf(stage);
    paid += price / 60;
    if (price !== last) settledMinutes = minute;
    last = price;
  }
  const { least, lowerBound } = await fresh(stage);
  const settled: Settled = {
    mode: aging.consolidation,
    before: dollars(before),
    after: dollars(last),
    nodesBefore,
    nodesAfter: nodes(),
    evictions: evicted() - evictedBefore,
    settledMinutes,
    paid: dollars(paid),
  };
  stage.end();
  return { settled, fresh: dollars(least), lowerBound: dollars(lowerBound) };
}

/**
 * The wired services over an aged cluster, in virtual time: where each way to consolidate settles,
 * how long that takes, and how many pods are evicted for it.
 */
export async function settling(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({ args: [...args], options: flags });
  const { budget } = values;
  const kind = kinds.find((one) => one === values.kind);
  if (kind === undefined) throw new Error(`--kind ${values.kind} is none of ${kinds.join(', ')}`);
  const [apps, seed, hours] = [values.apps, values.seed, values.hours].map(Number) as [
    number,
    number,
    number,
  ];
  const world = { apps, seed, budget, kind };
  const loadBefore = loadavg()[0] ?? 0;
  const modes: Settled[] = [];
  let least = { fresh: 0, lowerBound: 0 };
  for (const mode of values.modes.split(',')) {
    const consolidation = mode as Settings['consolidation'];
    const { settled, ...bounds } = await settle({ ...world, consolidation }, hours);
    modes.push(settled);
    least = bounds;
    process.stderr.write(`${JSON.stringify({ ...settled, ...bounds })}\n`);
  }
  const at = new Date().toISOString();
  const run = { at, cpus: cpus().length, loadBefore, hours, ...world, ...least, modes };
  show(run);
  if (!values['no-keep']) await keepRun<SettleRun>('settle', run);
}

function show({ modes, fresh: least, lowerBound }: SettleRun): void {
  const head = ['mode', 'nodes', '$/h', 'above a fresh plan', 'evicted', 'settled', 'paid'];
  const table = new Table({ head });
  for (const one of modes)
    table.push([
      one.mode,
      `${String(one.nodesBefore)} -> ${String(one.nodesAfter)}`,
      `${one.before.toFixed(2)} -> ${one.after.toFixed(2)}`,
      `${((one.after / least - 1) * 100).toFixed(1)} %`,
      one.evictions,
      `${String(one.settledMinutes)} min`,
      `$${one.paid.toFixed(2)}`,
    ]);
  process.stdout.write(`${table.toString()}\n`);
  process.stdout.write(`a fresh plan: ${String(least)}, at least: ${String(lowerBound)}\n`);
}
