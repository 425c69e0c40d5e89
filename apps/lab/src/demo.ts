import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { connectKubernetes } from '@dovetail/adapter-kubernetes/manifests';
import { type Decision, type DecisionKind, followDecisions } from '@dovetail/contracts';
import { type Bus, type KubeApi, kubeResources, type Log } from '@dovetail/core-ports';
import { systemHash } from '@dovetail/runtime';
import { type Lab, startLab, waitFor } from '@dovetail/testbed';

import { busOf } from './bus.js';
import { followLog } from './log-lines.js';
import { labOptions } from './options.js';
import { readPicture } from './picture.js';
import { Timeline } from './timeline.js';
import { clusterFlag, publishAddresses } from './up.js';

const silent: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
const replicas = 20;
const deployment = {
  resource: {
    group: 'apps',
    version: 'v1',
    kind: 'Deployment',
    plural: 'deployments',
    namespaced: true,
  },
  namespace: 'default',
  name: 'inflate',
};

/** The demo's plainer names for the decisions of the story. The others keep their kind. */
const steps: Partial<Record<DecisionKind, string>> = {
  launch: 'fleet',
  register: 'node joined',
  initialize: 'node ready',
  terminate: 'node gone',
};

/** Shows the main job from start to end. Exits with 0 if every step was seen. */
export async function runDemo(): Promise<void> {
  const startedMs = performance.now();
  const dir = await mkdtemp(join(tmpdir(), 'dovetail-demo-'));
  process.stdout.write(
    'Dovetail demo: pods become nodes, and nodes go away. Starting its parts…\n',
  );
  const lab = await startLab(labOptions(dir, (line) => process.stdout.write(`  ${line}\n`)));
  const unpublish = await publishAddresses(lab);
  // An interrupt leaves nothing behind either: the parts end with this process.
  process.once('exit', unpublish);
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => process.exit(130));
  try {
    process.stdout.write(
      `  to watch every decision, in another terminal: npx dovetail decisions --follow --nats ${lab.natsUrl}${clusterFlag(lab)}\n\n`,
    );
    await show(lab);
  } finally {
    unpublish();
    await lab.stop();
    await rm(dir, { recursive: true, force: true });
  }
  process.stdout.write(
    `\nAll of it took ${((performance.now() - startedMs) / 1_000).toFixed(0)} s; every part has ended. To play with it: make lab\n`,
  );
}

async function show(lab: Lab): Promise<void> {
  const timeline = new Timeline((line) => process.stdout.write(`${line}\n`));
  const kube = connectKubernetes({ kubeconfigPath: lab.kubeconfig, log: silent });
  const { bus, close } = busOf(lab.natsUrl, { name: 'demo', cluster: lab.options.clusterName });
  const stop = new AbortController();
  const following = Promise.all([
    tellDecisions(lab, bus, timeline, stop.signal),
    tellBatches(lab, timeline, stop.signal),
  ]);
  await apply(lab, kube, timeline);
  await scaleUp(kube, timeline);
  const picture = await readPicture(kube);
  await scaleDown(kube, timeline);
  await waitFor(() => timeline.missing().length === 0, {
    what: `the steps ${timeline.missing().join(', ')}`,
    deadlineMs: 10_000,
  });
  stop.abort();
  await following;
  await close();
  process.stdout.write(`\n${timeline.summary()}\n`);
  process.stdout.write(
    `\nAt its fullest, as the console draws it:\n${picture}\n(live, with prices, decisions and what waits: the page whose address make lab prints)\n`,
  );
}

/** Makes the pool, its class and the deployment, and waits until the pool can make nodes. */
async function apply(
  lab: Lab,
  kube: ReturnType<typeof connectKubernetes>,
  timeline: Timeline,
): Promise<void> {
  const manifest = await readFile(
    join(lab.options.distDir, '..', 'examples', 'inflate.yaml'),
    'utf8',
  );
  await kube.putManifests(manifest.replaceAll(/\blab\b/g, lab.options.clusterName));
  timeline.say(
    'user',
    'apply',
    'NodePool default, EC2NodeClass default and deployment inflate (0 replicas)',
  );
  await waitFor(() => poolIsReady(kube), {
    what: 'the NodePool to be ready',
    deadlineMs: 60_000,
    everyMs: 100,
  });
  timeline.say(
    'kubernetes',
    'pool ready',
    'NodePool default: its class has subnets, security groups and images',
  );
}

async function tellDecisions(
  lab: Lab,
  bus: Bus,
  timeline: Timeline,
  stop: AbortSignal,
): Promise<void> {
  const seen = new Set<string>();
  for await (const event of followDecisions(
    { bus, cluster: lab.options.clusterName, hash: systemHash },
    stop,
  )) {
    if (event.kind !== 'decision' || seen.has(event.decision.id)) continue;
    seen.add(event.decision.id);
    timeline.say(
      event.decision.source,
      steps[event.decision.kind] ?? event.decision.kind,
      sentence(event.decision),
      event.decision.atMs,
    );
  }
}

/**
 * Batches are no decisions and their queue belongs to the solvers, so this reads pod-watcher's log.
 */
async function tellBatches(lab: Lab, timeline: Timeline, stop: AbortSignal): Promise<void> {
  const part = lab.parts.get('pod-watcher') ?? lab.parts.get('services');
  if (part === undefined) return;
  for await (const { service, event, msg, time } of followLog(part.logFile, stop)) {
    if (service === 'pod-watcher' && event === 'batch')
      timeline.say(
        'pod-watcher',
        'batch',
        msg ?? '',
        time === undefined ? undefined : Date.parse(time),
      );
  }
}

function sentence({ summary, reasons, ...decision }: Decision): string {
  const whole = decision.kind === 'plan';
  const price =
    decision.priceMicrosPerHour === undefined
      ? ''
      : ` · $${(decision.priceMicrosPerHour / 1e6).toFixed(4)}/h${decision.priceEstimated === true ? ' (estimated)' : ''}`;
  // The bound is the whole plan's, even in a decision about one of its nodes.
  const bound =
    !whole || decision.lowerBoundMicrosPerHour === undefined
      ? ''
      : ` (no plan with as few nodes costs less than $${(decision.lowerBoundMicrosPerHour / 1e6).toFixed(4)}/h)`;
  // Other summaries contain their reason. A plan gives the reason for its choice of pool only among
  // its reasons.
  const why = whole
    ? reasons
        .slice(0, 2)
        .map(({ code, message }) => ` · ${code}: ${message}`)
        .join('')
    : '';
  return `${summary}${price}${bound}${why}`;
}

async function poolIsReady(kube: KubeApi): Promise<boolean> {
  const pools = (await kube.list(kubeResources.nodePools)) as readonly {
    status?: { conditions?: readonly { type: string; status: string }[] };
  }[];
  return (
    pools.length > 0 &&
    pools.every((pool) =>
      pool.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True'),
    )
  );
}

async function scaleUp(kube: KubeApi, timeline: Timeline): Promise<void> {
  await scale(kube, replicas);
  timeline.say('user', 'scaled up', `deployment inflate to ${replicas} replicas`);
  const pending = await waitFor(
    async () => {
      const seen = await phases(kube);
      return seen.pending + seen.running === replicas && seen.pending;
    },
    { what: 'pending pods', deadlineMs: 30_000 },
  );
  timeline.say('kubernetes', 'pods pending', `${pending} pods: no node has room for them`);
  // Pods run as soon as they are bound, a moment before their node opens to others. The demo waits
  // for both.
  const nodes = await waitFor(
    async () => {
      const ours = (await kube.list(kubeResources.nodes)).filter(
        (node) => node.metadata.labels?.['karpenter.sh/nodepool'] !== undefined,
      );
      const ready =
        ours.every((node) => node.metadata.labels?.['karpenter.sh/initialized'] === 'true') &&
        !timeline.missing().includes('node ready');
      return ready && (await phases(kube)).running === replicas && ours;
    },
    { what: `${replicas} running pods on ready nodes`, deadlineMs: 90_000, everyMs: 100 },
  );
  timeline.say(
    'kubernetes',
    'pods running',
    `${replicas} pods on ${nodes.length} nodes, which are ready: ${nodes.map((node) => node.metadata.labels?.['node.kubernetes.io/instance-type']).join(', ')}`,
  );
}

async function scaleDown(kube: KubeApi, timeline: Timeline): Promise<void> {
  await scale(kube, 0);
  timeline.say(
    'user',
    'scaled down',
    'deployment inflate to 0 replicas; nodes that stay empty for 10 seconds go',
  );
  await waitFor(async () => (await kube.list(kubeResources.nodeClaims)).length === 0, {
    what: 'all nodes to be gone',
    deadlineMs: 90_000,
    everyMs: 200,
  });
  timeline.say('kubernetes', 'node gone', 'no NodeClaim and no node of the pool is left');
}

const scale = (kube: KubeApi, count: number): Promise<unknown> =>
  kube.patch(deployment, { type: 'merge', body: { spec: { replicas: count } } });

async function phases(kube: KubeApi): Promise<{ pending: number; running: number }> {
  const pods = (await kube.list(kubeResources.pods, {
    namespace: 'default',
    labelSelector: 'app=inflate',
  })) as readonly { status?: { phase?: string } }[];
  const count = (phase: string): number => pods.filter((pod) => pod.status?.phase === phase).length;
  return { pending: count('Pending'), running: count('Running') };
}
