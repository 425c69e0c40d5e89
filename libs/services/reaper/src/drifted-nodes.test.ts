import type { PlanRequest } from '@dovetail/contracts';
import { kubeResources } from '@dovetail/core-ports';
import { describe, expect, test } from 'vitest';

import {
  cluster,
  decisions,
  gone,
  isDeleting,
  reap,
  replacements,
  retirementOn,
  started,
  stateOf,
  tainted,
} from './testing/current-cluster.js';
import type { Replacements } from './testing/replacements.js';

const { nodeClaims, nodes } = kubeResources;
const never = (budgets: readonly object[] = [{ nodes: '100%' }]) => ({
  consolidationPolicy: 'WhenEmpty',
  consolidateAfter: 'Never',
  budgets,
});
const commits = ({ requests }: Replacements): readonly PlanRequest[] =>
  requests.filter(({ commit }) => commit !== undefined);

const isTerminating = (name: string): boolean =>
  JSON.stringify(cluster.find(nodeClaims, `claim-${name}`)?.['status'] ?? '').includes(
    '"InstanceTerminating"',
  );

/** Nodes that are full, each with two pods. */
async function full(names: readonly string[], disruption: object = never()): Promise<void> {
  await started(disruption);
  for (const name of names) await cluster.node(name, { cpu: '2' });
  await cluster.scale('web', 2 * names.length);
  await cluster.pass(3);
}
const stays = (name: string): void =>
  expect([isDeleting(`claim-${name}`), tainted(name), retirementOn(name)]).toEqual([
    false,
    false,
    undefined,
  ]);

describe('a drifted node', () => {
  test('is replaced: asked about, tainted, and drained once its pods have room on a new node', async () => {
    await started(never());
    const { instanceId } = await cluster.node('n1');
    await cluster.scale('web', 3);
    await cluster.budget('web', 2);
    const solver = replacements({ afterMs: 20_000 });
    reap();
    await cluster.pass(15);
    stays('n1');
    await cluster.drift('n1', 'AMIDrift');
    expect(await cluster.pass(15, () => tainted('n1'), 1_000)).toBe(true);
    expect(retirementOn('n1')).toMatchObject({ cause: 'drifted', detail: 'AMIDrift' });
    await cluster.pass(10);
    expect([isDeleting('claim-n1'), cluster.workloads.nodesOf('web')]).toEqual([false, ['n1']]);
    expect(await cluster.pass(60, gone('claim-n1'))).toBe(true);
    await cluster.pass(3);
    expect([solver.made, cluster.workloads.nodesOf('web'), cluster.broken]).toEqual([
      ['new-1'],
      ['new-1'],
      [],
    ]);
    expect([cluster.names(nodes), stateOf(instanceId)]).toEqual([['new-1'], 'terminated']);
    expect(solver.requests).toMatchObject([
      { withoutNodes: ['n1'] },
      { withoutNodes: ['n1'], commit: { nodeName: 'n1', reason: 'drifted' } },
    ]);
    expect((await decisions()).find(({ kind }) => kind === 'disrupt')).toMatchObject({
      summary: 'ending n1: drifted, replaced by 1 new node',
      facts: { cause: 'drifted', pods: '3' },
      reasons: [{ code: 'drifted' }],
    });
  });

  test('stays while its replacement is not ready any more, and goes once it is', async () => {
    await started(never());
    await cluster.node('n1');
    await cluster.scale('web', 3);
    replacements({ afterMs: 20_000 });
    const died = cluster.reaper();
    await cluster.pass(3);
    await cluster.drift('n1', 'AMIDrift');
    expect(await cluster.pass(15, () => tainted('n1'), 1_000)).toBe(true);
    await cluster.pass(5);
    died.stop.abort();
    expect(await cluster.pass(60, () => cluster.names(nodes).includes('new-1'), 1_000)).toBe(true);
    await cluster.ready('new-1', false);
    reap();
    await cluster.pass(60);
    expect([isDeleting('claim-n1'), cluster.workloads.nodesOf('web')]).toEqual([false, ['n1']]);
    await cluster.ready('new-1', true);
    expect(await cluster.pass(60, gone('claim-n1'))).toBe(true);
    expect(cluster.workloads.nodesOf('web')).toEqual(['new-1']);
  });

  test('without pods that need a place goes at once, whatever consolidateAfter says', async () => {
    await started(never());
    await cluster.node('n1');
    const solver = replacements({ afterMs: 0 });
    reap();
    await cluster.drift('n1', 'NodePoolDrifted');
    expect(await cluster.pass(30, gone('claim-n1'))).toBe(true);
    expect(solver.requests).toEqual([]);
  });

  test('of which many drift at once goes within the budget for Drifted', async () => {
    const names = ['n1', 'n2', 'n3', 'n4'];
    await full(names, never([{ nodes: '1', reasons: ['Drifted'] }]));
    const solver = replacements({ afterMs: 10_000, node: { cpu: '2' } });
    reap();
    let most = 0;
    for (const name of names) await cluster.drift(name, 'NodePoolDrifted');
    const isOver = (): boolean => {
      // A node whose instance is ending counts no more, as in Karpenter.
      const going = names.filter((name) => tainted(name) && !isTerminating(name));
      most = Math.max(most, going.length);
      return names.every((name) => gone(`claim-${name}`)());
    };
    expect(await cluster.pass(300, isOver, 500)).toBe(true);
    expect([most, solver.made.length, cluster.broken]).toEqual([1, 4, []]);
  });

  test.each<[string, readonly object[]]>([
    ['the budget allows no node', [{ nodes: '0' }]],
    ['the budget for Drifted allows none', [{ nodes: '0', reasons: ['Drifted'] }]],
  ])('stays while %s, and an Event says so', async (_what, budgets) => {
    await full(['n1'], never(budgets));
    const solver = replacements({ afterMs: 0 });
    reap();
    await cluster.drift('n1', 'NodePoolDrifted');
    await cluster.pass(30);
    stays('n1');
    expect(solver.requests).toEqual([]);
    expect(cluster.events('DisruptionBlocked').join()).toContain(
      'No allowed disruptions for disruption reason Drifted',
    );
  });

  test('goes although a budget for another reason allows none', async () => {
    await full(['n1'], never([{ nodes: '0', reasons: ['Empty', 'Underutilized'] }]));
    replacements({ afterMs: 0 });
    reap();
    await cluster.drift('n1', 'NodePoolDrifted');
    expect(await cluster.pass(60, gone('claim-n1'))).toBe(true);
  });

  test('whose pods have no other place is asked about less and less, until something changes', async () => {
    await full(['n1']);
    const solver = replacements({ afterMs: 0, isPlaceless: () => true });
    reap();
    await cluster.drift('n1', 'AMIDrift');
    await cluster.pass(3_600);
    // After 1, 2, 4, 8 and then each 10 minutes.
    expect(solver.requests).toHaveLength(9);
    stays('n1');
    await cluster.scale('web', 1);
    await cluster.pass(60);
    expect(solver.requests).toHaveLength(10);
  });

  test('whose pods have no other place stays untouched, and the next has its turn', async () => {
    await full(['n1', 'n2'], never([{ nodes: '1' }]));
    const solver = replacements({
      afterMs: 1_000,
      node: { cpu: '2' },
      isPlaceless: ({ withoutNodes }) => withoutNodes.includes('n1'),
    });
    const { reaper } = reap();
    await cluster.drift('n1', 'NodePoolDrifted');
    await cluster.pass(15);
    expect(reaper.explain?.('n1')).toMatchObject({
      outcome: 'stays',
      summary: '2 pods of the drifted node would have no other place',
    });
    await cluster.drift('n2', 'NodePoolDrifted');
    expect(await cluster.pass(60, gone('claim-n2'))).toBe(true);
    stays('n1');
    expect(commits(solver).map(({ withoutNodes }) => withoutNodes)).toEqual([['n2']]);
    expect(cluster.events('DisruptionBlocked').join()).toContain(
      '2 pods of the drifted node would have no other place',
    );
  });

  test('that a solver refuses to plan leaves its turn to the next', async () => {
    await full(['n1', 'n2'], never([{ nodes: '1' }]));
    const solver = replacements({
      afterMs: 1_000,
      node: { cpu: '2' },
      refuses: ({ withoutNodes }) => withoutNodes.includes('n1'),
    });
    reap();
    await cluster.drift('n1', 'NodePoolDrifted');
    await cluster.pass(15);
    await cluster.drift('n2', 'NodePoolDrifted');
    expect(await cluster.pass(90, gone('claim-n2'))).toBe(true);
    stays('n1');
    expect(commits(solver).map(({ withoutNodes }) => withoutNodes)).toEqual([['n2']]);
  });

  test('is given back its place when its replacement does not come', async () => {
    await full(['n1']);
    const solver = replacements({ afterMs: 10_000_000 });
    reap();
    await cluster.drift('n1', 'NodePoolDrifted');
    expect(await cluster.pass(30, () => tainted('n1'), 1_000)).toBe(true);
    await cluster.pass(880);
    expect(tainted('n1')).toBe(true);
    expect(await cluster.pass(60, () => !tainted('n1'), 1_000)).toBe(true);
    stays('n1');
    expect([solver.made, cluster.workloads.nodesOf('web')]).toEqual([[], ['n1']]);
  });

  test('stays when pool and class ask for it again before it ends', async () => {
    await full(['n1']);
    replacements({ afterMs: 60_000 });
    reap();
    await cluster.drift('n1', 'NodePoolDrifted');
    expect(await cluster.pass(30, () => tainted('n1'), 1_000)).toBe(true);
    await cluster.drift('n1');
    expect(await cluster.pass(30, () => !tainted('n1'), 1_000)).toBe(true);
    await cluster.pass(90);
    stays('n1');
  });

  test('stays while no solver answers, and goes when one does', async () => {
    await full(['n1']);
    reap();
    await cluster.drift('n1', 'NodePoolDrifted');
    await cluster.pass(60);
    stays('n1');
    replacements({ afterMs: 1_000 });
    expect(await cluster.pass(60, gone('claim-n1'))).toBe(true);
  });
});

describe('a drifted node with a pod that may not be evicted', () => {
  const protects: readonly (readonly [string, () => Promise<unknown>, string])[] = [
    // That is a person's wish, of which no Event tells.
    ['do-not-disrupt', () => cluster.pod('p', 'solo', doNotDisrupt), ''],
    ['a PodDisruptionBudget', () => cluster.budget('web', 2), 'Pdb prevents pod evictions'],
  ];
  const doNotDisrupt = { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } };

  test.each(protects)('by %s stays', async (_what, protect, message) => {
    await started(never());
    await cluster.node('n1');
    await cluster.scale('web', 2);
    await protect();
    await cluster.pass(3);
    const solver = replacements({ afterMs: 0 });
    reap();
    await cluster.drift('n1', 'NodePoolDrifted');
    await cluster.pass(30);
    stays('n1');
    expect(solver.requests).toEqual([]);
    expect(cluster.events('DisruptionBlocked').join()).toContain(message);
  });

  test.each(protects)('by %s goes if it has a terminationGracePeriod', async (_what, protect) => {
    await started(never());
    await cluster.node('n1', { terminationGracePeriodMs: 120_000 });
    await cluster.scale('web', 2);
    await protect();
    await cluster.pass(3);
    replacements({ afterMs: 1_000 });
    reap();
    await cluster.drift('n1', 'NodePoolDrifted');
    expect(await cluster.pass(200, gone('claim-n1'))).toBe(true);
  });

  test('buys no room for a pod that only the grace period ends', async () => {
    await started(never());
    await cluster.node('n1', { terminationGracePeriodMs: 120_000 });
    await cluster.scale('web', 2);
    const kept = await cluster.pod('p', 'solo', { ...doNotDisrupt, spec: { nodeName: 'n1' } });
    await cluster.pass(3);
    const solver = replacements({ afterMs: 1_000 });
    reap();
    await cluster.drift('n1', 'NodePoolDrifted');
    expect(await cluster.pass(60, () => commits(solver).length > 0, 1_000)).toBe(true);
    // The question before the taint and the request after it are about the same pods.
    expect(solver.requests.length).toBeGreaterThan(commits(solver).length);
    for (const asked of solver.requests) {
      expect(asked.podUids).toHaveLength(2);
      expect(asked.podUids).not.toContain(kept.metadata.uid);
    }
    expect(await cluster.pass(20, () => isDeleting('claim-n1'))).toBe(true);
  });

  test('stays with do-not-disrupt on the node, even with a terminationGracePeriod', async () => {
    await started(never());
    const nodeAnnotations = { 'karpenter.sh/do-not-disrupt': 'true' };
    await cluster.node('n1', { terminationGracePeriodMs: 120_000, nodeAnnotations });
    reap();
    await cluster.drift('n1', 'NodePoolDrifted');
    await cluster.pass(30);
    stays('n1');
  });
});
