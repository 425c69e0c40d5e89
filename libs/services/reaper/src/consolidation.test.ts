import type { PlanRequest } from '@dovetail/contracts';
import { type KubeApi, KubeError, kubeResources } from '@dovetail/core-ports';
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

const { nodes } = kubeResources;
const deleting = { config: { consolidation: 'delete' } } as const;
const underused = (budget = '100%') => ({
  consolidationPolicy: 'WhenEmptyOrUnderutilized',
  consolidateAfter: '5s',
  budgets: [{ nodes: budget }],
});
const commits = ({ requests }: Replacements): readonly PlanRequest[] =>
  requests.filter(({ commit }) => commit !== undefined);

/** Two pods fill `n1`, and `n2` has room for them. `n2` itself stays. */
async function twoNodes(disruption: object = underused()): Promise<string> {
  await started(disruption);
  const { instanceId } = await cluster.node('n1', { cpu: '2' });
  await cluster.scale('web', 2);
  await cluster.pass(2);
  const nodeAnnotations = { 'karpenter.sh/do-not-disrupt': 'true' };
  await cluster.node('n2', { cpu: '8', nodeAnnotations });
  return instanceId;
}

describe('an under-used node', () => {
  test('whose pods fit on another is given up after two looks, once they are promised room', async () => {
    const instanceId = await twoNodes();
    const solver = replacements({ afterMs: 0, room: true });
    reap(deleting);
    expect(await cluster.pass(30, () => solver.requests.length === 1, 1_000)).toBe(true);
    await cluster.pass(14);
    expect([tainted('n1'), solver.requests.length]).toEqual([false, 1]);
    expect(await cluster.pass(60, gone('claim-n1'))).toBe(true);
    expect(cluster.names(nodes)).toEqual(['n2']);
    expect(stateOf(instanceId)).toBe('terminated');
    expect(cluster.workloads.nodesOf('web')).toEqual(['n2']);
    // Nothing was bought for its pods.
    expect(cluster.events('DisruptionLaunching')).toEqual([]);
    expect(commits(solver)).toMatchObject([
      { maxPriceMicrosPerHour: 0, withoutNodes: ['n1'], commit: { reason: 'underutilized' } },
    ]);
    const told = await decisions();
    expect(told.find(({ kind }) => kind === 'disrupt')).toMatchObject({
      summary: 'ending n1: underutilized',
      reasons: [{ code: 'underutilized' }],
    });
  });

  type Row = readonly [why: string, pool: object, event: string, begin?: () => Promise<unknown>];
  const rows: readonly Row[] = [
    [
      'its budget is zero',
      underused('0'),
      'DisruptionBlocked: No allowed disruptions for disruption reason Underutilized due to blocking budget',
    ],
    [
      'its policy is WhenEmpty',
      { ...underused(), consolidationPolicy: 'WhenEmpty' },
      'Unconsolidatable: NodePool "default" has non-empty consolidation disabled',
    ],
    [
      'its consolidateAfter is Never',
      { ...underused(), consolidateAfter: 'Never' },
      'Unconsolidatable: NodePool "default" has consolidation disabled',
    ],
    [
      'a PodDisruptionBudget allows no eviction',
      underused(),
      'DisruptionBlocked: Pdb prevents pod evictions',
      () => cluster.budget('web', 2),
    ],
  ];
  test.each(rows.map((row) => ({ why: row[0], row })))('stays while $why', async ({ row }) => {
    const [, disruption, event, begin] = row;
    await twoNodes(disruption);
    await begin?.();
    const solver = replacements({ afterMs: 0, room: true });
    reap(deleting);
    await cluster.pass(60);
    expect([isDeleting('claim-n1'), tainted('n1'), solver.requests.length]).toEqual([
      false,
      false,
      0,
    ]);
    const told = ['Unconsolidatable', 'DisruptionBlocked'].flatMap((reason) =>
      cluster.events(reason).map((message) => `${reason}: ${message}`),
    );
    expect(told.join('\n')).toContain(event);
  });

  test("is explained by what a solver said of it, under its name and its claim's", async () => {
    await twoNodes();
    replacements({ afterMs: 0 });
    const { reaper } = reap(deleting);
    await cluster.pass(60);
    const explained = { claim: 'claim-n1', outcome: 'stays' };
    expect(reaper.explain?.('n1')).toMatchObject(explained);
    expect(reaper.explain?.('claim-n1')).toMatchObject({
      ...explained,
      summary: expect.stringContaining("Can't remove without creating"),
    });
    expect(reaper.explain?.('n9')).toBeUndefined();
  });

  test('stays while a node that became empty at the second look uses up the budget', async () => {
    await started(underused('1'));
    await cluster.node('n1', { cpu: '2' });
    await cluster.scale('web', 1);
    await cluster.pass(2);
    await cluster.node('n3', { cpu: '4' });
    await cluster.scale('api', 2);
    await cluster.pass(3);
    const nodeAnnotations = { 'karpenter.sh/do-not-disrupt': 'true' };
    await cluster.node('n2', { cpu: '8', nodeAnnotations });
    const solver = replacements({ afterMs: 0, room: true, thinkMs: 4_000 });
    reap(deleting);
    expect(await cluster.pass(60, () => solver.requests.length === 1, 500)).toBe(true);
    expect(solver.requests[0]?.withoutNodes).toEqual(['n1']);
    await cluster.pass(13);
    await cluster.scale('api', 0);
    expect(await cluster.pass(10, () => retirementOn('n3')?.cause === 'empty', 100)).toBe(true);
    const areBoth = () => retirementOn('n1') !== undefined && !gone('claim-n3')();
    expect(await cluster.pass(20, areBoth, 100)).toBe(false);
    // The node has its turn once the budget is free again.
    expect(await cluster.pass(60, gone('claim-n1'))).toBe(true);
  });

  test('stays while consolidation is off, and an Event says so', async () => {
    await twoNodes();
    const solver = replacements({ afterMs: 0, room: true });
    const serves: KubeApi['serves'] = async (resource) =>
      resource !== kubeResources.disruptions && cluster.kube.serves(resource);
    reap({ config: { consolidation: 'none' }, kube: { ...cluster.kube, serves } });
    await cluster.pass(60);
    expect([isDeleting('claim-n1'), solver.requests.length]).toEqual([false, 0]);
    // No command is to begin, so that the lack of their definition does not matter.
    expect(cluster.log.entries.map(({ name }) => name)).not.toContain('commands-not-served');
    expect(cluster.events('Unconsolidatable')).toContain(
      'consolidation is switched off (CONSOLIDATION=none)',
    );
  });

  test('stays while a node would have to be bought for its pods, and an Event says so', async () => {
    await twoNodes();
    const solver = replacements({ afterMs: 0 });
    reap(deleting);
    await cluster.pass(60);
    expect([isDeleting('claim-n1'), tainted('n1'), commits(solver)]).toEqual([false, false, []]);
    expect(cluster.events('Unconsolidatable')).toContain(
      "Can't remove without creating 1 candidates",
    );
  });

  test('stays untouched when its pods fit nowhere any more at the second look', async () => {
    await twoNodes();
    let looks = 0;
    const solver = replacements({
      afterMs: 0,
      room: true,
      places: (podUids) => ((looks += 1) === 1 ? podUids : []),
    });
    reap(deleting);
    await cluster.pass(30, () => solver.requests.length === 2, 1_000);
    await cluster.pass(5);
    expect([isDeleting('claim-n1'), tainted('n1'), commits(solver)]).toEqual([false, false, []]);
  });

  test('is given back its place when its pods fit nowhere any more after the taint', async () => {
    await twoNodes();
    const solver = replacements({
      afterMs: 0,
      room: true,
      admits: (podUids, request) => (request < 3 ? podUids : []),
      places: (podUids) => (commits(solver).length === 0 ? podUids : []),
    });
    reap(deleting);
    expect(await cluster.pass(60, () => tainted('n1'), 500)).toBe(true);
    expect(await cluster.pass(30, () => !tainted('n1'), 500)).toBe(true);
    expect([isDeleting('claim-n1'), retirementOn('n1')]).toEqual([false, undefined]);
    expect(cluster.workloads.nodesOf('web')).toEqual(['n1']);
  });
});

test('a drain that a PodDisruptionBudget holds up keeps no other under-used node from its turn', async () => {
  await started(underused());
  const filled = [
    ['n1', 'web'],
    ['n3', 'api'],
    ['n4', 'db'],
  ] as const;
  for (const [name, app] of filled) {
    await cluster.node(name, { cpu: '2' });
    await cluster.scale(app, 2);
    await cluster.pass(3);
  }
  const nodeAnnotations = { 'karpenter.sh/do-not-disrupt': 'true' };
  await cluster.node('n2', { cpu: '32', nodeAnnotations });
  replacements({ afterMs: 0, room: true });
  // The Eviction API refuses the pods of one node from the moment that it is drained.
  const evict: KubeApi['evict'] = (pod) =>
    pod.name.startsWith('web')
      ? Promise.reject(new KubeError('too-many-requests', 'a budget forbids it'))
      : cluster.kube.evict(pod);
  reap({ ...deleting, kube: { ...cluster.kube, evict } });
  expect(await cluster.pass(600, () => cluster.names(nodes).length === 2, 1_000)).toBe(true);
  expect(cluster.names(nodes)).toEqual(['n1', 'n2']);
  expect(isDeleting('claim-n1')).toBe(true);
});

test('a cluster whose kubelets only say that they live is not searched again', async () => {
  await started(underused());
  const names = Array.from({ length: 6 }, (_none, index) => `n${String(index)}`);
  for (const [index, name] of names.entries()) {
    await cluster.node(name, { cpu: '2' });
    await cluster.scale(`app${String(index)}`, 2);
    await cluster.pass(2);
  }
  // Each answer says that a node would have to be bought.
  const solver = replacements({ afterMs: 0 });
  reap(deleting);
  await cluster.pass(40);
  const before = solver.requests.length;
  expect(before).toBeGreaterThan(0);
  for (let beat = 0; beat < 24; beat += 1) {
    const name = names[beat % names.length] ?? '';
    const lastHeartbeatTime = new Date(cluster.clock.nowMs()).toISOString();
    const body = { status: { conditions: [{ type: 'Ready', status: 'True', lastHeartbeatTime }] } };
    const ref = { resource: nodes, name };
    await cluster.kube.patch(ref, { type: 'merge', body }, { subresource: 'status' });
    await cluster.advance(10_000);
  }
  expect(solver.requests.length).toBe(before);
  await cluster.scale('app0', 1);
  await cluster.pass(30);
  expect(solver.requests.length).toBeGreaterThan(before);
});

test('a round in which no solver answers is no round in vain: the next one follows at once', async () => {
  await twoNodes();
  let isAway = true;
  const solver = replacements({ afterMs: 0, room: true, refuses: () => isAway });
  reap(deleting);
  await cluster.pass(60);
  expect([solver.requests.length > 1, tainted('n1')]).toEqual([true, false]);
  isAway = false;
  expect(await cluster.pass(60, gone('claim-n1'))).toBe(true);
});
