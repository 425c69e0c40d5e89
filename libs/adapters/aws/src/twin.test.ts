import type { FleetRequest, LaunchTemplateSpec, Subnet } from '@dovetail/core-ec2-model';
import { compareText } from '@dovetail/core-kube-model';
import type { Cloud } from '@dovetail/core-ports';
import { accountPolicy } from '@dovetail/sim-cloud';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { createAwsCloud } from './cloud.js';
import { type CallObserver } from './index.js';
import { systemClock, twinAccount } from './testing/account.js';

const limits = { attemptsMax: 3, backoffMs: 1, backoffMsMax: 1 };

/**
 * Tests that need an account they can arrange: capacity errors, throttling, lost answers, rights,
 * tokens, prices.
 */
describe('the AWS adapter when things go wrong', () => {
  let account: Awaited<ReturnType<typeof twinAccount>>;
  let cloud: Cloud & { close(): void };
  let subnets: readonly Subnet[];
  let seen: Parameters<CallObserver>[0][] = [];
  const template: LaunchTemplateSpec = {
    name: 'dovetail/t',
    imageId: '',
    userDataBase64: '',
    securityGroupIds: [],
    blockDevices: [],
    metadataOptions: {},
    detailedMonitoring: false,
    tags: {},
  };
  const callsOf = (action: string) =>
    account.twin.gate.counts().find((count) => count.action === action)?.calls ?? 0;

  beforeAll(async () => {
    account = await twinAccount();
    cloud = createAwsCloud({
      ...account.connection,
      clock: systemClock,
      limits,
      observe: (call) => {
        seen.push(call);
      },
    });
    subnets = (await cloud.subnets([])).toSorted((a, b) => compareText(a.zone, b.zone));
    await cloud.ensureLaunchTemplate({
      ...template,
      imageId: (await cloud.parameter(account.imageParameter)) ?? '',
      securityGroupIds: (await cloud.securityGroups([])).map((group) => group.id),
    });
  });
  beforeEach(() => {
    account.twin.gate.resetCounts();
    account.twin.setCapacity({ free: 'unlimited' });
    seen = [];
  });
  afterAll(async () => {
    cloud.close();
    await account.stop();
  });

  const policy = (...statements: readonly object[]) =>
    accountPolicy(
      JSON.stringify({
        Version: '2012-10-17',
        Statement: statements.map((one) => ({ Effect: 'Allow', Resource: '*', ...one })),
      }),
      account.twin.account,
    );
  const fleet = (clientToken: string, changes: Partial<FleetRequest> = {}): FleetRequest => ({
    clientToken,
    capacityType: 'on-demand',
    count: 1,
    allocation: 'lowest-price',
    tags: {},
    configs: [
      {
        launchTemplateName: template.name,
        overrides: subnets.map((subnet) => ({
          instanceType: 'm5.large',
          subnetId: subnet.id,
          zone: subnet.zone,
        })),
      },
    ],
    ...changes,
  });
  const running = async () => {
    account.settle();
    return (
      await cloud.instancesByTag([{ name: 'instance-state-name', values: ['pending', 'running'] }])
    ).length;
  };

  test('on-demand prices come from the price list, m5.large at 0.096 dollars, dedicated hosts apart', async () => {
    const quotes = await cloud.onDemandPrices();
    const quoteOf = (name: string, tenancy?: 'dedicated') =>
      quotes.find((quote) => quote.instanceType === name && quote.tenancy === tenancy);
    expect(quoteOf('m5.large')).toMatchObject({
      capacityType: 'on-demand',
      priceMicrosPerHour: 96_000,
      estimated: false,
    });
    expect(quoteOf('m5.large', 'dedicated')?.priceMicrosPerHour).toBe(105_600);
    for (const tenancy of [undefined, 'dedicated'] as const)
      expect(quoteOf('m5.metal', tenancy)?.priceMicrosPerHour).toBe(4_608_000);
  });

  test('the cluster’s endpoint, certificate and service network', async () => {
    expect(await cloud.clusterInfo('lab')).toEqual({
      version: '1.32',
      endpoint: expect.stringMatching(/^https:/),
      certificateAuthority: expect.any(String),
      serviceCidr: '172.20.0.0/16',
    });
  });

  test('a zone without capacity is reported by type, zone and subnet, beside what could be launched', async () => {
    account.twin.setCapacity({ instanceType: 'm5.large', free: 1 });
    const outcome = await cloud.createFleet(fleet('partial', { count: 3 }));
    expect(outcome.instances).toHaveLength(2);
    expect(outcome.errors).toEqual(
      subnets.map((subnet) =>
        expect.objectContaining({
          awsCode: 'InsufficientInstanceCapacity',
          instanceType: 'm5.large',
          zone: subnet.zone,
          subnetId: subnet.id,
        }),
      ),
    );
  });

  test('the same request again gives the same fleet and no instance more; another under its token is refused', async () => {
    const first = await cloud.createFleet(fleet('once', { count: 2 }));
    const before = await running();
    expect(await cloud.createFleet(fleet('once', { count: 2 }))).toEqual(first);
    expect(await running()).toBe(before);
    await expect(cloud.createFleet(fleet('once', { count: 3 }))).rejects.toMatchObject({
      code: 'token-mismatch',
      awsCode: 'IdempotentParameterMismatch',
    });
  });

  test('an answer that is lost after the effect is asked for again, and doubles nothing', async () => {
    const before = await running();
    account.twin.gate.fail({
      action: 'ec2:CreateFleet',
      code: 'InternalError',
      times: 1,
      when: 'after',
    });
    expect((await cloud.createFleet(fleet('lost-answer'))).instances).toHaveLength(1);
    expect(callsOf('ec2:CreateFleet')).toBe(2);
    expect(await running()).toBe(before + 1);
  });

  test('a throttled call is tried again, each try told; when it stays throttled the caller hears so', async () => {
    account.twin.gate.fail({
      action: 'ec2:DescribeSubnets',
      code: 'RequestLimitExceeded',
      times: 2,
    });
    expect(await cloud.subnets([])).toHaveLength(2);
    expect(seen.map((call) => call.outcome)).toEqual(['throttled', 'throttled', 'ok']);
    account.twin.gate.fail({
      action: 'ec2:DescribeSubnets',
      code: 'RequestLimitExceeded',
      times: 3,
    });
    await expect(cloud.subnets([])).rejects.toMatchObject({
      code: 'throttled',
      awsCode: 'RequestLimitExceeded',
    });
  });

  test('what may not be done is denied once, not tried again', async () => {
    account.twin.gate.setRights(account.connection.credentials.accessKeyId, [
      'ec2:DescribeSubnets',
      'sts:*',
    ]);
    try {
      await expect(cloud.createFleet(fleet('denied'))).rejects.toMatchObject({
        code: 'denied',
        awsCode: 'UnauthorizedOperation',
      });
      expect(callsOf('ec2:CreateFleet')).toBe(1);
      await expect(cloud.parameter('/x')).rejects.toMatchObject({ code: 'denied' });
      await expect(cloud.instanceProfileExists('x')).rejects.toMatchObject({ code: 'denied' });
    } finally {
      account.twin.gate.setRights(account.connection.credentials.accessKeyId, ['*']);
    }
  });

  test('a launch template that is gone is told as such', async () => {
    const [config] = fleet('x').configs;
    await expect(
      cloud.createFleet(
        fleet('no-template', {
          configs: [{ overrides: config?.overrides ?? [], launchTemplateName: 'dovetail/gone' }],
        }),
      ),
    ).rejects.toMatchObject({ code: 'launch-template-missing' });
  });

  test('one instance that may not be ended does not keep the others alive', async () => {
    const { instances } = await cloud.createFleet(fleet('tagged', { count: 9 }));
    account.settle();
    const ids = instances.map((one) => one.id);
    const [untagged = '', ...others] = ids;
    await cloud.tagInstances(others, { mine: 'yes' });
    const { accessKeyId } = account.connection.credentials;
    const withTag = { Condition: { StringEquals: { 'aws:ResourceTag/mine': 'yes' } } };
    account.twin.identities.put(accessKeyId, {
      role: 'reaper',
      policies: [
        policy({ Action: 'ec2:TerminateInstances', ...withTag }, { Action: 'ec2:Describe*' }),
      ],
    });
    try {
      expect(await cloud.terminate(ids)).toMatchObject([
        { id: untagged, awsCode: 'UnauthorizedOperation' },
      ]);
    } finally {
      account.twin.identities.put(accessKeyId, {
        role: 'all',
        policies: [policy({ Action: '*' })],
      });
    }
    const states = new Map((await cloud.instancesById(ids)).map(({ id, state }) => [id, state]));
    expect(states.get(untagged)).toBe('running');
    expect(others.filter((id) => states.get(id) === 'running')).toEqual([]);
  });

  test('a missing right to end instances is not asked for once for each of them', async () => {
    account.twin.gate.setRights(account.connection.credentials.accessKeyId, ['sts:*']);
    const ids = Array.from({ length: 64 }, (_, index) => `i-${String(index).padStart(17, '0')}`);
    try {
      const refused = await cloud.terminate(ids);
      expect(refused.map(({ id }) => id).sort()).toEqual(ids);
      expect(callsOf('ec2:TerminateInstances')).toBeLessThan(20);
    } finally {
      account.twin.gate.setRights(account.connection.credentials.accessKeyId, ['*']);
    }
  });

  test('one unknown id among many does not keep the others alive', async () => {
    const { instances } = await cloud.createFleet(fleet('many', { count: 9 }));
    account.settle();
    const ids = instances.map((one) => one.id);
    expect(
      await cloud.terminate([
        ...ids.slice(0, 4),
        'i-00000000000000000',
        ...ids.slice(4),
        'i-11111111111111111',
      ]),
    ).toEqual([]);
    account.settle();
    expect(
      (await cloud.instancesById(ids)).every(
        (one) => one.state === 'shutting-down' || one.state === 'terminated',
      ),
    ).toBe(true);
  });

  test('failing checks and scheduled events are found, each instance once', async () => {
    const { instances } = await cloud.createFleet(fleet('impaired', { count: 3 }));
    account.settle();
    const [checked = '', announced = ''] = instances.map(({ id }) => id);
    expect(await cloud.impairedInstances()).toEqual([]);
    const sinceMs = Math.floor(account.twin.timeline.nowMs() / 1_000) * 1_000;
    account.twin.setHealth(checked, { instance: 'impaired', system: 'impaired' });
    account.twin.scheduleEvent(announced, 'instance-retirement');
    const found = await cloud.impairedInstances();
    expect(found.map(({ id }) => id)).toEqual([checked, announced].toSorted(compareText));
    const findingsOf = (id: string) => found.find((one) => one.id === id)?.findings ?? [];
    expect(findingsOf(announced)).toEqual([{ kind: 'event', code: 'instance-retirement' }]);
    expect(findingsOf(checked).map(({ kind }) => kind)).toEqual(['instance-check', 'system-check']);
    for (const finding of findingsOf(checked))
      expect(finding.kind === 'event' ? 0 : finding.sinceMs).toBeGreaterThanOrEqual(sinceMs);
    await cloud.terminate(instances.map(({ id }) => id));
  });

  test('an endpoint where nobody listens is unavailable', async () => {
    const left = await twinAccount();
    await left.stop();
    const nobody = createAwsCloud({ ...left.connection, clock: systemClock, limits });
    await expect(nobody.subnets([])).rejects.toMatchObject({ code: 'unavailable' });
    await expect(nobody.identity()).rejects.toMatchObject({ code: 'unavailable' });
    nobody.close();
  });
});
