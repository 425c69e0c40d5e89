import type { PlanMessage } from '@dovetail/contracts';
import { annotations } from '@dovetail/core-api';
import { type KubeObject, type KubeResource, kubeResources } from '@dovetail/core-ports';
import { describe, expect, test } from 'vitest';

import { defaultReaperConfig } from './config.js';
import {
  cluster,
  isDeleting,
  reap,
  replacements,
  retirementOn,
  started,
  tainted,
} from './testing/current-cluster.js';
import { refusePlan } from './testing/refusals.js';

const { disruptions, nodeClaims, nodes, podDisruptionBudgets } = kubeResources;
const together = { config: { consolidation: 'all' } } as const;
const underUsed = (budget = '100%') => ({
  consolidationPolicy: 'WhenEmptyOrUnderutilized',
  consolidateAfter: '5s',
  budgets: [{ nodes: budget }],
});
const protectedNode = { nodeAnnotations: { 'karpenter.sh/do-not-disrupt': 'true' } };

/** Two nodes of 0.192 dollars with two pods each, beside what the options say. */
async function twoNodes(options: { readonly budget?: string; readonly room?: boolean } = {}) {
  await started(underUsed(options.budget));
  const claimAnnotations = { [annotations.pricePerHour]: '0.192000' };
  await cluster.node('n1', { cpu: '2', claimAnnotations });
  await cluster.node('n3', { cpu: '2', claimAnnotations });
  await cluster.scale('web', 4);
  await cluster.budget('web', 2);
  await cluster.pass(1);
  if (options.room === true) await cluster.node('n2', { cpu: '8', ...protectedNode });
}

const cheaper = { afterMs: 10_000, node: { cpu: '8' }, priceMicrosPerHour: 60_000 } as const;
const commands = (): readonly KubeObject[] => cluster.commandsUnderWay();
const nodesIn = (spec: unknown): number =>
  (spec as { readonly nodesOut: readonly unknown[] }).nodesOut.length;
const phase = (): unknown =>
  (commands()[0]?.['status'] as { readonly phase?: string } | undefined)?.phase;
const counted = (metric: string, labels: Readonly<Record<string, string>>) =>
  cluster.metrics.value(`karpenter_voluntary_disruption_${metric}`, labels);
const areTainted = (): readonly boolean[] => [tainted('n1'), tainted('n3')];

describe('two nodes that can go together', () => {
  test('are replaced by one cheaper node, after 15 s and a second look', async () => {
    await twoNodes();
    const solver = replacements(cheaper);
    reap(together);
    expect(await cluster.pass(30, () => solver.requests.length === 1, 1_000)).toBe(true);
    expect(solver.requests[0]?.withoutNodes).toEqual(['n1', 'n3']);
    await cluster.pass(13);
    expect([areTainted(), commands(), solver.plans]).toEqual([[false, false], [], []]);
    expect(await cluster.pass(10, () => solver.plans.length === 1, 1_000)).toBe(true);
    expect(areTainted()).toEqual([true, true]);
    const [command] = commands();
    const names = ['n1', 'n3'].map((name) => retirementOn(name)?.disruption);
    expect(names).toEqual([command?.metadata.name, command?.metadata.name]);
    expect(solver.plans[0]?.cause).toMatchObject({ command: command?.metadata.name });
    expect(['claim-n1', 'claim-n3'].map(isDeleting)).toEqual([false, false]);
    expect(await cluster.pass(60, () => cluster.names(nodes).join() === 'new-1', 1_000)).toBe(true);
    expect(cluster.workloads.nodesOf('web')).toEqual(['new-1']);
    expect(await cluster.pass(5, () => commands().length === 0, 1_000)).toBe(true);
    expect(cluster.broken).toEqual([]);
    expect(counted('decisions_total', { decision: 'replace', consolidation_type: 'multi' })).toBe(
      1,
    );
    const ended = { reason: 'underutilized', consolidation_policy: 'when_empty_or_underutilized' };
    expect(cluster.metrics.value('karpenter_nodeclaims_disrupted_total', ended)).toBe(2);
    expect(counted('decisions_total', {})).toBe(1);
    const moves = { decision: 'approved', nodepool: 'default', policy: 'WhenEmptyOrUnderutilized' };
    expect(cluster.metrics.value('karpenter_consolidation_moves_total', moves)).toBe(1);
    expect(counted('consolidation_timeouts_total', {})).toBeUndefined();
  });

  test('are not looked for any longer once the time is over, which is counted', async () => {
    await twoNodes();
    const solver = replacements(cheaper);
    const { disruption } = defaultReaperConfig;
    const late = { togetherSearchMsMax: 0, consolidationSearchMsMax: 0 };
    reap({ config: { consolidation: 'all', disruption: { ...disruption, ...late } } });
    await cluster.pass(30);
    expect(solver.requests).toEqual([]);
    for (const consolidation_type of ['multi', 'single'])
      expect(counted('consolidation_timeouts_total', { consolidation_type })).toBeGreaterThan(0);
  });

  test('are given up for nothing if their pods fit on other nodes', async () => {
    await twoNodes({ room: true });
    const solver = replacements({ afterMs: 5_000, room: true });
    reap(together);
    expect(await cluster.pass(90, () => cluster.names(nodes).join() === 'n2', 1_000)).toBe(true);
    expect([cluster.workloads.nodesOf('web'), solver.plans]).toEqual([['n2'], []]);
    const asked = solver.requests.filter(({ commit }) => commit !== undefined);
    expect(asked.map(({ withoutNodes }) => withoutNodes)).toEqual([['n1', 'n3']]);
    expect(await cluster.pass(5, () => commands().length === 0, 1_000)).toBe(true);
  });

  test('are told as one command with its saving', async () => {
    await twoNodes();
    replacements({ ...cheaper, afterMs: 600_000 });
    reap(together);
    expect(await cluster.pass(60, () => phase() === 'Tainted', 1_000)).toBe(true);
    const { spec } = commands()[0] as unknown as { readonly spec: object };
    expect(spec).toMatchObject({
      cause: 'underutilized',
      summary: 'n1, n3 → 1 new node; 4 pods to move',
      pricePerHourBefore: '~0.384',
      pricePerHourAfter: '0.06',
      savingPerHour: '~0.324',
      nodesOut: [{ nodeName: expect.any(String) }, { nodeName: expect.any(String) }],
      nodesIn: [{ pool: 'NodePool/default', pricePerHour: '0.06' }],
      disruptionCost: '6.00',
    });
    const { moves } = spec as { readonly moves: readonly { readonly to: string }[] };
    expect(moves.map(({ to }) => to)).toEqual(Array.from({ length: 4 }, () => 'new node 1'));
  });

  test('are given up side by side, each for its own node, where commands take one each', async () => {
    await twoNodes();
    const solver = replacements({ ...cheaper, afterMs: 300_000 });
    reap({ config: { consolidation: 'replace' } });
    expect(await cluster.pass(120, () => solver.plans.length === 2, 1_000)).toBe(true);
    expect([areTainted(), commands().length]).toEqual([[true, true], 2]);
    expect(cluster.names(nodes)).toEqual(['n1', 'n3']);
  });

  test('can be read for an hour after their command is over', async () => {
    await twoNodes();
    replacements(cheaper);
    reap(together);
    const kept = () => cluster.list(disruptions);
    expect(await cluster.pass(90, () => cluster.names(nodes).join() === 'new-1', 1_000)).toBe(true);
    expect(await cluster.pass(5, () => commands().length === 0, 1_000)).toBe(true);
    expect(kept().map(({ status }) => status)).toMatchObject([{ phase: 'Ending' }]);
    await cluster.pass(3_500, undefined, 10_000);
    expect(kept()).toHaveLength(1);
    expect(await cluster.pass(200, () => kept().length === 0, 10_000)).toBe(true);
  });
});

describe('two nodes are not given up together', () => {
  test.each<
    [
      string,
      Parameters<typeof twoNodes>[0],
      Parameters<typeof replacements>[0],
      Parameters<typeof reap>[0],
    ]
  >([
    ['if their pool may lose one node only', { budget: '1' }, cheaper, together],
    ['if the new one costs as much', {}, { ...cheaper, priceMicrosPerHour: 384_000 }, together],
    ['unless the setting allows it', {}, cheaper, { config: { consolidation: 'replace' } }],
  ])('%s', async (_why, options, made, running) => {
    await twoNodes(options);
    const solver = replacements({ ...made, admitsCommands: false });
    reap(running);
    const ofSeveral = () => commands().filter(({ spec }) => nodesIn(spec) > 1);
    await cluster.pass(60, () => ofSeveral().length > 0, 1_000);
    expect(ofSeveral()).toEqual([]);
    expect(solver.plans.filter(({ cause }) => 'others' in cause)).toEqual([]);
  });

  test('if one of them is protected during the wait', async () => {
    await twoNodes();
    const solver = replacements({ ...cheaper, admitsCommands: false });
    reap(together);
    expect(await cluster.pass(30, () => solver.requests.length === 1, 1_000)).toBe(true);
    const body = { metadata: { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } } };
    await cluster.kube.patch({ resource: nodes, name: 'n3' }, { type: 'merge', body });
    await cluster.pass(30);
    expect([commands(), tainted('n3')]).toEqual([[], false]);
  });

  test('on a cluster without the definition, which is said once', async () => {
    await twoNodes();
    const solver = replacements({ ...cheaper, admitsCommands: false });
    const serves = async (resource: KubeResource): Promise<boolean> =>
      resource !== disruptions && cluster.kube.serves(resource);
    reap({ ...together, kube: { ...cluster.kube, serves } });
    await cluster.pass(60);
    expect(solver.requests.length).toBeGreaterThan(0);
    expect(solver.requests.every(({ withoutNodes }) => withoutNodes.length === 1)).toBe(true);
    expect(cluster.log.entries.filter(({ name }) => name === 'commands-not-served')).toHaveLength(
      1,
    );
    expect(cluster.events('Unconsolidatable')).toContain(
      'nodes are removed one at a time and never replaced: the API server does not know disruptions.dovetail.sh; apply deploy/crds',
    );
  });
});

/** The launcher publishes that it refuses the plan of a command. */
const refuse = (message: PlanMessage | undefined): Promise<void> =>
  refusePlan(message?.id ?? '', message?.plan.newNodes[0]?.podUids.slice(0, 1) ?? []);

describe('a command of two nodes is taken back whole', () => {
  const tainting = async (): Promise<void> => {
    await twoNodes();
    replacements({ ...cheaper, afterMs: 600_000 });
    reap(together);
    expect(await cluster.pass(60, () => phase() === 'Tainted', 1_000)).toBe(true);
  };
  const areGivenBack = async (): Promise<void> => {
    expect(await cluster.pass(10, () => !areTainted().includes(true), 1_000)).toBe(true);
    expect(await cluster.pass(5, () => commands().length === 0, 1_000)).toBe(true);
    expect(['n1', 'n3'].map(retirementOn)).toEqual([undefined, undefined]);
    expect(cluster.names(nodeClaims)).toEqual(['claim-n1', 'claim-n3']);
  };

  test('if its pods may not be evicted any more', async () => {
    await tainting();
    const ref = { resource: podDisruptionBudgets, namespace: 'default', name: 'web-pdb' };
    await cluster.kube.patch(ref, { type: 'merge', body: { spec: { minAvailable: 4 } } });
    await areGivenBack();
    expect(counted('queue_failures_total', { consolidation_type: 'multi' })).toBe(1);
    expect(counted('queue_failures_total', {})).toBe(1);
  });

  test('if a person takes the taint off one node', async () => {
    await tainting();
    const body = { spec: { taints: [] } };
    await cluster.kube.patch({ resource: nodes, name: 'n3' }, { type: 'merge', body });
    await areGivenBack();
  });

  test('if a person deletes its resource', async () => {
    await tainting();
    const name = commands()[0]?.metadata.name ?? '';
    await cluster.kube.delete({ resource: disruptions, name });
    await areGivenBack();
  });

  test('if the launcher says nothing of its plan', async () => {
    await twoNodes();
    const solver = replacements({ ...cheaper, admitsCommands: false });
    reap(together);
    expect(await cluster.pass(60, () => solver.plans.length === 1, 1_000)).toBe(true);
    await cluster.pass(70);
    expect(areTainted()).toEqual([true, true]);
    await areGivenBack();
  });

  test('at once if the launcher refuses its plan, and says why', async () => {
    await twoNodes();
    const solver = replacements({ ...cheaper, admitsCommands: false });
    reap(together);
    expect(await cluster.pass(60, () => solver.plans.length === 1, 1_000)).toBe(true);
    await cluster.pass(2);
    await refuse(solver.plans[0]);
    await areGivenBack();
    expect(cluster.events('DisruptionBlocked').join()).toContain(
      'the launcher refused its replacement: the pool has reached its limit',
    );
  });

  test('and is tried again once the pause of its nodes is over', async () => {
    await twoNodes();
    const solver = replacements({ ...cheaper, admitsCommands: false });
    reap(together);
    expect(await cluster.pass(60, () => solver.plans.length === 1, 1_000)).toBe(true);
    await refuse(solver.plans[0]);
    await areGivenBack();
    // A pause of 10 s, a pass each 10 s, and the wait of 15 s before the second look.
    expect(await cluster.pass(60, () => areTainted().includes(true), 1_000)).toBe(true);
  });
});

test('a command that waits for its new node reads no claim, node or pod from the API server', async () => {
  await twoNodes();
  replacements({ ...cheaper, afterMs: 900_000 });
  const { kube } = cluster;
  const reads: string[] = [];
  const counting = {
    ...kube,
    get: (...given: Parameters<typeof kube.get>) => {
      reads.push(given[0].resource.kind);
      return kube.get(...given);
    },
    list: (...given: Parameters<typeof kube.list>) => {
      reads.push(given[0].kind);
      return kube.list(...given);
    },
  };
  reap({ ...together, kube: counting });
  expect(await cluster.pass(60, () => phase() === 'Tainted', 1_000)).toBe(true);
  await cluster.pass(5);
  reads.splice(0);
  await cluster.pass(60);
  const live = reads.filter((kind) => ['NodeClaim', 'Node', 'Pod'].includes(kind));
  // The collector lists claims now and then, whatever is under way.
  expect(live.filter((kind) => kind !== 'NodeClaim')).toEqual([]);
  expect(live.length).toBeLessThan(30);
});

test('fewer nodes go together when no solver answers for more of them', async () => {
  await started(underUsed());
  const claimAnnotations = { [annotations.pricePerHour]: '0.192000' };
  for (const name of ['n1', 'n3', 'n4', 'n5'])
    await cluster.node(name, { cpu: '2', claimAnnotations });
  await cluster.scale('web', 8);
  await cluster.pass(1);
  const refuses = ({ withoutNodes }: { readonly withoutNodes: readonly string[] }): boolean =>
    withoutNodes.length > 2;
  const solver = replacements({ ...cheaper, refuses, admitsCommands: false });
  reap(together);
  expect(await cluster.pass(60, () => solver.plans.length === 1, 500)).toBe(true);
  const { nodesOut } = (commands()[0] as unknown as { readonly spec: { nodesOut: unknown[] } })
    .spec;
  expect(nodesOut).toHaveLength(2);
  expect(solver.requests[0]?.withoutNodes).toHaveLength(3);
});
