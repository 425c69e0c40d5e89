import { neverStopping } from '@dovetail/core-ports';
import { describe, expect, test } from 'vitest';

import {
  fleetRequest,
  joiningTemplate,
  type SmallAccount,
  smallAccount,
} from '../testing/small-account.js';

async function launched(
  account: SmallAccount,
  capacityType: 'on-demand' | 'spot' = 'spot',
): Promise<string> {
  await joiningTemplate(account);
  const {
    instances: [one],
  } = await account.cloud.createFleet(fleetRequest(account, ['m5.large'], { capacityType }));
  await account.clock.advance(2_000);
  return one?.id ?? '';
}

/** Every message now in the queue, deleted. */
async function drained(account: SmallAccount): Promise<readonly Record<string, unknown>[]> {
  const all: Record<string, unknown>[] = [];
  while (account.twin.queue.depth().visible > 0) {
    for (const { body, receipt } of await account.cloud.receive(neverStopping)) {
      all.push(JSON.parse(body) as Record<string, unknown>);
      await account.cloud.delete([receipt]);
    }
  }
  return all;
}

describe('an instance', () => {
  test('is told in the queue at each turn of its life, in EventBridge’s words', async () => {
    const account = smallAccount();
    const id = await launched(account, 'on-demand');
    await account.cloud.terminate([id]);
    await account.clock.advance(1_000);
    const messages = await drained(account);
    expect(messages.map((message) => (message['detail'] as { state: string }).state)).toEqual([
      'pending',
      'running',
      'shutting-down',
      'terminated',
    ]);
    expect(messages[0]).toEqual({
      version: '0',
      id: expect.stringMatching(/^[0-9a-f-]{36}$/) as unknown,
      'detail-type': 'EC2 Instance State-change Notification',
      source: 'aws.ec2',
      account: '123456789012',
      time: '2026-11-21T00:00:00Z',
      region: 'us-west-2',
      resources: [`arn:aws:ec2:us-west-2:123456789012:instance/${id}`],
      detail: { 'instance-id': id, state: 'pending' },
    });
  });

  test('boots once it runs, and one that is ended before does not', async () => {
    const account = smallAccount({ consistencyMs: 0 });
    const booted: string[] = [];
    const stopped: string[] = [];
    account.twin.onBoot(({ instanceId }) => booted.push(instanceId));
    account.twin.onTerminate(({ instanceId }) => stopped.push(instanceId));
    await joiningTemplate(account);
    const {
      instances: [first, second],
    } = await account.cloud.createFleet(fleetRequest(account, ['m5.large'], { count: 2 }));
    await account.clock.advance(1_000);
    await account.cloud.terminate([second?.id ?? '']);
    await account.clock.advance(1_000);
    expect([booted, stopped]).toEqual([[first?.id], [second?.id]]);
  });

  test('that stops goes down without ending', async () => {
    const account = smallAccount();
    const id = await launched(account, 'on-demand');
    await drained(account);
    expect(account.twin.instances.stop(id)).toEqual({
      id,
      previous: 'running',
      current: 'stopping',
    });
    await account.clock.advance(1_000);
    expect(
      (await drained(account)).map((message) => (message['detail'] as { state: string }).state),
    ).toEqual(['stopping', 'stopped']);
    expect(account.twin.instances.stop(id)).toEqual({
      id,
      previous: 'stopped',
      current: 'stopped',
    });
    account.twin.instances.terminate([id]);
    expect(() => account.twin.instances.stop(id)).toThrow(
      'is not in a state from which it can be stopped',
    );
  });

  test('whose user data names another cluster does not join', async () => {
    const account = smallAccount();
    await joiningTemplate(account, {
      userDataBase64: Buffer.from("#!/bin/bash\n/etc/eks/bootstrap.sh 'other'\n").toString(
        'base64',
      ),
    });
    const {
      instances: [one],
    } = await account.cloud.createFleet(fleetRequest(account, ['m5.large']));
    expect(account.twin.machine(one?.id ?? '').boot).toEqual({
      joins: false,
      reason: 'user data names the cluster other, which does not exist here',
    });
  });

  test('has the pods that its interfaces allow when the user data says nothing', async () => {
    const account = smallAccount();
    expect(account.twin.machine(await launched(account)).podsMax).toBe(29);
  });
});

describe('a notice', () => {
  test.each([
    [
      { kind: 'rebalance', instanceId: 'i-1' } as const,
      'EC2 Instance Rebalance Recommendation',
      { 'instance-id': 'i-1' },
    ],
    [
      { kind: 'capacity-reservation-interruption', instanceId: 'i-1' } as const,
      'EC2 Capacity Reservation Instance Interruption Warning',
      { 'instance-id': 'i-1', 'instance-action': 'terminate' },
    ],
    [
      { kind: 'scheduled-change', instanceIds: ['i-1', 'i-2'] } as const,
      'AWS Health Event',
      expect.objectContaining({
        service: 'EC2',
        eventTypeCategory: 'scheduledChange',
        affectedEntities: [{ entityValue: 'i-1' }, { entityValue: 'i-2' }],
      }),
    ],
  ])('%j comes as %s', async (notice, detailType, detail) => {
    const account = smallAccount();
    account.twin.notify(notice);
    expect(await drained(account)).toEqual([
      expect.objectContaining({ 'detail-type': detailType, detail }),
    ]);
  });

  test('of an interruption is for Spot instances alone, and the instance ends when its time is over', async () => {
    const account = smallAccount();
    const id = await launched(account);
    account.twin.interrupt(id, 30_000);
    await account.clock.advance(29_000);
    expect(account.twin.instances.get(id).state).toBe('running');
    await account.clock.advance(2_000);
    expect(account.twin.instances.get(id)).toMatchObject({
      state: 'terminated',
      stateReason: { code: 'Server.SpotInstanceTermination' },
    });
    const other = smallAccount();
    const onDemand = await launched(other, 'on-demand');
    expect(() => {
      other.twin.interrupt(onDemand);
    }).toThrow('is not a Spot instance');
  });

  test('stays five minutes, is hidden for twenty seconds by who received it, and is gone when deleted', async () => {
    const account = smallAccount();
    account.twin.notify({ kind: 'rebalance', instanceId: 'i-1' });
    const [first] = await account.cloud.receive(neverStopping);
    const again = account.cloud.receive(neverStopping);
    await account.clock.advance(20_000);
    expect(await again).toMatchObject([{ receives: 2, sentMs: first?.sentMs }]);
    const stopped = new AbortController();
    const waiting = account.cloud.receive(stopped.signal);
    await account.clock.advance(1_000);
    stopped.abort();
    expect(await waiting).toEqual([]);
    await account.clock.advance(300_000);
    expect(account.twin.queue.depth()).toEqual({ visible: 0, hidden: 0, delayed: 0, waiting: 0 });
  });
});

test('time that is advanced happens in order, each thing at its own time', async () => {
  const account = smallAccount();
  await joiningTemplate(account);
  await account.cloud.createFleet(fleetRequest(account, ['m5.large']));
  account.twin.advance(3_600_000);
  expect(
    account.twin.eventsSince(0).map(({ kind, atMs }) => [kind, atMs - Date.UTC(2026, 10, 21)]),
  ).toEqual([
    ['launched', 0],
    ['running', 400],
    ['booted', 1_500],
  ]);
  expect(account.twin.timeline.nowMs() - account.clock.nowMs()).toBe(3_600_000);
});
