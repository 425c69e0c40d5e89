import { compareText } from '@dovetail/core-kube-model';
import { type KubeApi, kubeResources } from '@dovetail/core-ports';
import { expect, test } from 'vitest';

import {
  cluster,
  gone,
  isDeleting,
  reap,
  replacements,
  started,
  tainted,
} from './testing/current-cluster.js';

const never = { consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' };

/** A call to the API server. */
type Call = { readonly verb: string; readonly kind: string };

/**
 * An API server that takes so many calls a second, in their order, and counts them. Watches are
 * streams: they cost nothing.
 */
function metered(kube: KubeApi, perSecond: number): { kube: KubeApi; calls: Call[] } {
  const calls: Call[] = [];
  let freeMs = 0;
  const turn = async (): Promise<void> => {
    const { clock, stop } = cluster;
    freeMs = Math.max(freeMs, clock.nowMs()) + 1_000 / perSecond;
    const waitMs = Math.floor(freeMs - clock.nowMs());
    if (waitMs > 0) await clock.sleep(waitMs, stop.signal);
  };
  const paced = new Proxy(kube, {
    get: (target, verb: string) => {
      const method = target[verb as keyof KubeApi] as (...given: unknown[]) => unknown;
      if (verb === 'watch' || verb === 'serves')
        return (...given: unknown[]) => method.apply(target, given);
      return async (...given: unknown[]) => {
        calls.push({ verb, kind: kindOf(given[0]) });
        await turn();
        return method.apply(target, given);
      };
    },
  });
  return { kube: paced, calls };
}

function kindOf(target: unknown): string {
  const { resource, kind } = target as {
    readonly resource?: { readonly kind: string };
    readonly kind?: string;
  };
  return resource?.kind ?? kind ?? 'Pod';
}

/** The calls of one kind, such as `get Node`, with their number. */
function counted(calls: readonly Call[]): Readonly<Record<string, number>> {
  const counts = new Map<string, number>();
  for (const { verb, kind } of calls)
    counts.set(`${verb} ${kind}`, (counts.get(`${verb} ${kind}`) ?? 0) + 1);
  return Object.fromEntries([...counts].toSorted(([a], [b]) => compareText(a, b)));
}

/** Whether a call is of a look at a node. Collection lists all claims now and then. */
const isLook = ({ verb, kind }: Call): boolean =>
  verb === 'list' ? kind === 'Pod' : ['Node', 'NodeClaim', 'Pod'].includes(kind);
/** Whether it reads a node, its claim or its pods. */
const isRead = (call: Call): boolean => isLook(call) && ['get', 'list'].includes(call.verb);

test('a noticed node is read once, before its claim is deleted', async () => {
  await started(never);
  const { instanceId } = await cluster.node('n1', { capacityType: 'spot' });
  await cluster.scale('web', 3);
  await cluster.pass(3);
  replacements({ afterMs: 10_000 });
  const { kube, calls } = metered(cluster.kube, 200);
  reap({ kube });
  await cluster.pass(2);
  calls.length = 0;
  cluster.twin.notify({ kind: 'spot-interruption', instanceId });
  await cluster.pass(5);
  // Its beginning, its condition, the asking and the answer.
  expect(counted(calls.filter(isLook))).toEqual({ 'patch Node': 3, 'patch NodeClaim': 1 });
  const isEnding = (): boolean => calls.some(({ verb }) => verb === 'delete');
  expect(await cluster.pass(60, isEnding, 50)).toBe(true);
  const end = calls.findIndex(({ verb }) => verb === 'delete');
  expect(counted(calls.slice(0, end).filter(isRead))).toEqual({ 'get Node': 1 });
  expect(await cluster.pass(5, () => isDeleting('claim-n1'))).toBe(true);
});

test('500 notices taint all of their nodes within ten seconds, at 200 calls a second', async () => {
  await started(never);
  const names = Array.from({ length: 500 }, (_, index) => `n${String(index + 1_000)}`);
  const ids: string[] = [];
  cluster.twin.gate.setBucket('ec2:CreateFleet', 'none');
  for (const name of names)
    ids.push((await cluster.node(name, { cpu: '1', capacityType: 'spot' })).instanceId);
  await cluster.scale('web', names.length);
  await cluster.pass(5);
  const made = replacements({ afterMs: 600_000 });
  const { kube, calls } = metered(cluster.kube, 200);
  reap({ kube });
  await cluster.pass(3);
  calls.length = 0;
  for (const instanceId of ids) cluster.twin.notify({ kind: 'spot-interruption', instanceId });
  const isDone = (): boolean => names.every(tainted);
  expect(await cluster.pass(10, isDone)).toBe(true);
  expect(calls.filter(isRead)).toEqual([]);
  await cluster.pass(10);
  // All of them go to solvers in a few requests.
  expect(made.requests.length).toBeLessThan(4);
  expect(made.requests.flatMap(({ withoutNodes }) => withoutNodes).sort()).toEqual(names);
  expect(cluster.list(kubeResources.nodes)).toHaveLength(names.length);
});

test('a command that waits for its new node costs no call until it ends', async () => {
  await started({
    consolidationPolicy: 'WhenEmptyOrUnderutilized',
    consolidateAfter: '5s',
    budgets: [{ nodes: '100%' }],
  });
  const claimAnnotations = { 'dovetail.sh/price-per-hour': '0.192000' };
  for (const name of ['n1', 'n2']) await cluster.node(name, { cpu: '2', claimAnnotations });
  await cluster.scale('web', 4);
  const { plans } = replacements({
    afterMs: 50_000,
    priceMicrosPerHour: 60_000,
    node: { cpu: '8' },
  });
  const { kube, calls } = metered(cluster.kube, 200);
  reap({ kube });
  expect(await cluster.pass(120, () => plans.length > 0, 250)).toBe(true);
  await cluster.pass(5);
  calls.length = 0;
  await cluster.pass(30);
  const ofCommands = calls.filter((call) => isLook(call) || call.kind === 'Disruption');
  expect(counted(ofCommands)).toEqual({});
  expect(await cluster.pass(300, gone('claim-n1'))).toBe(true);
});
