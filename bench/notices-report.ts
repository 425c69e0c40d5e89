import Table from 'cli-table3';

import { keepRun, markdown, writePage } from './kept.js';
import type { NoticesResults } from './notices.js';

/** The goal for the 99th percentile. */
const goalMs = 1_000;

const head = [
  'at',
  'world',
  'messages a second',
  'left in the queue',
  'nodes',
  'tainted',
  'notice → taint, p50',
  'p99',
  'the slowest',
];

const ms = (value: number): string => `${value.toLocaleString('en-US')} ms`;

const rowOf = (run: NoticesResults): string[] => [
  run.at,
  `${run.world}, load ${run.loadBefore.toFixed(1)} before`,
  `${run.sentPerSecond} for ${run.seconds} s`,
  String(run.left),
  String(run.nodes),
  String(run.tainted),
  ms(run.p50),
  `${ms(run.p99)} (≤ ${ms(goalMs)}: ${run.p99 <= goalMs ? 'met' : 'missed'})`,
  ms(run.most),
];

/** One run as text for a terminal. */
export function tableOf(run: NoticesResults): string {
  const table = new Table({ head: [...head] });
  table.push(rowOf(run));
  return table.toString();
}

const preamble = [
  '# From a Spot notice to the taint, measured',
  '',
  '`npm run bench -- notices [--real]` writes this page. All nodes are interrupted one after the other, while the queue gets messages about',
  'instances of others. The time ends when a watch of the benchmark sees the taint. Everything shares the machine, the benchmark included.',
  '',
];

/** Keeps the run as a line, and writes the page of all runs. */
export const keep = async (run: NoticesResults): Promise<void> => {
  const runs = await keepRun('notices', run);
  await writePage('notices', `${preamble.join('\n')}\n${markdown(head, runs.map(rowOf))}\n`);
};
