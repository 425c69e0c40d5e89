import { describe, expect, test } from '@jest/globals';
import { fleetRequest, joiningTemplate, smallWorld, type SmallWorld } from './testing/small-world.js';

const nobody = new AbortController().signal;

async function launched(world: SmallWorld, capacityType: 'on-demand' | 'spot' = 'spot'): Promise<string> {
  await joiningTemplate(world);
  const { instances: [one] } = await world.cloud.createFleet(fleetRequest(world, ['m5.large'], { capacityType }));
  await world.clock.advance(2_000);
  return one?.id ?? '';
}

/** Every message now in the queue, deleted. */
async function drained(world: SmallWorld): Promise<readonly Record<string, unknown>[]> {
  const all: Record<string, unknown>[] = [];
  while (world.twin.queue.depth().visible > 0) {
    for (const { body, receipt } of await world.cloud.receive(nobody)) { all.push(JSON.parse(body) as Record<string, unknown>); await world.cloud.delete(receipt); }
  }
  return all;
}

describe('an instance', () => {
  test('is told in the queue at each turn of its life, in EventBridge’s words', async () => {
    const world = smallWorld();
    const id = await launched(world, 'on-demand');
    await world.cloud.terminate([id]);
    await world.clock.advance(1_000);
    const messages = await drained(world);
    expect(messages.map((message) => (message['detail'] as { state: string }).state)).toEqual(['pending', 'running', 'shutting-down', 'terminated']);
    expect(messages[0]).toEqual({
      version: '0', id: expect.stringMatching(/^[0-9a-f-]{36}$/) as unknown, 'detail-type': 'EC2 Instance State-change Notification', source: 'aws.ec2', account: '123456789012', time: '2026-11-21T00:00:00Z', region: 'us-west-2',
      resources: [`arn:aws:ec2:us-west-2:123456789012:instance/${id}`], detail: { 'instance-id': id, state: 'pending' },
    });
  });

  test('boots once it runs, and one that is ended before does not', async () => {
    const world = smallWorld({ consistencyMs: 0 });
    const booted: string[] = [];
    const stopped: string[] = [];
    world.twin.onBoot(({ instanceId }) => booted.push(instanceId));
    world.twin.onTerminate(({ instanceId }) => stopped.push(instanceId));
    await joiningTemplate(world);
    const { instances: [first, second] } = await world.cloud.createFleet(fleetRequest(world, ['m5.large'], { count: 2 }));
    await world.clock.advance(1_000);
    await world.cloud.terminate([second?.id ?? '']);
    await world.clock.advance(1_000);
    expect([booted, stopped]).toEqual([[first?.id], [second?.id]]);
  });

  test('that stops goes down without ending', async () => {
    const world = smallWorld();
    const id = await launched(world, 'on-demand');
    await drained(world);
    expect(world.twin.instances.stop(id)).toEqual({ id, previous: 'running', current: 'stopping' });
    await world.clock.advance(1_000);
    expect((await drained(world)).map((message) => (message['detail'] as { state: string }).state)).toEqual(['stopping', 'stopped']);
    expect(() => world.twin.instances.stop(id)).toThrow('is not in a state from which it can be stopped');
  });

  test('whose user data names another cluster does not join', async () => {
    const world = smallWorld();
    await joiningTemplate(world, { userDataBase64: Buffer.from("#!/bin/bash\n/etc/eks/bootstrap.sh 'other'\n").toString('base64') });
    const { instances: [one] } = await world.cloud.createFleet(fleetRequest(world, ['m5.large']));
    expect(world.twin.machine(one?.id ?? '').boot).toEqual({ joins: false, reason: 'user data names the cluster other, which does not exist here' });
  });

  test('has the pods that its interfaces allow when the user data says nothing', async () => {
    const world = smallWorld();
    expect(world.twin.machine(await launched(world)).podsMax).toBe(29);
  });
});

describe('a notice', () => {
  test.each([
    [{ kind: 'rebalance', instanceId: 'i-1' } as const, 'EC2 Instance Rebalance Recommendation', { 'instance-id': 'i-1' }],
    [{ kind: 'capacity-reservation-interruption', instanceId: 'i-1' } as const, 'EC2 Capacity Reservation Instance Interruption Warning', { 'instance-id': 'i-1', 'instance-action': 'terminate' }],
    [{ kind: 'scheduled-change', instanceIds: ['i-1', 'i-2'] } as const, 'AWS Health Event', expect.objectContaining({ service: 'EC2', eventTypeCategory: 'scheduledChange', affectedEntities: [{ entityValue: 'i-1' }, { entityValue: 'i-2' }] })],
  ])('%j comes as %s', async (notice, detailType, detail) => {
    const world = smallWorld();
    world.twin.notify(notice);
    expect(await drained(world)).toEqual([expect.objectContaining({ 'detail-type': detailType, detail })]);
  });

  test('of an interruption is for Spot instances alone, and the instance ends when its time is over', async () => {
    const world = smallWorld();
    const id = await launched(world);
    world.twin.interrupt(id, 30_000);
    await world.clock.advance(29_000);
    expect(world.twin.instances.get(id).state).toBe('running');
    await world.clock.advance(2_000);
    expect(world.twin.instances.get(id)).toMatchObject({ state: 'terminated', stateReason: { code: 'Server.SpotInstanceTermination' } });
    const other = smallWorld();
    const onDemand = await launched(other, 'on-demand');
    expect(() => { other.twin.interrupt(onDemand); }).toThrow('is not a Spot instance');
  });

  test('stays five minutes, is hidden for twenty seconds by who received it, and is gone when deleted', async () => {
    const world = smallWorld();
    world.twin.notify({ kind: 'rebalance', instanceId: 'i-1' });
    const [first] = await world.cloud.receive(nobody);
    const again = world.cloud.receive(nobody);
    await world.clock.advance(20_000);
    expect(await again).toMatchObject([{ receives: 2, sentMs: first?.sentMs }]);
    const stopped = new AbortController();
    const waiting = world.cloud.receive(stopped.signal);
    await world.clock.advance(1_000);
    stopped.abort();
    expect(await waiting).toEqual([]);
    await world.clock.advance(300_000);
    expect(world.twin.queue.depth()).toEqual({ visible: 0, hidden: 0, delayed: 0, waiting: 0 });
  });
});

test('time that is advanced happens in order, each thing at its own time', async () => {
  const world = smallWorld();
  await joiningTemplate(world);
  await world.cloud.createFleet(fleetRequest(world, ['m5.large']));
  world.twin.advance(3_600_000);
  expect(world.twin.eventsSince(0).map(({ kind, atMs }) => [kind, atMs - Date.UTC(2026, 10, 21)])).toEqual([['launched', 0], ['running', 400], ['booted', 1_500]]);
  expect(world.twin.timeline.nowMs() - world.clock.nowMs()).toBe(3_600_000);
});
