import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectKubernetes } from '@dovetail/adapter-kubernetes';
import { connectNats } from '@dovetail/adapter-nats';
import { type Decision, followDecisions } from '@dovetail/contracts';
import { type KubeApi, kubeResources, type Log } from '@dovetail/core-ports';
import { systemHash } from '@dovetail/runtime';
import { type Lab, startLab, waitFor } from '@dovetail/testbed';
import { Timeline } from './timeline.js';
import { labOptions } from './up.js';

const silent: Log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
const replicas = 20;
const deployment = { resource: { group: 'apps', version: 'v1', kind: 'Deployment', plural: 'deployments', namespaced: true }, namespace: 'default', name: 'inflate' };

/** Shows the main job from start to end, and ends with 0 when every step was seen. */
export async function runDemo(): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'dovetail-demo-'));
  process.stdout.write('Dovetail demo: pods become nodes, and nodes go away.\nStarting nats-server, Kubernetes, the cloud and four services, each a process of its own…\n');
  const lab = await startLab(labOptions(dir, (line) => process.stdout.write(`  ${line}\n`)));
  try {
    process.stdout.write(`${lab.inventory.map((line) => `  ${line}`).join('\n')}\n\n`);
    await show(lab);
  } finally {
    await lab.stop();
    await rm(dir, { recursive: true, force: true });
  }
}

async function show(lab: Lab): Promise<void> {
  const timeline = new Timeline((line) => process.stdout.write(`${line}\n`));
  const kube = connectKubernetes({ kubeconfigPath: lab.kubeconfig, log: silent });
  const bus = connectNats({ servers: [lab.natsUrl], name: 'demo', log: silent });
  const stop = new AbortController();
  const following = follow(lab, bus, timeline, stop.signal);
  const manifest = await readFile(join(lab.options.distDir, '..', 'examples', 'inflate.yaml'), 'utf8');
  await kube.putManifests(manifest.replaceAll(/\blab\b/g, lab.options.clusterName));
  timeline.say('user', `NodePool default, EC2NodeClass default and deployment inflate (0 replicas) applied`);
  await waitFor(() => poolIsReady(kube), { what: 'the NodePool to be ready', deadlineMs: 60_000, everyMs: 100 });
  timeline.say('kubernetes', 'NodePool default is ready: its class has subnets, security groups and images');
  await scaleUp(kube, timeline);
  await scaleDown(kube, timeline);
  stop.abort();
  await following;
  await bus.close();
  timeline.say('demo', 'done: every pod ran, every node is gone');
}

async function follow(lab: Lab, bus: ReturnType<typeof connectNats>, timeline: Timeline, stop: AbortSignal): Promise<void> {
  const seen = new Set<string>();
  for await (const event of followDecisions({ bus, cluster: lab.options.clusterName, hash: systemHash }, stop)) {
    if (event.kind !== 'decision' || seen.has(event.decision.id)) continue;
    seen.add(event.decision.id);
    timeline.say(event.decision.source, sentence(event.decision));
  }
}

function sentence(decision: Decision): string {
  const price = decision.priceMicrosPerHour === undefined ? '' : ` · $${(decision.priceMicrosPerHour / 1e6).toFixed(4)}/h${decision.priceEstimated === true ? ' (estimated)' : ''}`;
  const bound = decision.lowerBoundMicrosPerHour === undefined ? '' : ` (no plan can cost less than $${(decision.lowerBoundMicrosPerHour / 1e6).toFixed(4)}/h)`;
  return `${decision.kind.padEnd(11)} ${decision.summary}${price}${bound}`;
}

async function poolIsReady(kube: KubeApi): Promise<boolean> {
  const pools = (await kube.list(kubeResources.nodePools)) as readonly { status?: { conditions?: readonly { type: string; status: string }[] } }[];
  return pools.length > 0 && pools.every((pool) => pool.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True'));
}

async function scaleUp(kube: KubeApi, timeline: Timeline): Promise<void> {
  await scale(kube, replicas);
  timeline.say('user', `deployment inflate scaled to ${replicas} replicas`);
  const pending = await waitFor(async () => (await phases(kube)).pending, { what: 'pending pods', deadlineMs: 30_000 });
  timeline.say('kubernetes', `${pending} pods pending: no node has room for them`);
  await waitFor(async () => (await phases(kube)).running === replicas, { what: `${replicas} running pods`, deadlineMs: 90_000, everyMs: 100 });
  const nodes = (await kube.list(kubeResources.nodes)).filter((node) => node.metadata.labels?.['karpenter.sh/nodepool'] !== undefined);
  timeline.say('kubernetes', `${replicas} pods running on ${nodes.length} nodes: ${nodes.map((node) => node.metadata.labels?.['node.kubernetes.io/instance-type']).join(', ')}`);
}

async function scaleDown(kube: KubeApi, timeline: Timeline): Promise<void> {
  await scale(kube, 0);
  timeline.say('user', 'deployment inflate scaled to 0 replicas; nodes that stay empty for 10 seconds are to go');
  await waitFor(async () => (await kube.list(kubeResources.nodeClaims)).length === 0, { what: 'all nodes to be gone', deadlineMs: 90_000, everyMs: 200 });
  timeline.say('kubernetes', 'no NodeClaim and no node of the pool is left');
}

const scale = (kube: KubeApi, count: number): Promise<unknown> => kube.patch(deployment, { type: 'merge', body: { spec: { replicas: count } } });

async function phases(kube: KubeApi): Promise<{ pending: number; running: number }> {
  const pods = (await kube.list(kubeResources.pods, { namespace: 'default', labelSelector: 'app=inflate' })) as readonly { status?: { phase?: string } }[];
  const count = (phase: string): number => pods.filter((pod) => pod.status?.phase === phase).length;
  return { pending: count('Pending'), running: count('Running') };
}
