import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';

import { type KubeObject, kubeResources } from '@dovetail/core-ports';
import { deploymentManifest, deployments, poolManifest } from '@dovetail/test-support/workload';
import { waitFor } from '@dovetail/testbed';

import { type BenchLab, openLab } from './lab.js';
import { observe, type Observed, percentile } from './observed.js';
import { keep, tableOf } from './scaleup-report.js';

/**
 * A deployment of this many pods. All times but those `After…` count from the request that creates
 * it.
 */
export type Many = {
  readonly pods: number;
  readonly createdMs: number;
  readonly claims: number;
  readonly firstClaimMs: number;
  /**
   * The scheduler's last word that a pod is unschedulable, counted from the last pod's creation.
   */
  readonly judgedAfterLastPodMs: number;
  readonly claimsAfterLastPodMs: number;
  readonly boundMs: number;
  readonly runningMs: number;
};

/** One run, as a line of `bench/results/scaleup.ndjson`. */
export type ScaleupResults = {
  readonly at: string;
  readonly world: 'real' | 'twin';
  readonly cpus: number;
  readonly loadBefore: number;
  readonly solvers: number;
  /**
   * One pod after the other: from the request that creates it to the first sight of its NodeClaim.
   */
  readonly one: {
    readonly trials: number;
    readonly p50: number;
    readonly p99: number;
    readonly most: number;
  };
  readonly many: readonly Many[];
};

const scaleupFlags = {
  real: { type: 'boolean', default: false },
  trials: { type: 'string', default: '100' },
  pods: { type: 'string', default: '200,1000' },
  solvers: { type: 'string', default: '1' },
} as const;

const summaryOf = (one: readonly number[]): ScaleupResults['one'] => ({
  trials: one.length,
  p50: percentile(one, 0.5),
  p99: percentile(one, 0.99),
  most: Math.max(...one),
});

/**
 * Measures the time from pods to NodeClaims with every setting at its default: the latency of one
 * pod, and of many created at once.
 */
export async function scaleup(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({ args: [...args], options: scaleupFlags });
  const world = values.real ? 'real' : 'twin';
  const [loadBefore = 0] = loadavg();
  const solvers = Number(values.solvers);
  const at = await openLab({ world, solvers });
  const seen = observe(at.kube, 'default');
  try {
    await at.kube.putManifests(
      poolManifest({ clusterName: at.lab.options.clusterName, vcpusMax: 16 }),
    );
    await warmUp(at, seen);
    const one = await onePod(at, seen, Number(values.trials));
    const many: Many[] = [];
    for (const pods of values.pods.split(',').map(Number))
      many.push(await manyPods(at, seen, pods));
    const results: ScaleupResults = {
      at: new Date().toISOString(),
      world,
      cpus: cpus().length,
      loadBefore,
      solvers,
      one: summaryOf(one),
      many,
    };
    process.stdout.write(`${tableOf(results)}\n`);
    await keep(results);
  } finally {
    await seen.stop();
    await at.close();
  }
}

/** The first plan of a process also loads code and the catalog, so it is not measured. */
async function warmUp(at: BenchLab, seen: Observed): Promise<void> {
  await onePod(at, seen, 2);
  await clear(at, seen);
}

/** A pod that leaves no room for another of its kind on a node of at most 16 vCPU. */
const wholeNodePod = (name: string): KubeObject => ({
  metadata: { name, namespace: 'default' },
  spec: {
    terminationGracePeriodSeconds: 0,
    containers: [
      {
        name: 'app',
        image: 'public.ecr.aws/eks-distro/kubernetes/pause:3.9',
        resources: { requests: { cpu: '9', memory: '1Gi' } },
      },
    ],
  },
});

/**
 * Milliseconds from the request that creates a pod to the first sight of its NodeClaim, one pod
 * after the other.
 */
async function onePod(at: BenchLab, seen: Observed, trials: number): Promise<readonly number[]> {
  const took: number[] = [];
  for (let trial = 0; trial < trials; trial += 1) {
    seen.forget();
    const startedMs = performance.now();
    await at.kube.create(kubeResources.pods, wholeNodePod(`one-${trial}`));
    const claimedMs = await soon('a claim for one pod', () => [...seen.claims.values()][0]);
    took.push(claimedMs - startedMs);
    await soon(
      'the pod to run',
      () =>
        [...seen.pods.values()].every((pod) => pod.runningMs !== undefined) && seen.pods.size > 0,
    );
  }
  return took;
}

async function manyPods(at: BenchLab, seen: Observed, pods: number): Promise<Many> {
  await clear(at, seen);
  seen.forget();
  const startedMs = performance.now();
  await at.kube.putManifests(
    deploymentManifest({ name: 'many', replicas: pods, cpu: '700m', memory: '1Gi' }),
  );
  await soon(
    `${pods} running pods`,
    () =>
      seen.pods.size >= pods && [...seen.pods.values()].every((pod) => pod.runningMs !== undefined),
    300_000,
  );
  const all = [...seen.pods.values()];
  const last = (time: (pod: (typeof all)[number]) => number | undefined): number =>
    Math.max(...all.map((pod) => time(pod) ?? Number.NEGATIVE_INFINITY));
  const lastPodMs = last((pod) => pod.createdMs);
  const claimed = [...seen.claims.values()];
  return {
    pods,
    createdMs: lastPodMs - startedMs,
    claims: claimed.length,
    firstClaimMs: Math.min(...claimed) - startedMs,
    judgedAfterLastPodMs: last((pod) => pod.judgedMs) - lastPodMs,
    claimsAfterLastPodMs: Math.max(...claimed) - lastPodMs,
    boundMs: last((pod) => pod.boundMs) - startedMs,
    runningMs: last((pod) => pod.runningMs) - startedMs,
  };
}

/** Ends everything, so that the next measurement begins on an empty cluster. */
async function clear(at: BenchLab, seen: Observed): Promise<void> {
  for (const {
    metadata: { name },
  } of await at.kube.list(deployments, { namespace: 'default' }))
    await at.kube.delete({ resource: deployments, namespace: 'default', name });
  await soon(
    'no replica sets',
    async () =>
      (await at.kube.list(kubeResources.replicaSets, { namespace: 'default' })).length === 0,
  );
  const objects = await at.kube.list(kubeResources.pods, { namespace: 'default' });
  await Promise.all(
    objects.map((pod) =>
      at.kube.delete(
        { resource: kubeResources.pods, namespace: 'default', name: pod.metadata.name },
        { gracePeriodSeconds: 0 },
      ),
    ),
  );
  await soon('no pods', () => seen.alive().pods === 0);
  await at.lab.advanceClock(11_000);
  await soon('no claims', () => seen.alive().claims === 0, 120_000);
}

const soon = <T>(
  what: string,
  condition: () => Promise<T | undefined | false> | T | undefined | false,
  deadlineMs = 60_000,
): Promise<T> => waitFor(condition, { what, deadlineMs, everyMs: 5 });
