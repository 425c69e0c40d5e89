import { cpus, loadavg } from 'node:os';
import { setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';

import { encodePlannerAnswer, type GapReply } from '@dovetail/contracts';
import { podOf } from '@dovetail/core-kube-model';
import Table from 'cli-table3';

import { PlanningThread } from './giving-way/planning-thread.js';
import { keepRun } from './kept.js';
import { nodeManifest, podManifest } from './stores/manifests.js';
import { valueOf } from './stores/world.js';

const flags = {
  nodes: { type: 'string', default: '500' },
  /** The nodes that a what-if takes out; as many pods move as to use its whole budget. */
  out: { type: 'string', default: '51' },
  pairs: { type: 'string', default: '30' },
  /** The plan from nothing for all pods is asked for, and no what-if. */
  gap: { type: 'boolean', default: false },
} as const;

/** The waits of one batch in milliseconds: alone, and while a what-if is planned. */
type Pair = { readonly alone: number; readonly beside: number };

/** One run, as a line of `bench/results/giving-way.ndjson`. */
type GivingWayResults = {
  readonly at: string;
  readonly cpus: number;
  readonly loadBefore: number;
  readonly nodes: number;
  readonly out: number;
  readonly pairs: readonly Pair[];
  readonly whatIfMs: readonly number[];
  readonly smallWhatIfMs: readonly number[];
  /** The bytes of an answer of the gap. Absent: what-ifs were asked for. */
  readonly gapBytes?: number;
  readonly moreMs: { readonly median: number; readonly p99: number };
};

const podsPerNode = 10;
const wantedMs = 50;
const whatIfBudgetMs = 1_000;
const batchBudgetMs = 100;
/** As the reaper and the solver's settings have it. */
const gapQuestion = { kind: 'gap', budgetMs: 5_000, boundMs: 1_000 } as const;

const nameOf = (node: number): string => (nodeManifest(node)['metadata'] as { name: string }).name;
const uidOf = (pod: number): string => (podManifest(pod, 0)['metadata'] as { uid: string }).uid;

/** A question about the nodes from this one on, and all their pods. */
const whatIf = (first: number, out: number): object => {
  const nodes = Array.from({ length: out }, (_, index) => first + index);
  const pods = nodes.flatMap((node) =>
    Array.from({ length: podsPerNode }, (_, index) => uidOf(node * podsPerNode + index)),
  );
  const request = { podUids: pods, withoutNodes: nodes.map(nameOf), budgetMs: whatIfBudgetMs };
  return { kind: 'request', request };
};

/** The size of an answer of the gap on the bus. */
const bytesOf = (answer: unknown): number =>
  encodePlannerAnswer({ kind: 'gap', gap: (answer as { readonly gap: GapReply }).gap }).length;

async function timeOf(work: Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  await work;
  return performance.now() - startMs;
}

const quantile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.ceil(share * values.length) - 1] ?? 0;

/** Whether a batch waits for a what-if: its wait alone, and at a random moment of one. */
export async function givingWay(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({ args: [...args], options: flags });
  const [nodes, out, count] = [Number(values.nodes), Number(values.out), Number(values.pairs)];
  const loadBefore = loadavg()[0] ?? 0;
  const thread = new PlanningThread();
  thread.fill({ nodes, podsPerNode });
  const waiting = nodes * podsPerNode;
  thread.tell({ kind: 'pod', value: valueOf(podOf(podManifest(waiting, undefined))) });
  const batch = (): Promise<number> => timeOf(thread.batch([uidOf(waiting)], batchBudgetMs));
  // The first plans are slower: they are compiled.
  for (let warm = 0; warm < 5; warm += 1) await batch();
  const pairs: Pair[] = [];
  const whatIfMs: number[] = [];
  const smallWhatIfMs: number[] = [];
  let gapBytes: number | undefined;
  if (values.gap) gapBytes = bytesOf(await thread.ask(gapQuestion));
  for (let pair = 0; pair < count; pair += 1) {
    const first = (pair * out) % (nodes - out);
    smallWhatIfMs.push(await timeOf(thread.ask(whatIf(first, 1))));
    const alone = await batch();
    const asked = timeOf(thread.ask(values.gap ? gapQuestion : whatIf(first, out)));
    // All moments of the question have their turn.
    const longMs = values.gap ? gapQuestion.budgetMs + gapQuestion.boundMs : whatIfBudgetMs;
    await setTimeout((longMs * (pair + 0.5)) / count);
    pairs.push({ alone, beside: await batch() });
    whatIfMs.push(await asked);
  }
  await thread.close();
  const more = pairs.map(({ alone, beside }) => beside - alone);
  const moreMs = { median: quantile(more, 0.5), p99: quantile(more, 0.99) };
  const sized = gapBytes === undefined ? {} : { gapBytes };
  const run = { nodes, out, pairs, whatIfMs, smallWhatIfMs, ...sized, moreMs };
  const at = new Date().toISOString();
  show(run);
  await keepRun<GivingWayResults>('giving-way', { at, cpus: cpus().length, loadBefore, ...run });
}

function show(run: Omit<GivingWayResults, 'at' | 'cpus' | 'loadBefore'>): void {
  const { pairs, whatIfMs, smallWhatIfMs, gapBytes, moreMs } = run;
  const table = new Table({ head: ['milliseconds', 'median', '99th percentile'] });
  const add = (what: string, some: readonly number[]): void =>
    void table.push([what, quantile(some, 0.5).toFixed(0), quantile(some, 0.99).toFixed(0)]);
  add(
    'a batch alone',
    pairs.map(({ alone }) => alone),
  );
  add(
    gapBytes === undefined ? 'a batch beside a what-if' : 'a batch beside a plan from nothing',
    pairs.map(({ beside }) => beside),
  );
  add(
    gapBytes === undefined
      ? `a what-if about ${String(run.out)} nodes, interrupted once`
      : `a plan from nothing for ${String(run.nodes)} nodes, ${String(gapBytes)} bytes of answer`,
    whatIfMs,
  );
  add('a what-if about one node', smallWhatIfMs);
  process.stdout.write(`${table.toString()}\n`);
  const verdict = moreMs.p99 <= wantedMs ? 'met' : 'missed';
  process.stdout.write(
    `a batch waits ${moreMs.p99.toFixed(0)} ms longer at most; wanted: ${String(wantedMs)} ms: ${verdict}\n`,
  );
}
