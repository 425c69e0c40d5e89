import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';

import { deploymentManifest, poolManifest } from '@dovetail/test-support/workload';
import { waitFor } from '@dovetail/testbed';

import { type BenchLab, openLab } from './lab.js';
import { sample, type Sampler, type Use } from './sampled.js';
import { keep, lineOf, tableOf } from './scale-report.js';
import { type NodeSeen, type ScaleSeen, watchScale } from './scale-seen.js';

/** One phase of a run. Times count from the order that begins it. */
export type Phase = {
  readonly name: string;
  readonly tookMs: number;
  /** Pods that the phase added, and how many of them ran at its end. */
  readonly pods: number;
  readonly running: number;
  readonly nodes: number;
  readonly claims: number;
  readonly lastClaimAfterLastPodMs: number;
  readonly load: number;
  readonly use: Readonly<Record<string, Use>>;
};

/** Spot notices: the time from the first one to all taints, and to the end of all nodes. */
export type Notices = {
  readonly number: number;
  readonly sentMs: number;
  readonly tainted: number;
  readonly allTaintedMs: number;
  readonly gone: number;
  readonly allGoneMs: number;
};

/** One run, as a line of `bench/results/scale.ndjson`. */
export type ScaleResults = {
  readonly at: string;
  readonly world: 'real' | 'twin';
  readonly cpus: number;
  readonly loadBefore: number;
  readonly nodes: number;
  readonly pods: number;
  /** The reason why the run ended early. */
  readonly endedEarly?: string;
  readonly phases: readonly Phase[];
  readonly notices?: Notices;
};

const scaleFlags = {
  real: { type: 'boolean', default: false },
  nodes: { type: 'string', default: '5000' },
  pods: { type: 'string', default: '50000' },
  step: { type: 'string', default: '2500' },
  pending: { type: 'string', default: '15000' },
  notices: { type: 'string', default: '500' },
  patience: { type: 'string', default: '600' },
  preload: { type: 'string', default: '' },
} as const;

/** A run in hand. */
type Run = {
  readonly at: BenchLab;
  readonly seen: ScaleSeen;
  readonly sampler: Sampler;
  /** How many pods of the benchmark fit on a node. */
  readonly podsPerNode: number;
  /** How long one phase may take. */
  readonly patienceMs: number;
};

/** m6i.2xlarge and its like: 8 vCPU, of which kubelet and system take less than a tenth. */
const instanceTypes = ['m5.2xlarge', 'm5a.2xlarge', 'm6a.2xlarge', 'm6i.2xlarge'];
const nodeMillis = 7_800;

/** The most pods that arrive at once in the measurement after the fill. */
const morePods = 1_000;

/** Spot gives two minutes. */
const noticeMs = 120_000;

/**
 * Measures a cluster of many nodes: 15,000 pods at once, then the rest in steps, 1,000 more on top,
 * and 500 Spot notices at once.
 */
export async function scale(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({ args: [...args], options: scaleFlags });
  const world = values.real ? 'real' : 'twin';
  // Parts inherit the environment. --cpu-prof is not allowed there, and a module can do the same.
  if (values.preload !== '') process.env['NODE_OPTIONS'] = `--import=${values.preload}`;
  const [loadBefore = 0] = loadavg();
  const at = await openLab({ world, solvers: 1, progress: say });
  const seen = watchScale(at.kube);
  const sampler = sample(at.lab.parts);
  const [nodes, pods] = [Number(values.nodes), Number(values.pods)];
  const patienceMs = Number(values.patience) * 1_000;
  const run = { at, seen, sampler, podsPerNode: Math.ceil(pods / nodes), patienceMs };
  const phases: Phase[] = [];
  try {
    const ended = await phasesOf(run, phases, {
      pods,
      pending: Number(values.pending),
      step: Number(values.step),
      notices: Number(values.notices),
    });
    const results: ScaleResults = {
      at: new Date().toISOString(),
      world,
      cpus: cpus().length,
      loadBefore,
      nodes,
      pods,
      phases,
      ...ended,
    };
    process.stdout.write(`${tableOf(results)}\n`);
    await keep(results);
  } finally {
    await sampler.stop();
    await seen.stop();
    await at.close();
  }
}

const say = (line: string): void => void process.stderr.write(`${line}\n`);

type Sizes = Readonly<Record<'pods' | 'pending' | 'step' | 'notices', number>>;

/** The first phase that does not end in its time ends the run. */
async function phasesOf(
  run: Run,
  phases: Phase[],
  sizes: Sizes,
): Promise<Pick<ScaleResults, 'endedEarly' | 'notices'>> {
  const add = async (name: string, pods: number): Promise<boolean> => {
    const phase = await podsPhase(run, { name, pods, app: `phase-${phases.length}` });
    phases.push(phase);
    say(lineOf(phase));
    return phase.running >= pods;
  };
  const { clusterName } = run.at.lab.options;
  await run.at.kube.putManifests(
    poolManifest({ clusterName, instanceTypes, capacityTypes: ['spot'] }),
  );
  let filled = Math.min(sizes.pending, sizes.pods);
  if (!(await add(`${filled} pods at once`, filled))) return { endedEarly: 'at once' };
  while (filled < sizes.pods) {
    const step = Math.min(sizes.step, sizes.pods - filled);
    filled += step;
    if (!(await add(`fill to ${filled}`, step))) return { endedEarly: `fill to ${filled}` };
  }
  if (!(await add(`${morePods} more`, morePods))) return { endedEarly: `${morePods} more` };
  const { phase, notices } = await noticesPhase(run, sizes.notices);
  phases.push(phase);
  say(lineOf(phase));
  return { notices };
}

/** Runs `condition` to true or to the end of patience, and says whether it came true. */
const inTime = (what: string, deadlineMs: number, condition: () => boolean): Promise<boolean> =>
  waitFor(condition, { what, deadlineMs, everyMs: 100 }).catch(() => false);

const livingNodes = ({ seen }: Run): number =>
  [...seen.nodes.values()].filter(({ goneMs }) => goneMs === undefined).length;

async function podsPhase(
  run: Run,
  { name, pods, app }: { readonly name: string; readonly pods: number; readonly app: string },
): Promise<Phase> {
  const { at, seen, sampler } = run;
  const cpu = `${Math.floor(nodeMillis / run.podsPerNode)}m`;
  sampler.take();
  const startedMs = performance.now();
  await at.kube.putManifests(
    deploymentManifest({ name: app, replicas: pods, cpu, memory: '512Mi' }),
  );
  await inTime(`${pods} running pods`, run.patienceMs, () => seen.pods(app).running >= pods);
  const endedMs = performance.now();
  const claims = seen.claimsSince(startedMs);
  const { running, lastMs } = seen.pods(app);
  return {
    name,
    pods,
    running,
    tookMs: Math.round(endedMs - startedMs),
    nodes: livingNodes(run),
    claims: claims.number,
    lastClaimAfterLastPodMs: claims.number === 0 ? 0 : Math.round(claims.lastMs - lastMs),
    load: loadavg()[0] ?? 0,
    use: sampler.take(),
  };
}

/** The number of these times that are known, and the last of them. */
function since(
  startedMs: number,
  times: readonly (number | undefined)[],
): { readonly number: number; readonly lastMs: number } {
  const known = times.flatMap((time) => (time === undefined ? [] : [time - startedMs]));
  return { number: known.length, lastMs: Math.round(Math.max(0, ...known)) };
}

function endsOf(
  noticed: readonly NodeSeen[],
  startedMs: number,
): Omit<Notices, 'number' | 'sentMs'> {
  const tainted = since(
    startedMs,
    noticed.map(({ taintedMs }) => taintedMs),
  );
  const gone = since(
    startedMs,
    noticed.map(({ goneMs }) => goneMs),
  );
  return {
    tainted: tainted.number,
    allTaintedMs: tainted.lastMs,
    gone: gone.number,
    allGoneMs: gone.lastMs,
  };
}

type Noticed = { readonly phase: Phase; readonly notices: Notices };

/** Interrupts this many nodes at once. A node is drained in time if it goes before its instance. */
async function noticesPhase(run: Run, number: number): Promise<Noticed> {
  const { seen, sampler } = run;
  const noticed = [...seen.nodes.values()]
    .filter(({ goneMs, taintedMs }) => goneMs === undefined && taintedMs === undefined)
    .slice(0, number);
  sampler.take();
  const startedMs = performance.now();
  await Promise.all(noticed.map(({ instanceId }) => interrupt(run.at, instanceId)));
  const sentMs = performance.now() - startedMs;
  await inTime('taints', noticeMs, () => noticed.every(({ taintedMs }) => taintedMs !== undefined));
  await inTime('ends', noticeMs, () => noticed.every(({ goneMs }) => goneMs !== undefined));
  return {
    phase: {
      name: `${noticed.length} Spot notices`,
      pods: 0,
      running: 0,
      tookMs: Math.round(performance.now() - startedMs),
      nodes: livingNodes(run),
      claims: seen.claimsSince(startedMs).number,
      lastClaimAfterLastPodMs: 0,
      load: loadavg()[0] ?? 0,
      use: sampler.take(),
    },
    notices: { number: noticed.length, sentMs: Math.round(sentMs), ...endsOf(noticed, startedMs) },
  };
}

async function interrupt({ lab }: BenchLab, instanceId: string): Promise<void> {
  const answer = await fetch(`${lab.cloudUrl}/_twin/interrupt`, {
    method: 'POST',
    body: JSON.stringify({ instanceId }),
  });
  if (!answer.ok) throw new Error(`interrupt ${instanceId}: ${answer.status}`);
}
