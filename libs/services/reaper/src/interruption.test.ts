import { followCatalog } from '@dovetail/contracts';
import { kubeResources, Stopper } from '@dovetail/core-ports';
import { startMs } from '@dovetail/sim-stage';
import { describe, expect, test } from 'vitest';

import {
  cluster,
  deadlineOf,
  decisions,
  gone,
  isDeleting,
  reap,
  replacements,
  retirementOn,
  started,
  tainted,
} from './testing/current-cluster.js';
import { farTime, slowFor, spot, spotNotice } from './testing/notices.js';

describe('an interruption', () => {
  test('taints at once, replaces, drains and ends within the notice; the offering is avoided; the message goes', async () => {
    const { instanceId } = await spot();
    const made = replacements({ afterMs: 30_000 });
    reap();
    await cluster.pass(2);
    cluster.twin.interrupt(instanceId);
    await cluster.pass(2);
    expect([tainted('n1'), cluster.twin.queue.depth()]).toMatchObject([
      true,
      { visible: 0, hidden: 0 },
    ]);
    const noticedMs = cluster.clock.nowMs();
    expect(await cluster.pass(100, gone('claim-n1'))).toBe(true);
    await cluster.pass(3);
    expect(cluster.clock.nowMs() - noticedMs).toBeLessThan(60_000);
    expect([made.made, cluster.workloads.nodesOf('web')]).toEqual([['new-1'], ['new-1']]);
    expect([
      cluster.events('SpotInterrupted').length,
      cluster.events('TerminatingOnInterruption').length,
    ]).toEqual([2, 2]);
    expect((await decisions()).map(({ kind }) => kind)).toEqual([
      'interrupt',
      'disrupt',
      'drain',
      'terminate',
    ]);
    const stop = new Stopper();
    for await (const event of followCatalog(cluster.channel, stop)) {
      expect(event).toMatchObject({
        kind: 'unavailable',
        offering: { instanceType: 'm5.large', capacityType: 'spot', awsCode: 'SpotInterruption' },
      });
      if (event.kind === 'unavailable')
        expect(event.offering.untilMs - noticedMs).toBeGreaterThan(170_000);
      break;
    }
    stop.abort();
  });

  test('says first what is to be avoided, however many decisions wait for the bus', async () => {
    const { instanceId } = await spot();
    const published: string[] = [];
    const bus = slowFor('.decision.', cluster.connect(), published);
    reap({ bus });
    await cluster.pass(2);
    const other = await cluster.node('n2', { capacityType: 'spot' });
    cluster.twin.notify({ kind: 'rebalance', instanceId: other.instanceId });
    await cluster.pass(3);
    cluster.twin.notify({ kind: 'spot-interruption', instanceId });
    await cluster.pass(3);
    expect(published.filter((subject) => subject.includes('.unavailable.'))).toHaveLength(1);
  });

  test('that is dated far in the future is over as soon as one of now', async () => {
    const { instanceId } = await spot();
    await cluster.budget('web', 3);
    reap();
    await cluster.pass(2);
    const far = { ...(JSON.parse(spotNotice(instanceId)) as object), time: farTime };
    cluster.twin.queue.send(JSON.stringify(far));
    expect(await cluster.pass(70, () => isDeleting('claim-n1'))).toBe(true);
    expect(deadlineOf('claim-n1')).toBeLessThanOrEqual(cluster.clock.nowMs() + 110_000);
  });

  test('without a bus drains after half a minute, and forces what a budget holds before the notice is over', async () => {
    const { instanceId } = await spot();
    await cluster.budget('web', 3);
    cluster.server.stop();
    reap();
    await cluster.pass(2);
    cluster.twin.interrupt(instanceId);
    await cluster.pass(29);
    expect([tainted('n1'), isDeleting('claim-n1')]).toEqual([true, false]);
    await cluster.pass(3);
    expect([isDeleting('claim-n1'), cluster.workloads.nodesOf('web')]).toEqual([true, ['n1']]);
    expect(await cluster.pass(100, gone('claim-n1'))).toBe(true);
    expect(cluster.events('FailedDraining').join()).toContain('refused');
    expect(cluster.clock.nowMs()).toBeLessThan(startMs + 130_000);
  });

  test('tells a pod that takes long to end at once, through the Eviction API', async () => {
    await started({ consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' });
    const { instanceId } = await cluster.node('n1', { capacityType: 'spot' });
    await cluster.pod('slow', 'db', { spec: { terminationGracePeriodSeconds: 100 } });
    await cluster.pass(3);
    replacements({ afterMs: 60_000 });
    reap();
    await cluster.pass(2);
    cluster.twin.interrupt(instanceId);
    await cluster.pass(4);
    expect([cluster.events('Evicted').length, cluster.events('Disrupted')]).toEqual([1, []]);
  });

  test.each([
    [
      'AWS does not say which account this is',
      () =>
        cluster.twin.gate.fail({
          action: 'sts:GetCallerIdentity',
          code: 'AccessDenied',
          times: 1_000,
        }),
    ],
    [
      'EC2 throttles',
      () =>
        cluster.twin.gate.fail({
          action: 'ec2:DescribeInstances',
          code: 'RequestLimitExceeded',
          times: 100_000,
        }),
    ],
    ['EC2 does not show the instance', () => undefined],
  ])('is obeyed at once although %s', async (what, happens) => {
    const { instanceId } = await spot();
    happens();
    const none = () => Promise.resolve([]);
    const blind = { ...cluster.cloud, instancesById: none, instancesByTag: none };
    reap(what.includes('show') ? { cloud: blind } : {});
    await cluster.pass(2);
    cluster.twin.interrupt(instanceId);
    await cluster.pass(1);
    expect([tainted('n1'), cluster.twin.queue.depth()]).toMatchObject([
      true,
      { visible: 0, hidden: 0 },
    ]);
  });

  test('is obeyed for an instance of Karpenter, which carries no UID of ours', async () => {
    const { instanceId } = await spot();
    await cluster.pass(1);
    cluster.twin.tag([instanceId], { 'dovetail.sh/cluster-uid': '' });
    reap();
    await cluster.pass(2);
    cluster.twin.interrupt(instanceId);
    await cluster.pass(1);
    expect(tainted('n1')).toBe(true);
  });

  test('of many instances at once taints all of them within seconds', async () => {
    await started({ consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' });
    const names = Array.from({ length: 30 }, (_, index) => `n${String(index)}`);
    const made = [];
    for (const name of names) {
      made.push(await cluster.node(name, { capacityType: 'spot' }));
      // EC2 paces launches.
      await cluster.advance(1_000);
    }
    reap();
    await cluster.pass(2);
    for (const { instanceId } of made) cluster.twin.interrupt(instanceId);
    await cluster.pass(2);
    expect(names.filter(tainted)).toEqual(names);
  });

  test.each([
    // There is no time to wait: a solver is asked for the pods as they are drained.
    [
      'a stopping instance',
      'InstanceStopping',
      (id: string) => ({ kind: 'state-change', instanceId: id, state: 'stopping' }) as const,
      'new-1',
    ],
    [
      'a capacity reservation that ends',
      'CapacityReservationInstanceInterrupted',
      (id: string) => ({ kind: 'capacity-reservation-interruption', instanceId: id }) as const,
      'new-1',
    ],
    [
      'announced maintenance',
      'InstanceUnhealthy',
      (id: string) => ({ kind: 'scheduled-change', instanceIds: [id] }) as const,
      'new-1',
    ],
  ])('%s retires the node', async (_what, event, notice, target) => {
    const { instanceId } = await spot();
    replacements({ afterMs: 5_000 });
    reap();
    await cluster.pass(2);
    cluster.twin.notify(notice(instanceId));
    expect(await cluster.pass(90, gone('claim-n1'))).toBe(true);
    expect(cluster.events(event).length).toBeGreaterThan(0);
    await cluster.pass(10);
    expect(cluster.workloads.nodesOf('web')).toEqual([target]);
  });

  test.each([
    [
      'a Spot notice',
      (instanceId: string) => ({ kind: 'spot-interruption', instanceId }) as const,
      110,
    ],
    [
      'the end of the instance',
      (instanceId: string) => ({ kind: 'state-change', instanceId, state: 'stopping' }) as const,
      5,
    ],
  ])('%s after announced maintenance brings its deadline', async (_what, notice, seconds) => {
    const { instanceId } = await spot();
    reap();
    await cluster.pass(2);
    cluster.twin.notify({ kind: 'scheduled-change', instanceIds: [instanceId] });
    await cluster.pass(3);
    expect([tainted('n1'), isDeleting('claim-n1')]).toEqual([true, false]);
    cluster.twin.notify(notice(instanceId));
    expect(await cluster.pass(seconds, () => isDeleting('claim-n1'))).toBe(true);
    expect(deadlineOf('claim-n1')).toBeLessThanOrEqual(cluster.clock.nowMs() + 110_000);
  });

  test('a noticed node is planned in the time of pending pods: hundreds may stand in one line', async () => {
    await started();
    const { instanceId } = await cluster.node('n1', { capacityType: 'spot' });
    await cluster.scale('web', 3);
    await cluster.pass(3);
    const made = replacements({ afterMs: 600_000 });
    reap();
    cluster.twin.notify({ kind: 'spot-interruption', instanceId });
    expect(await cluster.pass(20, () => made.requests.length > 0, 250)).toBe(true);
    expect(made.requests[0]?.budgetMs).toBe(100);
  });

  test('a Spot notice that comes while a solver thinks about the expired node keeps its deadline', async () => {
    await started({ consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' });
    const { instanceId } = await cluster.node('n1', { capacityType: 'spot', expireAfterMs: 5_000 });
    await cluster.scale('web', 3);
    await cluster.pass(3);
    const made = replacements({ afterMs: 600_000, thinkMs: 3_000 });
    reap();
    expect(await cluster.pass(20, () => made.requests.length > 0, 250)).toBe(true);
    cluster.twin.notify({ kind: 'spot-interruption', instanceId });
    await cluster.pass(10);
    expect(retirementOn('n1')).toMatchObject({
      cause: 'interrupted',
      answeredMs: expect.any(Number),
    });
    expect(await cluster.pass(100, () => isDeleting('claim-n1'))).toBe(true);
    expect(deadlineOf('claim-n1')).toBeLessThanOrEqual(cluster.clock.nowMs() + 120_000);
  });

  test('a Spot notice that comes beside the deletion of its claim gives that the deadline', async () => {
    const { instanceId } = await spot();
    reap();
    await cluster.pass(2);
    await cluster.budget('web', 3);
    // The deletion is written between the reaper's look at the claim and its write to the node.
    cluster.store.state.subscribe(({ object }) => {
      if (object.metadata.name === 'n1' && tainted('n1') && !isDeleting('claim-n1'))
        void cluster.kube.delete({ resource: kubeResources.nodeClaims, name: 'claim-n1' });
    });
    cluster.twin.notify({ kind: 'spot-interruption', instanceId });
    await cluster.pass(3);
    expect(deadlineOf('claim-n1')).toBeLessThanOrEqual(cluster.clock.nowMs() + 110_000);
  });

  test('a rebalance recommendation is an event and nothing else', async () => {
    const { instanceId } = await spot();
    reap();
    await cluster.pass(2);
    cluster.twin.notify({ kind: 'rebalance', instanceId });
    await cluster.pass(30);
    expect([
      tainted('n1'),
      cluster.events('SpotRebalanceRecommendation').length,
      cluster.twin.queue.depth().hidden,
    ]).toEqual([false, 2, 0]);
  });
});
