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

const minuteMs = 60_000;
const repairing = { config: { nodeRepair: true, legacyNodeRepair: true } };
const replacing = { config: { nodeRepair: true } };

/** Sets a condition of a node, as the kubelet or a monitoring agent does. */
const become = (name: string, type: string, status: string): Promise<unknown> =>
  cluster.kube.patch(
    { resource: kubeResources.nodes, name },
    {
      type: 'merge',
      body: {
        status: {
          conditions: [
            ...(type === 'Ready' ? [] : [{ type: 'Ready', status: 'True' }]),
            { type, status, lastTransitionTime: new Date(cluster.clock.nowMs()).toISOString() },
          ],
        },
      },
    },
    { subresource: 'status' },
  );

/** Begins a cluster with so many nodes, and three pods on the first of them. */
async function nodes(
  count: number,
  budgets: readonly object[] = [{ nodes: '0' }],
): Promise<readonly string[]> {
  await started({ consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never', budgets });
  const { instanceId } = await cluster.node('n1', { nodeAnnotations: {} });
  await cluster.scale('web', 3);
  await cluster.pass(3);
  const ids = [instanceId];
  for (let index = 2; index <= count; index += 1)
    ids.push((await cluster.node(`n${String(index)}`)).instanceId);
  return ids;
}

describe('by the old method, a node that is unhealthy', () => {
  test('is ended by force after the tolerated time: no budget of pool or pods holds it', async () => {
    const [id = ''] = await nodes(1);
    await cluster.budget('web', 3);
    const asked = replacements({ afterMs: 5_000 });
    reap(repairing);
    await cluster.pass(2);
    await become('n1', 'StorageReady', 'False');
    await cluster.advance(30 * minuteMs - 5_000);
    expect([tainted('n1'), isDeleting('claim-n1')]).toEqual([false, false]);
    await cluster.pass(10);
    expect(await cluster.pass(60, gone('claim-n1'))).toBe(true);
    await cluster.pass(5);
    expect(stateOf(id)).not.toBe('running');
    expect(asked.requests.map(({ commit }) => commit?.reason)).toEqual(['unhealthy']);
    expect([asked.made, cluster.workloads.nodesOf('web')]).toEqual([['new-1'], ['new-1']]);
    const held = { nodepool: 'default', capacity_type: 'on-demand' };
    const mode = { termination_mode: 'graceful' };
    const value = (name: string, more: object): number | undefined =>
      cluster.metrics.value(name, { ...held, ...more });
    expect([
      value('karpenter_nodeclaims_disrupted_total', { reason: 'unhealthy', ...mode }),
      value('karpenter_pods_disruption_initiated_total', { reason: 'unhealthy', ...mode }),
      value('karpenter_nodeclaims_unhealthy_disrupted_total', {
        condition: 'storage_ready',
        image_id: '',
        ...mode,
      }),
    ]).toEqual([1, 3, 1]);
    expect(await decisions()).toMatchObject([
      { kind: 'disrupt', summary: 'ending n1: unhealthy', facts: { cause: 'unhealthy' } },
      { kind: 'drain' },
      { kind: 'terminate', facts: { cause: 'unhealthy' } },
    ]);
  });

  test('stays when it recovers in time', async () => {
    await nodes(1);
    reap(repairing);
    await become('n1', 'Ready', 'False');
    await cluster.advance(29 * minuteMs);
    await become('n1', 'Ready', 'True');
    await cluster.advance(40 * minuteMs);
    expect([retirementOn('n1'), isDeleting('claim-n1')]).toEqual([undefined, false]);
  });

  test('stays while the feature gate is off', async () => {
    await nodes(1);
    reap();
    await become('n1', 'KernelReady', 'False');
    await cluster.advance(60 * minuteMs);
    expect([retirementOn('n1'), isDeleting('claim-n1')]).toEqual([undefined, false]);
  });

  test('stays while more than a fifth of its pool is unhealthy, which an Event says', async () => {
    await nodes(3);
    reap(repairing);
    await become('n1', 'KernelReady', 'False');
    await become('n2', 'KernelReady', 'False');
    await cluster.advance(31 * minuteMs);
    expect([isDeleting('claim-n1'), isDeleting('claim-n2')]).toEqual([false, false]);
    expect([...new Set(cluster.events('NodeRepairBlocked'))]).toEqual([
      'more than 20% nodes are unhealthy in the nodepool',
    ]);
    await become('n2', 'Ready', 'True');
    await cluster.pass(3);
    expect([isDeleting('claim-n1'), isDeleting('claim-n2')]).toEqual([true, false]);
  });

  test('that drains without a limit is given one', async () => {
    await nodes(1);
    await cluster.budget('web', 3);
    reap(repairing);
    await cluster.pass(2);
    await cluster.kube.delete({ resource: kubeResources.nodeClaims, name: 'claim-n1' });
    await cluster.pass(20);
    expect(gone('claim-n1')()).toBe(false);
    await become('n1', 'NetworkingReady', 'False');
    await cluster.advance(30 * minuteMs);
    expect(await cluster.pass(60, gone('claim-n1'))).toBe(true);
  });
});

describe('by the method of Karpenter 1.15, a node that is unhealthy', () => {
  /** A node of which a PodDisruptionBudget lets no pod go, and its instance. */
  async function guarded(budgets?: readonly object[]): Promise<string> {
    const [id = ''] = await nodes(1, budgets ?? [{ nodes: '1', reasons: ['Unhealthy'] }]);
    await cluster.budget('web', 3);
    return id;
  }

  test('goes once its replacement is ready, and its drain has ten minutes', async () => {
    const id = await guarded();
    const asked = replacements({ afterMs: 5_000 });
    reap(replacing);
    await become('n1', 'StorageReady', 'False');
    await cluster.advance(30 * minuteMs - 5_000);
    expect(tainted('n1')).toBe(false);
    await cluster.pass(30, () => isDeleting('claim-n1'));
    expect([asked.made, isDeleting('claim-n1'), gone('claim-n1')()]).toEqual([
      ['new-1'],
      true,
      false,
    ]);
    await cluster.advance(9 * minuteMs);
    expect([stateOf(id), cluster.workloads.nodesOf('web').includes('n1')]).toEqual([
      'running',
      true,
    ]);
    await cluster.advance(2 * minuteMs);
    expect(gone('claim-n1')()).toBe(true);
  });

  test('stays while nothing replaces it', async () => {
    await guarded();
    replacements({ afterMs: 1_000, isPlaceless: () => true, admits: () => [] });
    reap(replacing);
    await become('n1', 'KernelReady', 'False');
    const isTouched = () => tainted('n1') || retirementOn('n1') !== undefined;
    expect(await cluster.pass(45 * 60, isTouched, 5_000)).toBe(false);
    expect(cluster.events('DisruptionBlocked')).toContain(
      '3 pods of the unhealthy node would have no other place',
    );
  });

  test('is asked about before it is tainted', async () => {
    await guarded();
    const asked = replacements({ afterMs: 5_000 });
    reap(replacing);
    await become('n1', 'KernelReady', 'False');
    expect(await cluster.pass(31 * 60, () => tainted('n1'), 1_000)).toBe(true);
    expect(asked.requests[0]).toMatchObject({ withoutNodes: ['n1'] });
    expect(asked.requests[0]?.commit).toBeUndefined();
    expect(asked.requests[0]?.podUids).toHaveLength(3);
  });

  test('stays while the budget of its pool lets no node go, and goes when it does', async () => {
    await guarded([{ nodes: '0' }]);
    replacements({ afterMs: 5_000 });
    reap(replacing);
    await become('n1', 'KernelReady', 'False');
    await cluster.advance(45 * minuteMs);
    expect([tainted('n1'), cluster.events('DisruptionBlocked')]).toEqual([
      false,
      expect.arrayContaining([
        'No allowed disruptions for disruption reason Unhealthy due to blocking budget',
      ]),
    ]);
    const body = { spec: { disruption: { budgets: [{ nodes: '100%' }] } } };
    const pool = { resource: kubeResources.nodePools, name: 'default' };
    await cluster.kube.patch(pool, { type: 'merge', body });
    expect(await cluster.pass(60, () => isDeleting('claim-n1'))).toBe(true);
  });

  test('is held back with others, which Events of node, claim and pool say', async () => {
    await nodes(3, [{ nodes: '100%' }]);
    reap(replacing);
    for (const name of ['n1', 'n2']) await become(name, 'KernelReady', 'False');
    await cluster.advance(31 * minuteMs);
    const held = cluster
      .list(kubeResources.events)
      .filter((event) => event['reason'] === 'NodeRepairBlocked')
      .map((event) => (event['involvedObject'] as { readonly kind: string }).kind);
    expect(new Set(held)).toEqual(new Set(['Node', 'NodeClaim', 'NodePool']));
    expect(new Set(cluster.events('NodeRepairBlocked'))).toEqual(
      new Set(['more than 20% of nodes in nodepool "default" are unhealthy']),
    );
  });

  test('stays with the annotation do-not-repair, which an Event says', async () => {
    await guarded();
    reap(replacing);
    const body = { metadata: { annotations: { 'karpenter.sh/do-not-repair': 'true' } } };
    await cluster.kube.patch(
      { resource: kubeResources.nodes, name: 'n1' },
      { type: 'merge', body },
    );
    await become('n1', 'KernelReady', 'False');
    await cluster.advance(45 * minuteMs);
    expect([tainted('n1'), cluster.events('DisruptionBlocked')]).toEqual([
      false,
      expect.arrayContaining([
        'repair is blocked through the "karpenter.sh/do-not-repair" annotation',
      ]),
    ]);
  });
});
