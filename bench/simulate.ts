import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

import Table from 'cli-table3';

import { keepRun } from './kept.js';
import { manifestsOf } from './worlds/deployments.js';
import { generatedWorld, type Rules } from './worlds/generated.js';

const root = join(import.meta.dirname, '..');
const wantedMs = 500;

const flags = {
  pods: { type: 'string', default: '1000' },
  runs: { type: 'string', default: '15' },
  rules: { type: 'string', default: 'plain' },
  budget: { type: 'string', default: '0' },
} as const;

/** One run, as a line of `bench/results/simulate.ndjson`. */
type SimulateResults = {
  readonly at: string;
  readonly cpus: number;
  readonly loadBefore: number;
  readonly pods: number;
  readonly deployments: number;
  readonly rules: Rules;
  readonly budget: string;
  /** Milliseconds from starting the process to its end, ascending. */
  readonly milliseconds: readonly number[];
  readonly median: number;
  /** The requirement on a plan that had no time for improvement. */
  readonly wanted?: number;
  readonly met?: boolean;
};

/** Throws unless a text is a whole answer that places each of so many pods on a new node. */
function assertWhole(text: string, pods: number): void {
  const { newNodes } = JSON.parse(text) as { newNodes: readonly { pods: readonly unknown[] }[] };
  const placed = newNodes.reduce((sum, node) => sum + node.pods.length, 0);
  if (placed !== pods) throw new Error(`dovetail simulate placed ${placed} of ${pods} pods`);
}

/**
 * Runs the command line as a user would. Returns the milliseconds from its start to its end;
 * rejects unless it ends well and its output is a whole answer that places all pods.
 */
async function timed(
  file: string,
  { pods, budget }: { readonly pods: number; readonly budget: string },
): Promise<number> {
  const startMs = performance.now();
  const child = spawn(
    process.execPath,
    [join(root, 'dist', 'cli.js'), 'simulate', '-f', file, '--budget', budget, '-o', 'json'],
    { stdio: ['ignore', 'pipe', 'ignore'] },
  );
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (part: string) => (text += part));
  const [code] = (await once(child, 'close')) as [number | null];
  const tookMs = performance.now() - startMs;
  if (code !== 0) throw new Error(`dovetail simulate ended with ${String(code)}`);
  assertWhole(text, pods);
  return tookMs;
}

/**
 * Measures a user's wait for a plan of many pods from manifests. It includes the start-up and
 * leaves out the budget for improving.
 */
export async function simulate(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({ args: [...args], options: flags });
  const rules = values.rules === 'spread' ? 'spread' : 'plain';
  const { pods } = generatedWorld({
    pods: Number(values.pods),
    seed: 1,
    vcpusMax: Infinity,
    rules,
  });
  const { text, deployments } = manifestsOf(pods);
  const [loadBefore = 0] = loadavg();
  const dir = await mkdtemp(join(tmpdir(), 'dovetail-simulate-'));
  try {
    const file = join(dir, 'manifests.yaml');
    await writeFile(file, text);
    const took: number[] = [];
    for (let run = 0; run < Number(values.runs); run += 1)
      took.push(await timed(file, { pods: pods.length, budget: values.budget }));
    took.sort((a, b) => a - b);
    const median = took[Math.floor(took.length / 2)] ?? 0;
    await keep({
      at: new Date().toISOString(),
      cpus: cpus().length,
      loadBefore,
      pods: pods.length,
      deployments,
      rules,
      budget: values.budget,
      milliseconds: took.map(Math.round),
      median: Math.round(median),
      ...(values.budget === '0' ? { wanted: wantedMs, met: median < wantedMs } : {}),
    });
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

async function keep(run: SimulateResults): Promise<void> {
  const table = new Table({
    head: [
      `simulate --budget ${run.budget}, ${run.milliseconds.length} runs`,
      'fastest',
      'median',
      'slowest',
      ...(run.wanted === undefined ? [] : [`below ${run.wanted} ms`]),
    ],
  });
  table.push([
    `${run.pods} pods (${run.rules}) of ${run.deployments} deployments, ${run.cpus} CPUs, load ${run.loadBefore.toFixed(1)}`,
    `${run.milliseconds[0] ?? 0} ms`,
    `${run.median} ms`,
    `${run.milliseconds.at(-1) ?? 0} ms`,
    ...(run.met === undefined ? [] : [run.met ? 'met' : 'missed']),
  ]);
  process.stdout.write(`${table.toString()}\n`);
  await keepRun('simulate', run);
}
