import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

import { connectNats } from '@dovetail/adapter-nats';
import {
  type Channel,
  publishBatch,
  publishClassCatalog,
  publishState,
  type StateValue,
  streamName,
  streamSpecs,
  workers,
} from '@dovetail/contracts';
import { type Log, Stopper } from '@dovetail/core-ports';
import { systemClock, systemHash } from '@dovetail/runtime';
import {
  freePort,
  httpRequest,
  isUnavailable,
  obtainNatsServer,
  type RunningPart,
  startNats,
  startPart,
  waitFor,
} from '@dovetail/testbed';
import Table from 'cli-table3';

import { keepRun } from './kept.js';
import { generatedWorld } from './worlds/generated.js';
import { type BenchWorld, nodeClass } from './worlds/objects.js';

/**
 * Seconds from the first batch's publication to the last plan on the bus, and processor time of all
 * solvers together.
 */
type Took = { readonly wall: number; readonly processor: number };
/** One process beside two, in one run. `times` is the factor by which two are faster. */
type Pair = { readonly one: Took; readonly two: Took; readonly times: number };

/** One run, as a line of `bench/results/solvers.ndjson`. */
type SolversResults = {
  readonly at: string;
  readonly cpus: number;
  readonly loadBefore: number;
  readonly batches: number;
  readonly podsPerBatch: number;
  readonly budget: string;
  readonly pairs: readonly Pair[];
  readonly timesMedian: number;
  readonly wanted: number;
  readonly met: boolean;
};

const wanted = 1.6;
const cluster = 'bench';
const quiet: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: (name, message) => process.stderr.write(`${name}: ${message}\n`),
};
const root = join(import.meta.dirname, '..');
const groupSize = 200;

type Stand = {
  readonly channel: Channel;
  readonly natsUrl: string;
  readonly dir: string;
  readonly stop: Stopper;
  readonly plans: () => number;
  readonly world: BenchWorld;
  readonly perBatch: number;
};

/** Publishes a pool, its class, a catalog and all pods, as pod-watcher and launcher would. */
async function tellWorld({ channel, world }: Stand): Promise<void> {
  const [pool] = world.snapshot.pools;
  if (pool === undefined) throw new Error('the world has no pool');
  const tell = (uid: string, state: StateValue): Promise<unknown> =>
    publishState(channel, { kind: 'set', uid, state, generation: '1' });
  await tell('class-1', { kind: 'nodeclass', value: nodeClass() });
  await tell(pool.pool.uid, { kind: 'pool', value: pool.pool });
  await publishClassCatalog(
    channel,
    { classUid: 'class-1', revision: 'r1', instanceTypes: pool.instanceTypes },
    { generation: '1' },
  );
  for (let from = 0; from < world.pods.length; from += groupSize) {
    await Promise.all(
      world.pods
        .slice(from, from + groupSize)
        .map((pod) => tell(pod.uid, { kind: 'pod', value: pod })),
    );
  }
}

let rounds = 0;

/**
 * Publishes this many batches, each with pods and a group of its own. Returns the seconds until all
 * their plans are on the bus.
 */
async function planned(stand: Stand, batches: number): Promise<number> {
  const { channel, world, perBatch } = stand;
  const position = await channel.bus.position(streamName(cluster, 'state'));
  const before = stand.plans();
  rounds += 1;
  const startMs = performance.now();
  await Promise.all(
    Array.from({ length: batches }, (_, index) =>
      publishBatch(channel, {
        group: `g${index}`,
        round: `1.${rounds}`,
        podUids: world.pods.slice(index * perBatch, (index + 1) * perBatch).map((pod) => pod.uid),
        statePosition: { incarnation: position.incarnation, sequence: position.lastSequence },
        cutAtMs: Date.now(),
        youngestMs: Date.now(),
      }),
    ),
  );
  await waitFor(() => stand.plans() - before >= batches, {
    what: `${batches} plans`,
    deadlineMs: 300_000,
    everyMs: 5,
  });
  return (performance.now() - startMs) / 1000;
}

/**
 * A solver as deployed: one process with one planning thread. With a budget of 0 every process does
 * the same work.
 */
async function startSolver({ natsUrl, dir }: Stand, name: string): Promise<RunningPart> {
  const port = await freePort();
  return await startPart({
    name,
    command: process.execPath,
    args: [join(root, 'dist', 'solver.js')],
    logFile: join(dir, `${name}.log`),
    env: {
      CLUSTER_NAME: cluster,
      NATS_URL: natsUrl,
      PLAN_BUDGET: '0s',
      LOG_LEVEL: 'warn',
      HTTP_PORT: String(port),
      HTTP_HOST: '127.0.0.1',
      REPLICA_NAME: name,
    },
    ready: async () => (await httpRequest(`http://127.0.0.1:${port}/readyz`)).status === 200,
    readyDeadlineMs: 60_000,
  });
}

/** Linux counts processor time in hundredths of a second. */
const ticksPerSecond = 100;

/**
 * Seconds of processor time that a process has taken so far, all its threads together (Linux only).
 */
async function processorSeconds({ pid }: RunningPart): Promise<number> {
  const [, , user = '0', system = '0'] =
    /\) \S( -?\d+){10} (\d+) (\d+)/.exec(await readFile(`/proc/${pid}/stat`, 'utf8')) ?? [];
  return (Number(user) + Number(system)) / ticksPerSecond;
}

const sumOf = async (parts: readonly RunningPart[]): Promise<number> =>
  (await Promise.all(parts.map(processorSeconds))).reduce((sum, one) => sum + one, 0);

/** The time of this many processes, each of them warm. */
async function withSolvers(
  stand: Stand,
  what: { readonly processes: number; readonly batches: number },
): Promise<Took> {
  const parts = await Promise.all(
    Array.from({ length: what.processes }, (_, index) => startSolver(stand, `solver-${index}`)),
  );
  try {
    // The first plans of a process load and compile code. Two rounds give every process its share
    // of them.
    for (let round = 0; round < 2; round += 1) await planned(stand, what.batches);
    const before = await sumOf(parts);
    const wall = await planned(stand, what.batches);
    return { wall, processor: (await sumOf(parts)) - before };
  } finally {
    await Promise.all(parts.map((part) => part.stop()));
  }
}

/**
 * Takes plans off the queue as the launcher does, without reading them, to leave the machine to the
 * solvers.
 */
async function countPlans({ bus }: Channel, stop: Stopper, hear: () => void): Promise<void> {
  for await (const item of bus.work(workers.launcher(cluster), stop)) {
    hear();
    await item.ack();
  }
}

const solversFlags = {
  pairs: { type: 'string', default: '5' },
  batches: { type: 'string', default: '40' },
  pods: { type: 'string', default: '300' },
} as const;

/** A nats-server of its own, in a folder that `end` removes. */
async function ownNats(): Promise<{
  readonly url: string;
  readonly dir: string;
  readonly end: () => Promise<void>;
}> {
  const program = await obtainNatsServer();
  if (isUnavailable(program)) throw new Error(`no nats-server: ${program.unavailable}`);
  const dir = await mkdtemp(join(tmpdir(), 'dovetail-solvers-'));
  const nats = await startNats({ path: program.path, dir });
  const end = async (): Promise<void> => {
    await nats.stop();
    await rm(dir, { recursive: true, force: true });
  };
  return { url: nats.url, dir, end };
}

const nothing = (): void => undefined;
const noMetrics = { count: nothing, set: nothing, remove: nothing, observe: nothing };

/**
 * A nats-server of its own with the streams of a cluster. The launcher's side counts the arriving
 * plans.
 */
async function onStand(
  what: { readonly batches: number; readonly perBatch: number },
  measure: (stand: Stand) => Promise<void>,
): Promise<void> {
  const nats = await ownNats();
  const stop = new Stopper();
  const bus = connectNats({ servers: [nats.url], name: 'bench', log: quiet, metrics: noMetrics });
  const channel: Channel = { bus, cluster, hash: systemHash, source: 'bench', clock: systemClock };
  const { batches, perBatch } = what;
  const world = generatedWorld({
    pods: batches * perBatch,
    seed: 1,
    vcpusMax: 32,
    rules: 'spread',
  });
  let plans = 0;
  try {
    await bus.ensureStreams(streamSpecs(cluster));
    void countPlans(channel, stop, () => {
      plans += 1;
    });
    const stand: Stand = {
      channel,
      natsUrl: nats.url,
      dir: nats.dir,
      stop,
      plans: () => plans,
      perBatch,
      world,
    };
    await tellWorld(stand);
    await measure(stand);
  } finally {
    stop.abort();
    await bus.close();
    await nats.end();
  }
}

/** Runs one process and then two on the same batches, this many times. */
async function pairsOn(stand: Stand, count: number, batches: number): Promise<readonly Pair[]> {
  const pairs: Pair[] = [];
  for (let index = 0; index < count; index += 1) {
    const one = await withSolvers(stand, { processes: 1, batches });
    const two = await withSolvers(stand, { processes: 2, batches });
    pairs.push({ one, two, times: one.wall / two.wall });
    process.stderr.write(`one process ${secondsOf(one)}, two ${secondsOf(two)}\n`);
  }
  return pairs;
}

/**
 * Measures whether solvers share the work: the throughput of two processes over that of one, in
 * pairs, on one machine and one nats-server.
 */
export async function solvers(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({ args: [...args], options: solversFlags });
  const [batches, podsPerBatch] = [Number(values.batches), Number(values.pods)];
  const [loadBefore = 0] = loadavg();
  await onStand({ batches, perBatch: podsPerBatch }, async (stand) => {
    const pairs = await pairsOn(stand, Number(values.pairs), batches);
    const times = pairs.map((pair) => pair.times).toSorted((a, b) => a - b);
    const timesMedian = times[Math.floor(pairs.length / 2)] ?? 0;
    const met = timesMedian >= wanted;
    const at = new Date().toISOString();
    const circumstances = { at, cpus: cpus().length, loadBefore, batches, podsPerBatch };
    await keep({ ...circumstances, budget: '0s', pairs, timesMedian, wanted, met });
  });
}

const secondsOf = ({ wall, processor }: Took): string =>
  `${wall.toFixed(2)} s (${processor.toFixed(2)} s of processor)`;

async function keep(run: SolversResults): Promise<void> {
  const table = new Table({
    head: [
      `${run.batches} batches of ${run.podsPerBatch} pods, ${run.cpus} CPUs, load ${run.loadBefore.toFixed(1)}`,
      'one process',
      'two',
      'times',
    ],
  });
  run.pairs.forEach((pair, index) =>
    table.push([
      `pair ${index + 1}`,
      secondsOf(pair.one),
      secondsOf(pair.two),
      pair.times.toFixed(2),
    ]),
  );
  table.push([
    'median',
    '',
    '',
    `${run.timesMedian.toFixed(2)} of ${run.wanted}: ${run.met ? 'met' : 'missed'}`,
  ]);
  process.stdout.write(`${table.toString()}\n`);
  await keepRun('solvers', run);
}
