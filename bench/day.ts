import { randomInt } from 'node:crypto';
import { cpus, loadavg } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';

import { kubeResources } from '@dovetail/core-ports';
import { deployments, poolManifest } from '@dovetail/test-support/workload';
import { isUnavailable, obtainKarpenter, waitFor } from '@dovetail/testbed';

import { appManifest } from './day/manifests.js';
import { type DayMeasured, instancesOf, meterDay } from './day/meter.js';
import { keep, tableOf } from './day/report.js';
import { type Day, type DayEvent, dayOf } from './day/trace.js';
import { type BenchLab, type BenchLabOptions, openLab } from './lab.js';

/** Who kept the cluster, and what the day cost. */
export type Kept = DayMeasured & { readonly by: string };

/** One run, as a line of `bench/results/day.ndjson`. */
export type DayResults = {
  readonly at: string;
  readonly world: 'real' | 'twin';
  readonly cpus: number;
  readonly loadBefore: number;
  readonly seed: number;
  readonly minutes: number;
  readonly apps: number;
  readonly kept: readonly Kept[];
};

const dayFlags = {
  real: { type: 'boolean', default: false },
  minutes: { type: 'string', default: '20' },
  apps: { type: 'string', default: '30' },
  seed: { type: 'string', default: '' },
  by: { type: 'string', default: '' },
} as const;

const say = (line: string): void => void process.stderr.write(`${line}\n`);

/** Dovetail's answer to CONSOLIDATION, as `dovetail:delete`; or `karpenter`. */
async function labOf(by: string, world: 'real' | 'twin'): Promise<BenchLabOptions> {
  const plain = { world, solvers: 1, progress: say } as const;
  if (by === 'karpenter') {
    const karpenter = await obtainKarpenter({ log: say });
    if (isUnavailable(karpenter)) throw new Error(`no Karpenter: ${karpenter.unavailable}`);
    return { ...plain, karpenter };
  }
  const [name, CONSOLIDATION = 'none'] = by.split(':');
  if (name !== 'dovetail')
    throw new Error(`--by names ${by}; give karpenter, dovetail or dovetail:<CONSOLIDATION>`);
  return { ...plain, env: { reaper: { CONSOLIDATION } } };
}

/**
 * Measures a day of a cluster: the same deployments, rollouts and Spot interruptions under each
 * keeper, one after the other, each in a lab of its own.
 */
export async function day(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({ args: [...args], options: dayFlags });
  const world = values.real ? 'real' : 'twin';
  const [loadBefore = 0] = loadavg();
  const seed = values.seed === '' ? randomInt(1_000_000) : Number(values.seed);
  const [minutes, apps] = [Number(values.minutes), Number(values.apps)];
  const drawn = dayOf({ seed, seconds: 60 * minutes, apps });
  // Karpenter was only tried on the real control plane.
  const keepers =
    values.by || (values.real ? 'karpenter,dovetail:delete' : 'dovetail,dovetail:delete');
  say(`seed ${seed}: ${apps} apps, ${drawn.events.length} events in ${minutes} minutes`);
  const kept: Kept[] = [];
  for (const by of keepers.split(',')) {
    say(`the day under ${by}`);
    kept.push({ by, ...(await keptBy(await labOf(by, world), drawn)) });
    say(JSON.stringify(kept.at(-1)));
  }
  const results: DayResults = {
    at: new Date().toISOString(),
    world,
    cpus: cpus().length,
    loadBefore,
    seed,
    minutes,
    apps,
    kept,
  };
  process.stdout.write(`${tableOf(results)}\n`);
  await keep(results);
}

async function keptBy(options: BenchLabOptions, drawn: Day): Promise<DayMeasured> {
  const at = await openLab(options);
  try {
    await at.kube.putManifests(
      poolManifest({
        clusterName: at.lab.options.clusterName,
        vcpusMax: 32,
        capacityTypes: ['spot', 'on-demand'],
        consolidationPolicy: 'WhenEmptyOrUnderutilized',
        consolidateAfter: '15s',
      }),
    );
    await poolReady(at);
    const meter = meterDay({ kube: at.kube, cloudUrl: at.lab.cloudUrl });
    return await replay(at, drawn)
      .finally(() => meter.stop())
      .then(() => meter.measured());
  } finally {
    await at.close();
  }
}

type Conditions = {
  readonly conditions?: readonly { readonly type: string; readonly status: string }[];
};

/** A cluster has its pools long before its day begins. */
const poolReady = ({ kube }: BenchLab): Promise<unknown> =>
  waitFor(
    async () => {
      const pool = await kube.get({ resource: kubeResources.nodePools, name: 'default' });
      const status = pool?.['status'] as Conditions | undefined;
      return status?.conditions?.some((one) => one.type === 'Ready' && one.status === 'True');
    },
    { what: 'the pool to be ready', deadlineMs: 60_000 },
  );

/** Does what the day says, each thing at its time, up to the day's end. */
async function replay(at: BenchLab, { events, seconds, apps }: Day): Promise<void> {
  const startedMs = performance.now();
  const until = (second: number): Promise<void> =>
    delay(Math.max(0, startedMs + 1_000 * second - performance.now()));
  for (const app of apps) await at.kube.putManifests(appManifest(app, 0));
  for (const event of events) {
    await until(event.at);
    await carryOut(at, event);
  }
  await until(seconds);
}

async function carryOut(at: BenchLab, event: DayEvent): Promise<void> {
  if (event.kind === 'wave') return wave(at, event.share);
  const ref = { resource: deployments, namespace: 'default', name: event.app };
  const body =
    event.kind === 'scale'
      ? { spec: { replicas: event.replicas } }
      : { spec: { template: { metadata: { annotations: { rollout: String(event.at) } } } } };
  await at.kube.patch(ref, { type: 'merge', body });
}

/** Interrupts a share of the Spot instances, two minutes ahead, as EC2 does. */
async function wave({ lab }: BenchLab, share: number): Promise<void> {
  const spot = (await instancesOf(lab.cloudUrl)).filter(
    ({ state, capacityType }) => state === 'running' && capacityType === 'spot',
  );
  for (const { instanceId } of spot.slice(0, Math.ceil(share * spot.length))) {
    const body = JSON.stringify({ instanceId });
    const answer = await fetch(`${lab.cloudUrl}/_twin/interrupt`, { method: 'POST', body });
    if (!answer.ok) throw new Error(`interrupt ${instanceId}: ${answer.status}`);
  }
}
