import { cpus, loadavg } from 'node:os';
import { setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';

import Table from 'cli-table3';

import { type Part, Standing } from './disruption/standing.js';
import { keepRun } from './kept.js';

const flags = {
  nodes: { type: 'string', default: '5000' },
  pods: { type: 'string', default: '50000' },
  budgets: { type: 'string', default: '500' },
  /** How long each part lasts, in seconds. */
  seconds: { type: 'string', default: '30' },
} as const;

/** One run, as a line of `bench/results/disruption.ndjson`. */
type DisruptionResults = {
  readonly at: string;
  readonly cpus: number;
  readonly loadBefore: number;
  readonly nodes: number;
  readonly pods: number;
  readonly budgets: number;
  readonly parts: readonly Part[];
};

const wantedMs = 100;
/** Measures how long disruption holds a large cluster's reaper, and what it asks. */
export async function disruption(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({ args: [...args], options: flags });
  const [nodes, pods] = [Number(values.nodes), Number(values.pods)];
  const budgets = Number(values.budgets);
  const seconds = Number(values.seconds);
  const loadBefore = loadavg()[0] ?? 0;
  const standing = new Standing(nodes, Math.ceil(pods / nodes), budgets);
  const parts = [
    await standing.part('first list, and the first looks', () => setTimeout(seconds * 1_000)),
    await standing.part('the rest of the first search', () => standing.untilQuiet(20)),
    await standing.part('rest', () => setTimeout(seconds * 1_000)),
    await standing.part('heartbeats of all nodes', () => standing.heartbeats(seconds)),
    await standing.part('prices of all nodes change', () => standing.prices(seconds)),
    await standing.part('a tenth of the nodes drifts', () => standing.drift(nodes / 10, seconds)),
    await standing.part('commands are found', () => standing.commands(4 * seconds)),
  ];
  standing.end();
  const table = new Table({ head: ['part', 'longest ms', 'p99 ms', 'what-ifs', 'calls'] });
  for (const { what, longestMs, p99Ms, whatIfs, calls } of parts)
    table.push([what, longestMs.toFixed(0), p99Ms.toFixed(0), whatIfs, JSON.stringify(calls)]);
  process.stdout.write(`${table.toString()}\n`);
  const worst = Math.max(...parts.map(({ longestMs }) => longestMs));
  const verdict = worst <= wantedMs ? 'met' : 'missed';
  process.stdout.write(
    `the event loop was held for ${worst.toFixed(0)} ms at most; wanted: ${String(wantedMs)} ms: ${verdict}\n`,
  );
  const at = new Date().toISOString();
  const run = { at, cpus: cpus().length, loadBefore, nodes, pods, budgets, parts };
  await keepRun<DisruptionResults>('disruption', run);
}
