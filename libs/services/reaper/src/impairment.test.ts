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
  tainted,
} from './testing/current-cluster.js';

/** A node with three pods, and no queue that could announce anything. */
async function node(): Promise<string> {
  await started({ consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' });
  const { instanceId } = await cluster.node('n1');
  await cluster.scale('web', 3);
  await cluster.pass(3);
  return instanceId;
}
const unhealthy = (category: string): number | undefined =>
  cluster.metrics.value('karpenter_interruption_instance_status_unhealthy_total', { category });

describe('an instance that EC2 reports', () => {
  test.each([
    ['its own status check', { instance: 'impaired' }, 'InstanceStatus', 'instance_status'],
    ['the check of its host', { system: 'impaired' }, 'SystemStatus', 'system_status'],
  ] as const)(
    'to fail %s for two minutes is ended by force, past its pods’ budget',
    async (_what, health, category, cause) => {
      const id = await node();
      await cluster.budget('web', 3);
      const asked = replacements({ afterMs: 5_000 });
      reap();
      await cluster.pass(2);
      cluster.twin.setHealth(id, health);
      await cluster.pass(110);
      expect(isDeleting('claim-n1')).toBe(false);
      expect(await cluster.pass(120, gone('claim-n1'))).toBe(true);
      await cluster.pass(5);
      expect(asked.requests.map(({ commit }) => commit?.reason)).toEqual([cause]);
      expect([cluster.workloads.nodesOf('web'), unhealthy(category)]).toEqual([['new-1'], 1]);
      expect(cluster.events('InstanceUnhealthy')).toHaveLength(2);
      expect((await decisions()).map(({ kind }) => kind)).toEqual([
        'interrupt',
        'disrupt',
        'drain',
        'terminate',
      ]);
    },
  );

  test('to fail with more than a fifth of its pool stays until others recover, which is told', async () => {
    const id = await node();
    const { instanceId: other } = await cluster.node('n2');
    await cluster.node('n3');
    replacements({ afterMs: 5_000 });
    reap();
    await cluster.pass(2);
    for (const one of [id, other]) cluster.twin.setHealth(one, { system: 'impaired' });
    await cluster.pass(300);
    expect([isDeleting('claim-n1'), isDeleting('claim-n2')]).toEqual([false, false]);
    expect([...new Set(cluster.events('NodeRepairBlocked'))]).toEqual([
      'more than 20% of nodes in NodePool/default are unhealthy',
    ]);
    cluster.twin.setHealth(other, { system: 'ok' });
    expect(await cluster.pass(120, () => isDeleting('claim-n1'))).toBe(true);
    expect(isDeleting('claim-n2')).toBe(false);
  });

  test('counts for the brake of node repair, too, until it recovers', async () => {
    await node();
    const failing = [(await cluster.node('n2')).instanceId, (await cluster.node('n3')).instanceId];
    replacements({ afterMs: 5_000 });
    reap({ config: { nodeRepair: true } });
    await cluster.pass(2);
    for (const id of failing) cluster.twin.setHealth(id, { system: 'impaired' });
    const lastTransitionTime = new Date(cluster.clock.nowMs()).toISOString();
    const conditions = [
      { type: 'Ready', status: 'True' },
      { type: 'KernelReady', status: 'False', lastTransitionTime },
    ];
    const ref = { resource: kubeResources.nodes, name: 'n1' };
    const body = { status: { conditions } };
    await cluster.kube.patch(ref, { type: 'merge', body }, { subresource: 'status' });
    await cluster.advance(1_900_000);
    expect([tainted('n1'), isDeleting('claim-n2'), isDeleting('claim-n3')]).toEqual([
      false,
      false,
      false,
    ]);
    expect(cluster.events('NodeRepairBlocked')).toContain(
      'more than 20% of nodes in nodepool "default" are unhealthy',
    );
    for (const id of failing) cluster.twin.setHealth(id, { system: 'ok' });
    expect(await cluster.pass(180, () => tainted('n1'))).toBe(true);
  });

  test('to fail for a moment stays', async () => {
    const id = await node();
    reap();
    cluster.twin.setHealth(id, { instance: 'impaired' });
    await cluster.pass(90);
    cluster.twin.setHealth(id, { instance: 'ok' });
    await cluster.pass(240);
    expect([retirementOn('n1'), isDeleting('claim-n1')]).toEqual([undefined, false]);
  });

  test('to be retired one day is replaced first, without haste, and told of once', async () => {
    const id = await node();
    cluster.twin.instances.get(id).scheduledEvents = [
      { id: 'instance-event-1', code: 'instance-retirement', notBeforeMs: 9e12 },
    ];
    const made = replacements({ afterMs: 30_000 });
    reap();
    expect(await cluster.pass(200, gone('claim-n1'))).toBe(true);
    await cluster.pass(5);
    expect([made.made, cluster.workloads.broken, unhealthy('EventStatus')]).toEqual([
      ['new-1'],
      [],
      1,
    ]);
    expect(cluster.events('InstanceUnhealthy')).toHaveLength(2);
  });

  test('without a claim of ours is none of our business', async () => {
    await node();
    const stray = await cluster.strayInstance();
    reap();
    await cluster.pass(5);
    cluster.twin.setHealth(stray, { instance: 'impaired', system: 'impaired' });
    await cluster.pass(200);
    expect([unhealthy('InstanceStatus'), unhealthy('SystemStatus')]).toEqual([
      undefined,
      undefined,
    ]);
  });

  test('is not noticed while the policy denies it, which the log says once in ten minutes', async () => {
    const id = await node();
    cluster.twin.gate.fail({
      action: 'ec2:DescribeInstanceStatus',
      code: 'UnauthorizedOperation',
      times: 1,
    });
    reap();
    await cluster.pass(1);
    cluster.twin.setHealth(id, { instance: 'impaired' });
    await cluster.advance(580_000);
    expect([cluster.said('instance-statuses-unknown').length, isDeleting('claim-n1')]).toEqual([
      1,
      false,
    ]);
    expect(await cluster.pass(120, gone('claim-n1'))).toBe(true);
  });
});
