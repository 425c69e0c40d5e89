import { type FleetRequest, neverStopping } from '@dovetail/core-ports';
import { describe, expect, test } from 'vitest';

import {
  fleetRequest,
  joiningTemplate,
  type SmallAccount,
  smallAccount,
} from '../testing/small-account.js';

const started = (): SmallAccount => smallAccount();

/** A script whose kubelet arguments the machine must read back. */
const labelled = ({ twin }: SmallAccount): string =>
  Buffer.from(
    `#!/bin/bash -xe\n/etc/eks/bootstrap.sh 'lab' --apiserver-endpoint '${twin.cluster().endpoint}' --b64-cluster-ca '${twin.cluster().certificateAuthority}' \\\n` +
      `--use-max-pods false --kubelet-extra-args '--node-labels="karpenter.sh/capacity-type=on-demand,team=one" --register-with-taints="karpenter.sh/unregistered:NoExecute" --max-pods=29'\n`,
  ).toString('base64');

const both = ['m5.large', 'm5a.large'];
const request = (account: SmallAccount, change: Partial<FleetRequest> = {}): FleetRequest =>
  fleetRequest(account, both, { tags: { 'karpenter.sh/nodepool': 'default' }, ...change });

describe('a fleet', () => {
  test('launches the cheapest type, boots it, and ends it', async () => {
    const account = started();
    const { twin, cloud, clock } = account;
    await joiningTemplate(account, { userDataBase64: labelled(account) });
    const booted: string[] = [];
    const ended: string[] = [];
    twin.onBoot((machine) => booted.push(machine.instanceId));
    twin.onTerminate((machine) => ended.push(machine.instanceId));
    const outcome = await cloud.createFleet(request(account));
    expect(outcome.errors).toEqual([]);
    const [launched] = outcome.instances;
    expect(launched).toMatchObject({ instanceType: 'm5a.large', capacityType: 'on-demand' });
    const id = launched?.id ?? '';
    expect(await cloud.instancesById([id])).toEqual([]);
    await clock.advance(2_000);
    expect(await cloud.instancesById([id])).toMatchObject([
      {
        id,
        state: 'running',
        tags: { 'karpenter.sh/nodepool': 'default', 'aws:ec2:fleet-id': outcome.fleetId },
      },
    ]);
    expect(booted).toEqual([id]);
    expect(twin.machine(id)).toMatchObject({
      privateDnsName: expect.stringMatching(
        /^ip-10-0-\d+-\d+\.us-west-2\.compute\.internal$/,
      ) as unknown,
      providerId: `aws:///${launched?.zone ?? ''}/${id}`,
      podsMax: 29,
      kubernetesVersion: '1.32',
      boot: {
        joins: true,
        config: {
          labels: { team: 'one', 'karpenter.sh/capacity-type': 'on-demand' },
          taints: [{ key: 'karpenter.sh/unregistered', effect: 'NoExecute' }],
        },
      },
    });
    expect(await cloud.terminate([id])).toEqual([]);
    expect(ended).toEqual([id]);
    expect(
      await cloud.instancesByTag([{ name: 'tag:karpenter.sh/nodepool', values: ['*'] }]),
    ).toMatchObject([{ state: 'shutting-down' }]);
    await clock.advance(2_000);
    expect(
      await cloud.instancesByTag([
        { name: 'instance-state-name', values: ['pending', 'running', 'shutting-down'] },
      ]),
    ).toEqual([]);
    twin.close();
  });

  test('repeated under its token is the same fleet, and another request under that token is refused', async () => {
    const account = started();
    await joiningTemplate(account);
    const first = await account.cloud.createFleet(request(account, { count: 3 }));
    expect(await account.cloud.createFleet(request(account, { count: 3 }))).toEqual(first);
    await expect(account.cloud.createFleet(request(account, { count: 2 }))).rejects.toMatchObject({
      code: 'token-mismatch',
      awsCode: 'IdempotentParameterMismatch',
    });
    expect(account.twin.instances.all()).toHaveLength(3);
  });

  test('whose answer was lost is launched once', async () => {
    const account = started();
    await joiningTemplate(account);
    account.twin.gate.fail({
      action: 'ec2:CreateFleet',
      code: 'InternalError',
      times: 1,
      when: 'after',
    });
    await expect(account.cloud.createFleet(request(account))).rejects.toMatchObject({
      code: 'unavailable',
    });
    expect((await account.cloud.createFleet(request(account))).instances).toEqual([
      expect.objectContaining({ id: account.twin.instances.all()[0]?.id }),
    ]);
    expect(account.twin.instances.all()).toHaveLength(1);
  });

  test('falls to the next pool when one is short, and tells what was missing', async () => {
    const account = started();
    await joiningTemplate(account);
    account.twin.setCapacity({ instanceType: 'm5a.large', free: 1 });
    const outcome = await account.cloud.createFleet(request(account, { count: 5 }));
    expect(outcome.instances.map(({ instanceType }) => instanceType).sort()).toEqual([
      'm5.large',
      'm5.large',
      'm5a.large',
      'm5a.large',
      'm5a.large',
    ]);
    expect(outcome.errors.map(({ awsCode, instanceType }) => [awsCode, instanceType])).toEqual([
      ['InsufficientInstanceCapacity', 'm5a.large'],
      ['InsufficientInstanceCapacity', 'm5a.large'],
      ['InsufficientInstanceCapacity', 'm5a.large'],
    ]);
  });
});

describe('the queue', () => {
  test('carries interruption warnings, and wakes whoever waits', async () => {
    const account = started();
    await joiningTemplate(account);
    const { twin, cloud, clock } = account;
    const {
      instances: [spot],
    } = await cloud.createFleet(
      request(account, { capacityType: 'spot', allocation: 'price-capacity-optimized' }),
    );
    await clock.advance(2_000);
    for (const message of await cloud.receive(neverStopping)) await cloud.delete([message.receipt]);
    const waiting = cloud.receive(neverStopping);
    await clock.advance(1_000);
    twin.interrupt(spot?.id ?? '');
    const [message] = await waiting;
    expect(JSON.parse(message?.body ?? '')).toMatchObject({
      version: '0',
      source: 'aws.ec2',
      'detail-type': 'EC2 Spot Instance Interruption Warning',
      account: '123456789012',
      region: 'us-west-2',
      detail: { 'instance-id': spot?.id, 'instance-action': 'terminate' },
    });
    await clock.advance(121_000);
    expect(twin.instances.get(spot?.id ?? '').state).toBe('terminated');
  });
});
