import { describe, expect, test } from '@jest/globals';
import type { FleetRequest, LaunchTemplateSpec } from '@dovetail/core-ports';
import { virtualClock } from '@dovetail/sim-clock';
import { createCloud, inProcessCloud, worldFor, type CloudSettings } from './index.js';

const userData = (text: string): string => Buffer.from(text).toString('base64');

/** A small world under a virtual clock. */
function start(settings: Partial<CloudSettings> = {}) {
  const clock = virtualClock(Date.UTC(2026, 10, 21));
  const world = worldFor('us-west-2', { clusterName: 'lab', zones: ['a', 'b', 'd'] });
  const twin = createCloud({ clock, seed: 'seed', world, settings });
  return { clock, twin, cloud: inProcessCloud(twin) };
}
type Started = ReturnType<typeof start>;

function bootScript({ twin }: Started): string {
  const { endpoint, certificateAuthority } = twin.cluster();
  return `#!/bin/bash -xe\n/etc/eks/bootstrap.sh 'lab' --apiserver-endpoint '${endpoint}' --b64-cluster-ca '${certificateAuthority}' \\\n`
    + `--use-max-pods false --kubelet-extra-args '--node-labels="karpenter.sh/capacity-type=on-demand,team=one" --register-with-taints="karpenter.sh/unregistered:NoExecute" --max-pods=29'\n`;
}

async function template(started: Started, change: Partial<LaunchTemplateSpec> = {}): Promise<string> {
  const imageId = await started.cloud.parameter('/aws/service/eks/optimized-ami/1.32/amazon-linux-2/recommended/image_id');
  const name = change.name ?? 'dovetail/one';
  await started.cloud.ensureLaunchTemplate({
    name, imageId: imageId ?? '', userDataBase64: userData(bootScript(started)), securityGroupIds: started.twin.world.securityGroups.map(({ id }) => id),
    instanceProfileName: 'KarpenterNodeInstanceProfile-lab', blockDevices: [], metadataOptions: {}, detailedMonitoring: false, tags: { cluster: 'lab' }, ...change,
  });
  return name;
}

function request({ twin }: Started, change: Partial<FleetRequest> & { types?: readonly string[] } = {}): FleetRequest {
  const { types = ['m5.large', 'm5a.large'], ...rest } = change;
  const overrides = types.flatMap((instanceType) => twin.world.subnets.map(({ id, zone }) => ({ instanceType, subnetId: id, zone })));
  return {
    clientToken: 'token-1', capacityType: 'on-demand', count: 1, allocation: 'lowest-price', tags: { 'karpenter.sh/nodepool': 'default' },
    configs: [{ launchTemplateName: 'dovetail/one', overrides }], ...rest,
  };
}

describe('a fleet', () => {
  test('launches the cheapest type, boots it, and ends it', async () => {
    const started = start();
    const { twin, cloud, clock } = started;
    await template(started);
    const booted: string[] = [];
    const ended: string[] = [];
    twin.onBoot((machine) => booted.push(machine.instanceId));
    twin.onTerminate((machine) => ended.push(machine.instanceId));
    const outcome = await cloud.createFleet(request(started));
    expect(outcome.errors).toEqual([]);
    const [launched] = outcome.instances;
    expect(launched).toMatchObject({ instanceType: 'm5a.large', capacityType: 'on-demand' });
    const id = launched?.id ?? '';
    expect(await cloud.instancesById([id])).toEqual([]);
    await clock.advance(2_000);
    expect(await cloud.instancesById([id])).toMatchObject([{ id, state: 'running', tags: { 'karpenter.sh/nodepool': 'default', 'aws:ec2:fleet-id': outcome.fleetId } }]);
    expect(booted).toEqual([id]);
    expect(twin.machine(id)).toMatchObject({
      privateDnsName: expect.stringMatching(/^ip-10-0-\d+-\d+\.us-west-2\.compute\.internal$/) as unknown, providerId: `aws:///${launched?.zone ?? ''}/${id}`, podsMax: 29, kubernetesVersion: '1.32',
      boot: { joins: true, config: { labels: { team: 'one', 'karpenter.sh/capacity-type': 'on-demand' }, taints: [{ key: 'karpenter.sh/unregistered', effect: 'NoExecute' }] } },
    });
    expect(await cloud.terminate([id])).toEqual([]);
    expect(ended).toEqual([id]);
    expect(await cloud.instancesByTag([{ name: 'tag:karpenter.sh/nodepool', values: ['*'] }])).toMatchObject([{ state: 'shutting-down' }]);
    await clock.advance(2_000);
    expect(await cloud.instancesByTag([{ name: 'instance-state-name', values: ['pending', 'running', 'shutting-down'] }])).toEqual([]);
    twin.close();
  });

  test('repeated under its token is the same fleet, and another request under that token is refused', async () => {
    const started = start();
    await template(started);
    const first = await started.cloud.createFleet(request(started, { count: 3 }));
    expect(await started.cloud.createFleet(request(started, { count: 3 }))).toEqual(first);
    await expect(started.cloud.createFleet(request(started, { count: 2 }))).rejects.toMatchObject({ code: 'token-mismatch', awsCode: 'IdempotentParameterMismatch' });
    expect(started.twin.instances.all()).toHaveLength(3);
  });

  test('whose answer was lost is launched once', async () => {
    const started = start();
    await template(started);
    started.twin.gate.fail({ action: 'ec2:CreateFleet', code: 'InternalError', times: 1, when: 'after' });
    await expect(started.cloud.createFleet(request(started))).rejects.toMatchObject({ code: 'unavailable' });
    expect((await started.cloud.createFleet(request(started))).instances).toEqual([expect.objectContaining({ id: started.twin.instances.all()[0]?.id })]);
    expect(started.twin.instances.all()).toHaveLength(1);
  });

  test('falls to the next pool when one is short, and tells what was missing', async () => {
    const started = start();
    await template(started);
    started.twin.setCapacity({ instanceType: 'm5a.large', free: 1 });
    const outcome = await started.cloud.createFleet(request(started, { count: 5 }));
    expect(outcome.instances.map(({ instanceType }) => instanceType).sort()).toEqual(['m5.large', 'm5.large', 'm5a.large', 'm5a.large', 'm5a.large']);
    expect(outcome.errors.map(({ awsCode, instanceType }) => [awsCode, instanceType])).toEqual([['InsufficientInstanceCapacity', 'm5a.large'], ['InsufficientInstanceCapacity', 'm5a.large'], ['InsufficientInstanceCapacity', 'm5a.large']]);
  });
});

describe('the queue', () => {
  test('carries interruption warnings, and wakes whoever waits', async () => {
    const started = start();
    await template(started);
    const { twin, cloud, clock } = started;
    const { instances: [spot] } = await cloud.createFleet(request(started, { capacityType: 'spot', allocation: 'price-capacity-optimized' }));
    await clock.advance(2_000);
    for (const message of await cloud.receive(new AbortController().signal)) await cloud.delete(message.receipt);
    const waiting = cloud.receive(new AbortController().signal);
    await clock.advance(1_000);
    twin.interrupt(spot?.id ?? '');
    const [message] = await waiting;
    expect(JSON.parse(message?.body ?? '')).toMatchObject({ version: '0', source: 'aws.ec2', 'detail-type': 'EC2 Spot Instance Interruption Warning', account: '123456789012', region: 'us-west-2', detail: { 'instance-id': spot?.id, 'instance-action': 'terminate' } });
    await clock.advance(121_000);
    expect(twin.instances.get(spot?.id ?? '').state).toBe('terminated');
  });
});
