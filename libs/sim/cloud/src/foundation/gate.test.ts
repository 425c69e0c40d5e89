import { DescribeInstancesCommand, DescribeSubnetsCommand, EC2Client } from '@aws-sdk/client-ec2';
import { virtualClock } from '@dovetail/sim-clock';
import { describe, expect, test } from 'vitest';

import { startWire } from '../testing/wire.js';
import { type Buckets, documentedBuckets, Gate } from './gate.js';
import { Timeline } from './timeline.js';

function start(limits: Buckets | 'none' = documentedBuckets) {
  const clock = virtualClock(0);
  const timeline = new Timeline(clock);
  const gate = new Gate(timeline, limits);
  const call = (action: string, resources = 1): Promise<string> =>
    gate.run(action, { resources }, () => 'done').catch((error: { code: string }) => error.code);
  const calls = async (action: string, count: number, resources = 1): Promise<number> => {
    let done = 0;
    for (let index = 0; index < count; index += 1)
      done += (await call(action, resources)) === 'done' ? 1 : 0;
    return done;
  };
  return { clock, gate, call, calls };
}

describe('rate limits', () => {
  test.each([
    // action, calls at once, served, then a second later served
    ['ec2:DescribeInstances', 150, 100, 20],
    ['ec2:CreateFleet', 80, 50, 5],
    ['ec2:RunInstances', 20, 5, 2],
    ['ec2:TerminateInstances', 150, 100, 5],
    ['ec2:CreateTags', 150, 100, 10],
  ])(
    '%s: of %d calls at once %d are served, and %d a second later',
    async (action, count, served, refilled) => {
      const { calls, clock } = start();
      expect(await calls(action, count)).toBe(served);
      await clock.advance(1_000);
      expect(await calls(action, count)).toBe(refilled);
    },
  );

  test('are per action: one that is exhausted does not hold up another', async () => {
    const { calls, call } = start();
    await calls('ec2:DescribeInstances', 150);
    expect(await call('ec2:DescribeInstances')).toBe('RequestLimitExceeded');
    expect(await call('ec2:DescribeSubnets')).toBe('done');
  });

  test('count instances too when many are ended at once', async () => {
    expect(await start().calls('ec2:TerminateInstances', 3, 400)).toBe(2);
  });

  test('travel as RequestLimitExceeded with status 503, which the SDK retries by itself', async () => {
    const wire = await startWire();
    wire.twin.gate.setBucket('ec2:DescribeSubnets', { capacity: 1, refillPerSecond: 0 });
    await wire.ec2.send(new DescribeSubnetsCommand({}));
    await expect(wire.ec2.send(new DescribeSubnetsCommand({}))).rejects.toMatchObject({
      name: 'RequestLimitExceeded',
      $metadata: { httpStatusCode: 503 },
    });
    wire.twin.gate.setBucket('ec2:DescribeSubnets', { capacity: 1, refillPerSecond: 1000 });
    const patient = new EC2Client({
      endpoint: wire.endpoint,
      region: 'us-west-2',
      credentials: { accessKeyId: 'A', secretAccessKey: 'B' },
      maxAttempts: 3,
    });
    wire.twin.gate.fail({ action: 'ec2:DescribeSubnets', code: 'RequestLimitExceeded', times: 1 });
    expect((await patient.send(new DescribeSubnetsCommand({}))).Subnets).toHaveLength(4);
    patient.destroy();
    await wire.close();
  });
});

describe('ordered failures', () => {
  test('hit the next calls of their action, then no more, and are counted', async () => {
    const { gate, call } = start();
    gate.fail({ action: 'ec2:CreateFleet', code: 'InternalError', times: 2 });
    expect([
      await call('ec2:CreateFleet'),
      await call('ec2:CreateTags'),
      await call('ec2:CreateFleet'),
      await call('ec2:CreateFleet'),
    ]).toEqual(['InternalError', 'done', 'InternalError', 'done']);
    expect(gate.counts()).toEqual([
      { action: 'ec2:CreateFleet', calls: 3, failed: 2, throttled: 0 },
      { action: 'ec2:CreateTags', calls: 1, failed: 0, throttled: 0 },
    ]);
  });

  test('after the effect leave the effect', async () => {
    const { gate } = start();
    let effects = 0;
    gate.fail({ action: '*', code: 'InternalError', times: 1, when: 'after' });
    await expect(
      gate.run('ec2:CreateFleet', {}, () => {
        effects += 1;
      }),
    ).rejects.toMatchObject({ code: 'InternalError' });
    expect(effects).toBe(1);
  });
});

describe('the control API', () => {
  test('orders failures, latency, limits, time and capacity over HTTP, and counts calls', async () => {
    const wire = await startWire();
    expect(
      await wire.control('POST', 'fail', {
        action: 'ec2:DescribeInstances',
        code: 'Unavailable',
        status: 503,
      }),
    ).toEqual({ status: 200, value: { ok: true } });
    await expect(wire.ec2.send(new DescribeInstancesCommand({}))).rejects.toMatchObject({
      name: 'Unavailable',
      $metadata: { httpStatusCode: 503 },
    });
    expect((await wire.control('GET', 'calls')).value).toEqual([
      { action: 'ec2:DescribeInstances', calls: 1, failed: 1, throttled: 0 },
    ]);
    await wire.control('POST', 'latency', { action: '*', ms: 30 });
    // A lower bound only: a slow machine cannot break it.
    const startMs = performance.now();
    await wire.ec2.send(new DescribeInstancesCommand({}));
    expect(performance.now() - startMs).toBeGreaterThanOrEqual(25);
    const { value } = await wire.control('POST', 'advance', { ms: 3_600_000 });
    expect((value as { nowMs: number }).nowMs).toBeGreaterThan(Date.now() + 3_500_000);
    expect(await wire.control('POST', 'capacity', { instanceType: 'm5.large', free: -1 })).toEqual({
      status: 400,
      value: {
        message: "free: -1 is not a count of instances; give a whole number from 0, or 'unlimited'",
      },
    });
    expect((await wire.control('POST', 'capacity', { free: 0, colour: 'red' })).status).toBe(400);
    expect((await wire.control('GET', 'nothing')).status).toBe(404);
    await wire.close();
  });

  test('streams what happens to machines', async () => {
    const wire = await startWire();
    const response = await fetch(`${wire.endpoint}/_twin/events?since=0`);
    const reader = response.body?.getReader();
    const { CreateFleetCommand, CreateLaunchTemplateCommand } = await import('@aws-sdk/client-ec2');
    await wire.ec2.send(
      new CreateLaunchTemplateCommand({
        LaunchTemplateName: 'one',
        LaunchTemplateData: {
          ImageId: wire.twin.images.describe({
            filters: [{ name: 'name', values: ['amazon-eks-node-1.32-*'] }],
          })[0]?.id,
        },
      }),
    );
    await wire.ec2.send(
      new CreateFleetCommand({
        Type: 'instant',
        TargetCapacitySpecification: {
          TotalTargetCapacity: 1,
          DefaultTargetCapacityType: 'on-demand',
        },
        LaunchTemplateConfigs: [
          {
            LaunchTemplateSpecification: { LaunchTemplateName: 'one', Version: '$Latest' },
            Overrides: [{ InstanceType: 'm5.large', SubnetId: wire.twin.account.subnets[0]?.id }],
          },
        ],
      }),
    );
    wire.twin.advance(5_000);
    let text = '';
    while (text.split('\n').length < 4)
      text += new TextDecoder().decode((await reader?.read())?.value);
    const events = text
      .trim()
      .split('\n')
      .map(
        (line) =>
          JSON.parse(line) as {
            kind: string;
            machine: { boot: { joins: boolean; reason?: string } };
          },
      );
    expect(events.map(({ kind }) => kind)).toEqual(['launched', 'running', 'booted']);
    const listed = (await wire.control('GET', 'instances')).value as {
      instanceId: string;
      state: string;
      userData?: string;
    }[];
    expect(listed).toEqual([
      expect.objectContaining({ state: 'running', instanceType: 'm5.large' }),
    ]);
    expect(
      (await wire.control('GET', `instances/${listed[0]?.instanceId ?? ''}`)).value,
    ).toMatchObject({ state: 'running' });
    expect((await wire.control('GET', 'instances/i-0')).status).toBe(400);
    expect(events[2]?.machine.boot).toEqual({
      joins: false,
      reason: expect.stringContaining('no user data') as unknown,
    });
    await reader?.cancel();
    await wire.close();
  });
});
