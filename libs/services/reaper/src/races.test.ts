import { annotations, renderPromise } from '@dovetail/core-api';
import { renderRetirement } from '@dovetail/core-disruption';
import { type KubeApi, KubeError, kubeResources, neverStopping } from '@dovetail/core-ports';
import { describe, expect, test } from 'vitest';

import {
  cluster,
  gone,
  isDeleting,
  reap,
  replacements,
  retirementOn,
  started,
  tainted,
} from './testing/current-cluster.js';
import { actingBefore, tainting } from './testing/others.js';

const { nodes, podDisruptionBudgets } = kubeResources;
const protectedNode = { nodeAnnotations: { 'karpenter.sh/do-not-disrupt': 'true' } };
const dear = { [annotations.pricePerHour]: '0.192000' };
const cheaper = { afterMs: 10_000, node: { cpu: '8' }, priceMicrosPerHour: 60_000 } as const;
/** The nodes of a command: one, or several where that is on. */
const leaving = { replace: ['n1'], all: ['n1', 'n3'] } as const;

/** Dear nodes with two pods each, as many as go in a command of this kind. */
async function dearNodes(kind: keyof typeof leaving): Promise<readonly string[]> {
  await started({
    consolidationPolicy: 'WhenEmptyOrUnderutilized',
    consolidateAfter: '5s',
    budgets: [{ nodes: '100%' }],
  });
  const names = leaving[kind];
  for (const name of names) await cluster.node(name, { cpu: '2', claimAnnotations: dear });
  await cluster.scale('web', 2 * names.length);
  await cluster.budget('web', names.length);
  await cluster.pass(1);
  return names;
}

const roomOnAnother = (): Promise<unknown> => cluster.node('n2', { cpu: '8', ...protectedNode });
const latePod = (): Promise<unknown> => cluster.pod('late', 'late', { spec: { nodeName: 'n1' } });
/** Another loop begins to retire `n1`, with all that it writes. */
const interruption = (): Promise<unknown> => {
  const text = renderRetirement({ cause: 'interrupted', atMs: cluster.clock.nowMs() });
  const taints = [{ key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }];
  const body = { metadata: { annotations: { [annotations.retirement]: text } }, spec: { taints } };
  return cluster.kube.patch({ resource: nodes, name: 'n1' }, { type: 'merge', body });
};
const hasLogged = (name: string) => (): boolean =>
  cluster.log.entries.some((entry) => entry.name === name);

describe.each(['replace', 'all'] as const)('a command under consolidation "%s"', (kind) => {
  test('that was to buy nothing buys nothing at the second look, but is found anew', async () => {
    const names = await dearNodes(kind);
    await roomOnAnother();
    // Another pod has taken the room on n2 between the two looks.
    const solver = replacements({ ...cheaper, room: (request) => request === 1 });
    reap({ config: { consolidation: kind } });
    expect(await cluster.pass(60, () => solver.requests.length === 2, 500)).toBe(true);
    await cluster.pass(3);
    expect([names.map(tainted), solver.plans]).toEqual([names.map(() => false), []]);
    expect(hasLogged('consolidation-outdated')()).toBe(true);
  });

  test('is given up when a pod came to its node before the taint', async () => {
    const names = await dearNodes(kind);
    const solver = replacements(cheaper);
    const kube = actingBefore(tainting('n1'), latePod);
    reap({ config: { consolidation: kind }, kube });
    expect(await cluster.pass(60, hasLogged('retirement-abandoned'), 250)).toBe(true);
    expect(await cluster.pass(10, () => names.every((name) => !tainted(name)), 250)).toBe(true);
    expect(solver.plans).toEqual([]);
    expect(names.map((name) => isDeleting(`claim-${name}`))).toEqual(names.map(() => false));
  });
});

test('a command of one node publishes no plan if another cause has taken the node before the taint', async () => {
  await dearNodes('replace');
  const solver = replacements({ ...cheaper, admitsCommands: false });
  const kube = actingBefore(tainting('n1'), interruption);
  reap({ config: { consolidation: 'replace' }, kube });
  expect(await cluster.pass(60, () => retirementOn('n1') !== undefined, 250)).toBe(true);
  await cluster.pass(20);
  expect(retirementOn('n1')?.cause ?? 'interrupted').toBe('interrupted');
  expect(solver.plans).toEqual([]);
});

test('a node whose taint a person takes off stays, and its command is given up', async () => {
  await dearNodes('replace');
  replacements({ ...cheaper, afterMs: 600_000 });
  reap({ config: { consolidation: 'replace' } });
  expect(await cluster.pass(60, () => tainted('n1'), 250)).toBe(true);
  await cluster.pass(2);
  const body = { spec: { taints: [] } };
  await cluster.kube.patch({ resource: nodes, name: 'n1' }, { type: 'merge', body });
  expect(await cluster.pass(10, () => retirementOn('n1') === undefined, 250)).toBe(true);
  await cluster.pass(5);
  expect([tainted('n1'), isDeleting('claim-n1')]).toEqual([false, false]);
});

test('a drifted node whose taint a person takes off stays, though its pods have room elsewhere', async () => {
  await dearNodes('replace');
  await roomOnAnother();
  replacements({ afterMs: 0, room: () => true });
  reap();
  await cluster.drift('n1', 'AMIDrift');
  expect(await cluster.pass(15, () => tainted('n1'), 250)).toBe(true);
  const body = { spec: { taints: [] } };
  await cluster.kube.patch({ resource: nodes, name: 'n1' }, { type: 'merge', body });
  expect(await cluster.pass(10, () => retirementOn('n1') === undefined, 250)).toBe(true);
  await cluster.pass(5);
  expect(cluster.names(nodes)).toContain('n1');
  expect([tainted('n1'), isDeleting('claim-n1')]).toEqual([false, false]);
  expect(hasLogged('retirement-abandoned')()).toBe(true);
});

test('a command that fails as it begins is cleaned away, and may begin again', async () => {
  await dearNodes('all');
  replacements(cheaper);
  const { kube, isRefused } = refusingOnce();
  reap({ config: { consolidation: 'replace' }, kube });
  expect(await cluster.pass(240, isRefused, 250)).toBe(true);
  expect(await cluster.pass(600, gone('claim-n3'), 1_000)).toBe(true);
});

describe('a command of several nodes', () => {
  test('is not taken back while the last of its nodes is being tainted', async () => {
    await dearNodes('all');
    const solver = replacements(cheaper);
    // An API server that takes longer for one write than there is between two looks.
    const slow = (): Promise<void> => cluster.clock.sleep(30_000, neverStopping);
    reap({ config: { consolidation: 'all' }, kube: actingBefore(tainting('n3'), slow) });
    expect(await cluster.pass(60, () => tainted('n1'), 250)).toBe(true);
    expect(await cluster.pass(60, () => solver.plans.length === 1, 250)).toBe(true);
    expect([tainted('n1'), tainted('n3')]).toEqual([true, true]);
    expect(await cluster.pass(60, () => cluster.names(nodes).join() === 'new-1', 1_000)).toBe(true);
  });

  test('goes on while the API server says for a moment that it does not know commands', async () => {
    await dearNodes('all');
    const solver = replacements({ ...cheaper, afterMs: 40_000 });
    let isServed = true;
    const kube: KubeApi = {
      ...cluster.kube,
      serves: async (resource) =>
        (isServed || resource.kind !== 'Disruption') && cluster.kube.serves(resource),
      watch: async function* (options, stop) {
        for await (const event of cluster.kube.watch(options, stop)) {
          // The watch of an API that is not served ends.
          if (!isServed && options.resource.kind === 'Disruption') return;
          yield event;
        }
      },
    };
    reap({ config: { consolidation: 'all' }, kube });
    expect(await cluster.pass(60, () => solver.plans.length === 1, 250)).toBe(true);
    isServed = false;
    await touchCommands();
    await cluster.pass(10);
    isServed = true;
    expect([tainted('n1'), tainted('n3')]).toEqual([true, true]);
    expect(await cluster.pass(90, () => cluster.names(nodes).join() === 'new-1', 1_000)).toBe(true);
  });

  test('that is taken back leaves the node that it bought if pods run there', async () => {
    await dearNodes('all');
    const solver = replacements({
      ...cheaper,
      admitsCommands: false,
      isPlaceless: ({ commit }) => commit !== undefined,
    });
    reap({ config: { consolidation: 'all' } });
    expect(await cluster.pass(60, () => solver.plans.length === 1, 500)).toBe(true);
    await boughtFor(solver.plans[0]?.id ?? '');
    await cluster.pod('other', 'other', { spec: { nodeName: 'bought' } });
    await cluster.pass(2);
    const ref = { resource: podDisruptionBudgets, namespace: 'default', name: 'web-pdb' };
    await cluster.kube.patch(ref, { type: 'merge', body: { spec: { minAvailable: 4 } } });
    expect(await cluster.pass(30, () => !tainted('n1') && !tainted('n3'), 250)).toBe(true);
    await cluster.pass(5);
    expect([isDeleting('claim-bought'), hasLogged('replacement-kept')()]).toEqual([false, true]);
  });
});

/** An API server that refuses the first taint of `n3`, and whose watch of commands lags. */
function refusingOnce(): { readonly kube: KubeApi; readonly isRefused: () => boolean } {
  const { kube: whole, clock } = cluster;
  let isRefused = false;
  const kube: KubeApi = {
    ...whole,
    patch: async (ref, patch, options) => {
      if (isRefused || !tainting('n3')(ref, patch)) return whole.patch(ref, patch, options);
      isRefused = true;
      throw new KubeError('invalid', 'no such patch');
    },
    watch: async function* (options, stop) {
      for await (const event of whole.watch(options, stop)) {
        if (options.resource.kind === 'Disruption') await clock.sleep(5_000, stop);
        yield event;
      }
    },
  };
  return { kube, isRefused: () => isRefused };
}

/** Changes each command, so that its watch has something to show. */
async function touchCommands(): Promise<void> {
  const resource = kubeResources.disruptions;
  const body = { metadata: { labels: { touched: 'true' } } };
  for (const name of cluster.names(resource))
    await cluster.kube.patch({ resource, name }, { type: 'merge', body });
}

/** A node of a command's plan, which keeps room for a pod that is not there any more. */
const boughtFor = (planId: string): Promise<unknown> =>
  cluster.node('bought', {
    claimAnnotations: {
      [annotations.admission]: `1.1/${planId}/bin-0`,
      [annotations.maxPricePerHour]: '0.06',
      [annotations.promise]: renderPromise({
        podUids: [],
        admission: '1.1',
        reserved: { cpu: 4_000 },
        forPodUids: ['gone'],
      }),
    },
  });
