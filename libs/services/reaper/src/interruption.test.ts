import { followCatalog } from '@dovetail/contracts';
import { type KubeApi, kubeResources, Stopper } from '@dovetail/core-ports';
import { startMs } from '@dovetail/sim-stage';
import { describe, expect, test } from '@jest/globals';

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

/** The last instant that a date can hold: nothing can be added to it. */
const farTime = '+275760-09-13T00:00:00Z';

/** A bus on which messages with this in their subject are taken and never confirmed. */
const slowFor = (
  part: string,
  bus: ReturnType<typeof cluster.connect>,
  published: string[],
): ReturnType<typeof cluster.connect> =>
  new Proxy(bus, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      if (name !== 'publish') return member.bind(target) as unknown;
      return (message: { readonly subject: string }) => {
        published.push(message.subject);
        return message.subject.includes(part)
          ? new Promise(() => undefined)
          : (Reflect.apply(member, target, [message]) as unknown);
      };
    },
  });

describe('an interruption', () => {
  const spot = async (): Promise<{ readonly instanceId: string }> => {
    await started({ consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' });
    const made = await cluster.node('n1', { capacityType: 'spot' });
    await cluster.scale('web', 3);
    await cluster.pass(3);
    return made;
  };

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
  }, 60_000);

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

  test.each([
    [
      'of another account',
      (body: string) => body.replaceAll(/"account":"[0-9]+"/g, '"account":"999999999999"'),
    ],
    [
      'of another region',
      (body: string) => body.replaceAll('"region":"us-west-2"', '"region":"eu-west-1"'),
    ],
    [
      'of an unknown kind',
      (body: string) => body.replaceAll('Interruption Warning', 'Something New'),
    ],
    ['that is no event at all', () => 'hello'],
    [
      'about an instance that nobody knows',
      (body: string) => body.replaceAll(/i-[0-9a-f]{17}/g, 'i-0123456789abcdef0'),
    ],
  ])('a message %s is dropped and ends nothing', async (_what, change) => {
    const { instanceId } = await spot();
    reap();
    await cluster.pass(2);
    cluster.twin.queue.send(change(spotNotice(instanceId)));
    await cluster.pass(30);
    expect([tainted('n1'), cluster.twin.queue.depth()]).toMatchObject([
      false,
      { visible: 0, hidden: 0 },
    ]);
  });

  test('the end of a young instance that no claim has is dropped', async () => {
    await started({ consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' });
    const instanceId = await cluster.strayInstance();
    reap();
    await cluster.pass(2);
    cluster.twin.queue.send(endNotice(instanceId));
    await cluster.pass(2);
    expect(cluster.twin.queue.depth()).toMatchObject({ visible: 0, hidden: 0 });
  });

  test('the end of an instance that was launched a moment ago ends its claim', async () => {
    await started({ consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' });
    reap();
    await cluster.pass(2);
    const { instanceId } = await cluster.node('n1', {});
    cluster.twin.queue.send(endNotice(instanceId));
    expect(await cluster.pass(60, gone('claim-n1'))).toBe(true);
  });

  test.each([
    ['and that EC2 does not show yet either', 0],
    ['but EC2 does show', 10],
  ])(
    'the end of an instance whose claim the watch does not show yet, %s, waits for the watch',
    async (_sentence, seconds) => {
      await started({ consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' });
      let show = (): void => undefined;
      const shown = new Promise<void>((resolve) => {
        show = resolve;
      });
      async function* late<T extends { readonly kind: string }>(
        events: AsyncIterable<T>,
      ): AsyncGenerator<T> {
        for await (const event of events) {
          if (event.kind !== 'synced') await shown;
          yield event;
        }
      }
      const watch: KubeApi['watch'] = (watched, stop) =>
        watched.resource.plural === 'nodeclaims'
          ? late(cluster.kube.watch(watched, stop))
          : cluster.kube.watch(watched, stop);
      reap({ kube: { ...cluster.kube, watch } });
      await cluster.pass(2);
      const { instanceId } = await cluster.node('n1', {});
      await cluster.pass(seconds);
      cluster.twin.queue.send(endNotice(instanceId));
      await cluster.pass(2);
      expect([isDeleting('claim-n1'), cluster.twin.queue.depth()]).toMatchObject([
        false,
        { visible: 0, hidden: 1 },
      ]);
      show();
      expect(await cluster.pass(120, gone('claim-n1'))).toBe(true);
      expect(cluster.twin.queue.depth()).toMatchObject({ visible: 0, hidden: 0 });
    },
  );

  /** Bodies that mean nothing, and notices that no effect can follow. */
  const noise = (): readonly string[] => {
    const whole = JSON.parse(spotNotice('i-0123456789abcdef0')) as Readonly<
      Record<string, unknown>
    >;
    const changed = (change: object): string => JSON.stringify({ ...whole, ...change });
    const health = { source: 'aws.health', 'detail-type': 'AWS Health Event' };
    const scheduled = { service: 'EC2', eventTypeCategory: 'scheduledChange' };
    return [
      'null',
      '[]',
      '{',
      '"x"',
      changed({}),
      changed({ detail: null }),
      changed({ detail: { 'instance-id': 7 } }),
      changed({ detail: { 'instance-id': 'i-zz' } }),
      changed({ time: 'yesterday' }),
      changed({ time: '+275760-09-13T00:00:00Z' }),
      changed({ version: '9' }),
      changed({ account: null }),
      changed({
        ...health,
        detail: { ...scheduled, affectedEntities: [null, {}, { entityValue: 1 }] },
      }),
      changed({ ...health, detail: { ...scheduled, affectedEntities: 'all' } }),
      'x'.repeat(200_000),
    ];
  };

  test.each([1, 2, 3, 4, 5])(
    'is obeyed at once by its earliest deadline among others that come twice, late and broken (order %i)',
    async (seed) => {
      const { instanceId } = await spot();
      reap();
      await cluster.pass(2);
      const sentMs = cluster.clock.nowMs();
      const at = (aheadMs: number): string =>
        JSON.stringify({
          ...(JSON.parse(spotNotice(instanceId)) as object),
          time: new Date(sentMs + aheadMs).toISOString(),
        });
      const notices = [at(0), at(-30_000), at(-30_000), at(20_000), at(400_000_000)];
      const far = JSON.stringify({
        ...(JSON.parse(spotNotice(instanceId)) as object),
        time: '+275760-09-13T00:00:00Z',
      });
      const bodies = [...notices, far, ...noise()].map((body, index) => ({
        body,
        rank: Math.sin(seed * 97 + index * 13),
      }));
      for (const { body } of bodies.sort((a, b) => a.rank - b.rank)) cluster.twin.queue.send(body);
      await cluster.pass(2);
      expect(tainted('n1')).toBe(true);
      expect(retirementOn('n1')?.deadlineMs).toBe(sentMs - 30_000 + 110_000);
      await cluster.pass(80, () => isDeleting('claim-n1'));
      expect(deadlineOf('claim-n1')).toBeLessThanOrEqual(sentMs + 80_000);
      await cluster.pass(120);
      expect(cluster.twin.queue.depth()).toMatchObject({ visible: 0, hidden: 0 });
    },
  );

  const endNotice = (instanceId: string): string =>
    JSON.stringify({
      ...(JSON.parse(spotNotice(instanceId)) as object),
      'detail-type': 'EC2 Instance State-change Notification',
      detail: { 'instance-id': instanceId, state: 'shutting-down' },
    });

  const spotNotice = (instanceId: string): string =>
    JSON.stringify({
      version: '0',
      id: 'one',
      'detail-type': 'EC2 Spot Instance Interruption Warning',
      source: 'aws.ec2',
      account: cluster.twin.account.accountId,
      region: 'us-west-2',
      time: new Date(cluster.clock.nowMs()).toISOString(),
      resources: [],
      detail: { 'instance-id': instanceId, 'instance-action': 'terminate' },
    });
});
