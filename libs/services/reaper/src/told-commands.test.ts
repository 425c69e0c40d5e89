import { annotations } from '@dovetail/core-api';
import { type KubeApi, KubeError, kubeResources, type Span } from '@dovetail/core-ports';
import { expect, test } from 'vitest';

import {
  cluster,
  decisions,
  gone,
  reap,
  replacements,
  started,
  tainted,
} from './testing/current-cluster.js';

const { disruptions } = kubeResources;
const protectedNode = { nodeAnnotations: { 'karpenter.sh/do-not-disrupt': 'true' } };
const cheaper = { afterMs: 10_000, node: { cpu: '8' }, priceMicrosPerHour: 60_000 } as const;

/** Nodes of 0.192 dollars with two pods each, in a pool that wants few nodes. */
async function dearNodes(...names: readonly string[]): Promise<void> {
  await started({
    consolidationPolicy: 'WhenEmptyOrUnderutilized',
    consolidateAfter: '5s',
    budgets: [{ nodes: '100%' }],
  });
  const claimAnnotations = { [annotations.pricePerHour]: '0.192000' };
  for (const name of names) await cluster.node(name, { cpu: '2', claimAnnotations });
  await cluster.scale('web', 2 * names.length);
  await cluster.pass(1);
}

const told = async (kind: string) => (await decisions()).filter((one) => one.kind === kind);

test('a command of several nodes is told with its prices, its moves and the plan that it was judged by', async () => {
  await dearNodes('n1', 'n3');
  const solver = replacements(cheaper);
  reap({ config: { consolidation: 'all' } });
  expect(await cluster.pass(60, () => solver.plans.length === 1, 1_000)).toBe(true);
  expect(await cluster.pass(60, gone('claim-n3'), 1_000)).toBe(true);
  const [command, ...others] = await told('command');
  expect(others).toEqual([]);
  expect(command).toMatchObject({
    summary: 'n1, n3 → 1 new node; 4 pods to move, ~$0.3240/h saved',
    pool: { kind: 'NodePool', name: 'default' },
    planId: solver.plans[0]?.id,
    priceMicrosPerHour: 60_000,
    objects: [{ name: 'n1' }, { name: 'n3' }],
    reasons: [{ code: 'underutilized' }, { code: 'underutilized' }],
    facts: {
      nodesOut: '2',
      nodesIn: '1',
      pods: '4',
      priceBeforeMicrosPerHour: '384000',
      savedMicrosPerHour: '324000',
    },
  });
  expect(command?.facts['moves']).toMatch(/^default\/web-\w+: n\d to new node 1; /);
  expect(command?.facts['whatIf']).not.toBe(command?.planId);
  // The look before the wait is a question. The command is judged by the look after it.
  expect(solver.requests.map(({ isRecorded = false }) => isRecorded)).toEqual([false, true]);
  const ends = await told('disrupt');
  expect(ends.map(({ facts }) => facts['command'])).toEqual(
    ends.map(() => command?.facts['command']),
  );
});

test('a command that removes one node is told, and names no plan that buys', async () => {
  await dearNodes('n1');
  await cluster.node('n2', { cpu: '8', ...protectedNode });
  replacements({ ...cheaper, room: true });
  reap({ config: { consolidation: 'all' } });
  expect(await cluster.pass(90, () => tainted('n1'), 1_000)).toBe(true);
  const [command] = await told('command');
  expect(command).toMatchObject({
    summary: 'n1 goes; 2 pods to move, ~$0.1920/h saved',
    facts: { nodesIn: '0', savedMicrosPerHour: '192000' },
  });
  expect(command).not.toHaveProperty('planId');
});

test('a command that is needed again at the second look is not told', async () => {
  await dearNodes('n1');
  await cluster.node('n2', { cpu: '8', ...protectedNode });
  const solver = replacements({ ...cheaper, room: (request) => request === 1 });
  reap({ config: { consolidation: 'all' } });
  expect(await cluster.pass(60, () => solver.requests.length === 2, 500)).toBe(true);
  await cluster.pass(2);
  expect(await told('command')).toEqual([]);
});

test('a command is a trace of its own, and each node that it gives up another, linked to it', async () => {
  await dearNodes('n1', 'n3');
  const solver = replacements(cheaper);
  const spans: Span[] = [];
  const traces = { keeps: () => true, record: (span: Span) => void spans.push(span) };
  reap({ config: { consolidation: 'all' }, traces });
  const named = (name: string) => spans.filter((span) => span.name === name);
  expect(await cluster.pass(60, () => solver.plans.length === 1, 1_000)).toBe(true);
  expect(await cluster.pass(60, () => named('retire').length === 2, 1_000)).toBe(true);
  const [command, ...others] = named('command');
  expect([others, command?.parentId]).toEqual([[], undefined]);
  const place = { traceId: command?.traceId, spanId: command?.spanId };
  for (const root of named('retire')) {
    expect(root).toMatchObject({
      links: [place],
      attributes: { 'dovetail.claim': expect.stringMatching(/^claim-n/) as string },
    });
    const steps = spans.filter(({ parentId }) => parentId === root.spanId);
    expect(steps.map(({ name }) => name)).toEqual(['disrupt', 'drain', 'terminate']);
    for (const { traceId, startMs, endMs } of steps) {
      expect(traceId).toBe(root.traceId);
      expect(startMs).toBeGreaterThanOrEqual(root.startMs);
      expect(endMs).toBeLessThanOrEqual(root.endMs);
    }
  }
  expect((await told('command')).map(({ traceId }) => traceId)).toEqual([place.traceId]);
});

test.each([
  ['a read of a node after the taints', 'get' as const],
  ['the write of its phase', 'patch' as const],
])('a command is told and its plan published though %s fails once', async (_what, verb) => {
  await dearNodes('n1', 'n3');
  const solver = replacements(cheaper);
  const { kube } = cluster;
  let left = 1;
  const fails = (): boolean => tainted('n1') && tainted('n3') && left-- > 0;
  const down = (): Promise<never> => Promise.reject(new KubeError('unavailable', 'down'));
  const failing: KubeApi = {
    ...kube,
    get: (ref) => (verb === 'get' && fails() ? down() : kube.get(ref)),
    patch: (ref, change, options) =>
      verb === 'patch' && ref.resource === disruptions && fails()
        ? down()
        : kube.patch(ref, change, options),
  };
  reap({ kube: failing, config: { consolidation: 'all' } });
  expect(await cluster.pass(60, () => tainted('n1') && tainted('n3'), 1_000)).toBe(true);
  await cluster.pass(3, undefined, 1_000);
  expect(left).toBeLessThan(1);
  expect(solver.plans).toHaveLength(1);
  expect(await told('command')).toMatchObject([{ planId: solver.plans[0]?.id }]);
  expect(await cluster.pass(60, gone('claim-n3'), 1_000)).toBe(true);
});
