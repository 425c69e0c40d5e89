import { appendFile, mkdir } from 'node:fs/promises';
import { cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { kubeResources } from '@dovetail/core-ports';
import { waitFor } from '@dovetail/testbed';
import Table from 'cli-table3';
import { type BenchLab, openLab } from './lab.js';
import { type Observed, observe, percentile } from './observed.js';
import { deployment, pool, wholeNodePod } from './workload.js';

const deployments = { group: 'apps', version: 'v1', kind: 'Deployment', plural: 'deployments', namespaced: true } as const;
/** What is aimed at, in milliseconds. */
const targets = { oneP50: 200, oneP99: 500, manyClaims: 1_000 } as const;

/** From pods to NodeClaims: the latency of one pod, and of many created at once. */
export async function scaleup(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({ args: [...args], options: { real: { type: 'boolean', default: false }, trials: { type: 'string', default: '30' }, pods: { type: 'string', default: '1000' }, solvers: { type: 'string', default: '1' } } });
  const world = values.real ? 'real' : 'twin';
  const [busy = 0] = loadavg();
  const at = await openLab({ world, solvers: Number(values.solvers) });
  const seen = observe(at.kube, 'default');
  try {
    await at.kube.putManifests(pool(at.lab.options.clusterName));
    await warmUp(at, seen);
    const one = await onePod(at, seen, Number(values.trials));
    const many = await manyPods(at, seen, Number(values.pods));
    report({ world, one, many });
    await keep({ at: new Date().toISOString(), world, cpus: cpus().length, loadBefore: busy, solvers: Number(values.solvers), trials: one.length, oneP50: percentile(one, 0.5), oneP99: percentile(one, 0.99), ...many });
  } finally {
    await seen.stop();
    await at.close();
  }
}

/** The first plan of a process loads code and the catalog; it is not what is measured. */
async function warmUp(at: BenchLab, seen: Observed): Promise<void> {
  await onePod(at, seen, 2);
  await clear(at, seen);
}

/** Milliseconds from the request that creates a pod to its NodeClaim being seen, one pod after the other. */
async function onePod(at: BenchLab, seen: Observed, trials: number): Promise<readonly number[]> {
  const took: number[] = [];
  for (let trial = 0; trial < trials; trial += 1) {
    seen.forget();
    const startedMs = performance.now();
    await at.kube.create(kubeResources.pods, wholeNodePod(`one-${trial}`));
    const claimedMs = await soon('a claim for one pod', () => [...seen.claims.values()][0]);
    took.push(claimedMs - startedMs);
    await soon('the pod to run', () => [...seen.pods.values()].every((pod) => pod.runningMs !== undefined) && seen.pods.size > 0);
  }
  return took;
}

type Many = { readonly pods: number; readonly createdMs: number; readonly claims: number; readonly firstClaimMs: number; readonly claimsAfterLastPodMs: number; readonly boundMs: number; readonly runningMs: number };

/** All times but `claimsAfterLastPodMs` count from the request that creates the deployment. */
async function manyPods(at: BenchLab, seen: Observed, pods: number): Promise<Many> {
  await clear(at, seen);
  seen.forget();
  const startedMs = performance.now();
  await at.kube.create(deployments, deployment('many', pods));
  await soon(`${pods} running pods`, () => seen.pods.size >= pods && [...seen.pods.values()].every((pod) => pod.runningMs !== undefined), 180_000);
  const all = [...seen.pods.values()];
  const lastPodMs = Math.max(...all.map((pod) => pod.createdMs));
  const claimed = [...seen.claims.values()];
  return {
    pods, createdMs: lastPodMs - startedMs, claims: claimed.length, firstClaimMs: Math.min(...claimed) - startedMs, claimsAfterLastPodMs: Math.max(...claimed) - lastPodMs,
    boundMs: Math.max(...all.map((pod) => pod.boundMs ?? Number.NaN)) - startedMs, runningMs: Math.max(...all.map((pod) => pod.runningMs ?? Number.NaN)) - startedMs,
  };
}

/** Ends everything, so that the next measurement begins on an empty cluster. */
async function clear(at: BenchLab, seen: Observed): Promise<void> {
  const objects = await at.kube.list(kubeResources.pods, { namespace: 'default' });
  await Promise.all(objects.map((pod) => at.kube.delete({ resource: kubeResources.pods, namespace: 'default', name: pod.metadata.name }, { gracePeriodSeconds: 0 })));
  await soon('no pods', () => seen.alive().pods === 0);
  await at.lab.advanceClock(11_000);
  await soon('no claims', () => seen.alive().claims === 0);
}

const soon = <T>(what: string, condition: () => T | undefined | false, deadlineMs = 60_000): Promise<T> => waitFor(condition, { what, deadlineMs, everyMs: 5 });

function report({ world, one, many }: { readonly world: string; readonly one: readonly number[]; readonly many: Many }): void {
  const table = new Table({ head: [`scaleup, ${world} world`, 'measured', 'target'] });
  const ms = (value: number): string => `${Math.round(value)} ms`;
  const [p50, p99] = [percentile(one, 0.5), percentile(one, 0.99)];
  const against = (value: number, targetMs: number): string => `≤ ${targetMs} ms: ${value <= targetMs ? 'met' : 'missed'}`;
  table.push(
    [`one pod → NodeClaim, p50 of ${one.length}`, ms(p50), against(p50, targets.oneP50)],
    [`one pod → NodeClaim, p99 of ${one.length}`, ms(p99), against(p99, targets.oneP99)],
    [`${many.pods} pods: created in`, ms(many.createdMs), ''],
    [`${many.pods} pods: first claim after the deployment`, ms(many.firstClaimMs), ''],
    [`${many.pods} pods: ${many.claims} claims, the last after the last pod`, ms(many.claimsAfterLastPodMs), against(many.claimsAfterLastPodMs, targets.manyClaims)],
    [`${many.pods} pods: all bound`, ms(many.boundMs), ''],
    [`${many.pods} pods: all running`, ms(many.runningMs), ''],
  );
  process.stdout.write(`${table.toString()}\n`);
}

async function keep(result: object): Promise<void> {
  const folder = join(import.meta.dirname, 'results');
  await mkdir(folder, { recursive: true });
  await appendFile(join(folder, 'scaleup.ndjson'), `${JSON.stringify(result)}\n`);
}
