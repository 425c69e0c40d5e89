import { execFile } from 'node:child_process';
import { parseArgs, promisify } from 'node:util';

import Table from 'cli-table3';

import { keepRun, markdown, writePage } from './kept.js';
import { measureLauncher } from './stores/launcher.js';
import type { ClusterSize } from './stores/manifests.js';
import { Measure, type StoreRow } from './stores/measure.js';
import { measurePodWatcher } from './stores/pod-watcher.js';
import { measureReaper } from './stores/reaper.js';
import { measureSolver } from './stores/solver.js';

/** One run, as a line of `bench/results/stores.ndjson`. */
type StoresResults = {
  readonly at: string;
  readonly nodes: number;
  readonly pods: number;
  readonly services: Readonly<Record<string, readonly StoreRow[]>>;
};

const services: Readonly<
  Record<string, (size: ClusterSize, measure: Measure) => void | Promise<void>>
> = {
  launcher: measureLauncher,
  reaper: measureReaper,
  'pod-watcher': measurePodWatcher,
  solver: measureSolver,
};

const storesFlags = {
  nodes: { type: 'string', default: '5000' },
  pods: { type: 'string', default: '50000' },
  /** Measures one service in this process and prints its rows as JSON. */
  service: { type: 'string', default: '' },
} as const;

/** Measures what each service holds of a large cluster, and its passes over all of it. */
export async function stores(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({ args: [...args], options: storesFlags });
  const [nodes, pods] = [Number(values.nodes), Number(values.pods)];
  const measured = services[values.service];
  if (measured !== undefined) {
    const measure = new Measure();
    await measured({ nodes, podsPerNode: Math.ceil(pods / nodes) }, measure);
    process.stdout.write(JSON.stringify(measure.rows));
    return;
  }
  const found: Record<string, readonly StoreRow[]> = {};
  for (const service of Object.keys(services))
    found[service] = await inProcess([...args, '--service', service]);
  const run = { at: new Date().toISOString(), nodes, pods, services: found };
  const table = new Table({ head: [...head] });
  table.push(...rowsOf(run).map((row) => [...row]));
  process.stdout.write(`${table.toString()}\n`);
  await writePage('stores', pageOf(await keepRun<StoresResults>('stores', run)));
}

/** A process for each service: what one has held would be in the way of the next. */
async function inProcess(args: readonly string[]): Promise<readonly StoreRow[]> {
  const { execArgv, execPath } = process;
  const main = new URL('main.ts', import.meta.url).pathname;
  const { stdout } = await promisify(execFile)(execPath, [...execArgv, main, 'stores', ...args]);
  return JSON.parse(stdout) as readonly StoreRow[];
}

const head = ['service', 'what', 'objects', 'MB', 'bytes each', 'CPU ms'] as const;

const number = (value: number): string => value.toLocaleString('en-US');

function cellsOf(row: StoreRow): readonly string[] {
  if (row.kind === 'pass') return [row.what, '', '', '', row.cpuMs.map(String).join(', ')];
  const each = Math.round((row.mb * 1e6) / row.number);
  return [row.what, number(row.number), String(row.mb), number(each), ''];
}

const rowsOf = (run: StoresResults): readonly (readonly string[])[] =>
  Object.entries(run.services).flatMap(([service, rows]) =>
    rows.map((row) => [service, ...cellsOf(row)]),
  );

const preamble = [
  '# State of large clusters, measured',
  '',
  '`npm run bench -- stores` writes this page. It fills the state of each service, through its own projections, in a process of its',
  'own. Memory is that of live objects, without garbage. CPU times are of one call after the other, and contain the garbage collector.',
  'Unlike times on a clock they hardly depend on the load of the machine. A call of this table is one turn of the event loop,',
  'unless it says "in turns": then the service pauses after every 50 ms.',
  '',
];

function pageOf(runs: readonly StoresResults[]): string {
  const newest = new Map(runs.map((run) => [`${run.nodes} ${run.pods}`, run]));
  const sections = [...newest.values()]
    .toSorted((a, b) => b.pods - a.pods)
    .flatMap((run) => [
      `## ${number(run.nodes)} nodes, ${number(run.pods)} pods`,
      '',
      `${run.at}.`,
      '',
      markdown(head, rowsOf(run)),
      '',
    ]);
  return [...preamble, ...sections].join('\n');
}
