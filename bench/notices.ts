import { cpus, loadavg } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';

import { deploymentManifest, poolManifest } from '@dovetail/test-support/workload';
import { waitFor } from '@dovetail/testbed';

import { type BenchLab, openLab } from './lab.js';
import { keep, tableOf } from './notices-report.js';
import { percentile } from './observed.js';
import { type NodeSeen, type ScaleSeen, watchScale } from './scale-seen.js';

/** One run, as a line of `bench/results/notices.ndjson`. */
export type NoticesResults = {
  readonly at: string;
  readonly world: 'real' | 'twin';
  readonly cpus: number;
  readonly loadBefore: number;
  readonly nodes: number;
  /** Messages a second that were asked for, and that the queue got. */
  readonly rate: number;
  readonly sentPerSecond: number;
  readonly seconds: number;
  /** From a Spot notice's way into the queue to the first sight of the taint. */
  readonly tainted: number;
  readonly p50: number;
  readonly p99: number;
  readonly most: number;
  /** Messages still in the queue at the end of the sending. */
  readonly left: number;
};

const noticesFlags = {
  real: { type: 'boolean', default: false },
  nodes: { type: 'string', default: '100' },
  rate: { type: 'string', default: '1000' },
  seconds: { type: 'string', default: '20' },
} as const;

/** Messages go out in handfuls of this many milliseconds. */
const tickMs = 100;

const say = (line: string): void => void process.stderr.write(`${line}\n`);

/**
 * Measures the time from a Spot notice to the node's taint, while the queue gets so many messages
 * about instances that are not ours.
 */
export async function notices(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({ args: [...args], options: noticesFlags });
  const world = values.real ? 'real' : 'twin';
  const [loadBefore = 0] = loadavg();
  const [nodes, rate, seconds] = [values.nodes, values.rate, values.seconds].map(Number) as [
    number,
    number,
    number,
  ];
  const at = await openLab({ world, solvers: 1, progress: say });
  const seen = watchScale(at.kube);
  try {
    await fill(at, seen, nodes);
    const load = { rate, seconds };
    const { sentMs, sentPerSecond, left } = await storm(at, [...seen.nodes.values()], load);
    const took = await taintsOf(sentMs);
    const results: NoticesResults = {
      at: new Date().toISOString(),
      world,
      cpus: cpus().length,
      loadBefore,
      nodes,
      ...load,
      sentPerSecond,
      left,
      tainted: took.length,
      p50: Math.round(percentile(took, 0.5)),
      p99: Math.round(percentile(took, 0.99)),
      most: Math.round(Math.max(...took)),
    };
    process.stdout.write(`${tableOf(results)}\n`);
    await keep(results);
  } finally {
    await seen.stop();
    await at.close();
  }
}

/** Launches this many Spot nodes: a pod each. */
async function fill({ kube, lab }: BenchLab, seen: ScaleSeen, nodes: number): Promise<void> {
  const { clusterName } = lab.options;
  await kube.putManifests(
    poolManifest({
      clusterName,
      instanceTypes: ['m5.large', 'm6i.large'],
      capacityTypes: ['spot'],
    }),
  );
  await kube.putManifests(
    deploymentManifest({ name: 'one', replicas: nodes, cpu: '1500m', memory: '1Gi' }),
  );
  await waitFor(() => seen.pods('one').running >= nodes, {
    what: `${nodes} nodes`,
    deadlineMs: 600_000,
  });
}

/** EventBridge's words about an instance of someone else. */
const strangerText = (index: number): string =>
  JSON.stringify({
    version: '0',
    id: `00000000-0000-0000-0000-${String(index).padStart(12, '0')}`,
    'detail-type': 'EC2 Instance State-change Notification',
    source: 'aws.ec2',
    account: '123456789012',
    time: new Date().toISOString(),
    region: 'us-west-2',
    resources: [],
    detail: { 'instance-id': `i-0${index.toString(16).padStart(16, '0')}`, state: 'stopping' },
  });

async function order(cloudUrl: string, path: string, body: object): Promise<void> {
  const answer = await fetch(`${cloudUrl}/_twin/${path}`, {
    method: 'POST',
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
}

/** Sends the messages at their rate, and the notices of all nodes evenly among them. */
async function storm(
  { lab: { cloudUrl } }: BenchLab,
  nodes: readonly NodeSeen[],
  { rate, seconds }: { readonly rate: number; readonly seconds: number },
): Promise<{
  readonly sentMs: ReadonlyMap<NodeSeen, number>;
  readonly sentPerSecond: number;
  readonly left: number;
}> {
  const sentMs = new Map<NodeSeen, number>();
  const startedMs = performance.now();
  const ticks = (seconds * 1_000) / tickMs;
  let sent = 0;
  for (let tick = 1; tick <= ticks; tick += 1) {
    for (const node of nodes.slice(sentMs.size, Math.round((nodes.length * tick) / ticks))) {
      sentMs.set(node, performance.now());
      await order(cloudUrl, 'interrupt', { instanceId: node.instanceId });
    }
    const bodies = Array.from({ length: (rate * tickMs) / 1_000 }, (_, i) =>
      strangerText(sent + i),
    );
    await order(cloudUrl, 'messages', { bodies });
    sent += bodies.length;
    await delay(Math.max(0, startedMs + tick * tickMs - performance.now()));
  }
  const tookSeconds = (performance.now() - startedMs) / 1_000;
  const depth = await fetch(`${cloudUrl}/_twin/queue`);
  const { visible } = (await depth.json()) as { readonly visible: number };
  return { sentMs, sentPerSecond: Math.round((sent + sentMs.size) / tookSeconds), left: visible };
}

/** The milliseconds from each notice to its taint. Spot gives two minutes. */
async function taintsOf(sentMs: ReadonlyMap<NodeSeen, number>): Promise<readonly number[]> {
  const all = [...sentMs];
  await waitFor(() => all.every(([{ taintedMs }]) => taintedMs !== undefined), {
    what: 'all taints',
    deadlineMs: 120_000,
  }).catch(() => undefined);
  return all.flatMap(([{ taintedMs }, atMs]) =>
    taintedMs === undefined ? [] : [taintedMs - atMs],
  );
}
