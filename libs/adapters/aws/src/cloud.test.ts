import { DescribeLaunchTemplateVersionsCommand, EC2Client } from '@aws-sdk/client-ec2';
import {
  catalogFacts,
  type FleetRequest,
  type LaunchTemplateSpec,
  type Subnet,
} from '@dovetail/core-ec2-model';
import { compareText } from '@dovetail/core-kube-model';
import { type Cloud, neverStopping } from '@dovetail/core-ports';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { createAwsCloud } from './cloud.js';
import { awsInterruptionQueue } from './cloud/queue.js';
import { AwsSession } from './index.js';
import { type Account, motoAccount, systemClock, twinAccount } from './testing/account.js';

const limits = { attemptsMax: 2, backoffMs: 1, backoffMsMax: 1 };

/**
 * The suite for every implementation of AWS' protocols: the twin, and moto, which other people
 * wrote.
 */
describe.each([
  ['the cloud twin', twinAccount],
  ['moto', motoAccount],
] as const)('the AWS adapter against %s', (name, start) => {
  let account: Account | undefined;
  let cloud: Cloud & { close(): void };
  let subnets: readonly Subnet[] = [];

  beforeAll(async () => {
    account = await start();
    if (account === undefined) return;
    cloud = createAwsCloud({ ...account.connection, clock: systemClock, limits });
    subnets = (
      await cloud.subnets([{ name: 'availability-zone', values: ['us-east-1a', 'us-east-1b'] }])
    ).toSorted((a, b) => compareText(a.zone, b.zone));
  });
  afterAll(async () => {
    cloud?.close();
    await account?.stop();
  });

  /** Where moto cannot be had its half is left out; the reason is printed once by `motoAccount`. */
  const check = (title: string, body: (given: Account) => Promise<void>) =>
    test(title, async () => {
      if (account !== undefined) await body(account);
    });

  const template = (
    imageId: string,
    changes: Partial<LaunchTemplateSpec> = {},
  ): LaunchTemplateSpec => ({
    name: `dovetail/${name.replaceAll(' ', '-')}`,
    imageId,
    userDataBase64: Buffer.from('#!/bin/bash\n').toString('base64'),
    securityGroupIds: [],
    blockDevices: [
      {
        deviceName: '/dev/xvda',
        ebs: { VolumeSize: 20, VolumeType: 'gp3', Encrypted: true, DeleteOnTermination: true },
      },
    ],
    metadataOptions: {
      HttpTokens: 'required',
      HttpPutResponseHopLimit: 1,
      HttpEndpoint: 'enabled',
    },
    detailedMonitoring: false,
    tags: { 'dovetail.sh/cluster-uid': 'u-1' },
    ...changes,
  });
  const fleet = (clientToken: string, changes: Partial<FleetRequest> = {}): FleetRequest => ({
    clientToken,
    capacityType: 'on-demand',
    count: 1,
    allocation: 'lowest-price',
    tags: { 'karpenter.sh/nodepool': 'default', intent: clientToken },
    configs: [
      {
        launchTemplateName: template('').name,
        overrides: subnets
          .slice(0, 2)
          .map((subnet) => ({ instanceType: 'm5.large', subnetId: subnet.id, zone: subnet.zone })),
      },
    ],
    ...changes,
  });
  const launchable = async ({ imageParameter }: Account): Promise<void> => {
    await cloud.ensureLaunchTemplate(template((await cloud.parameter(imageParameter)) ?? ''));
  };

  check(
    'a template for spot tags what is checked for it, one for on-demand no spot request',
    async (given) => {
      const { imageParameter, connection } = given;
      const image = (await cloud.parameter(imageParameter)) ?? '';
      const client = new EC2Client(connection);
      const taggedBy = async (changes: Partial<LaunchTemplateSpec>): Promise<readonly string[]> => {
        const spec = template(image, changes);
        await cloud.ensureLaunchTemplate(spec);
        const { LaunchTemplateVersions: [version] = [] } = await client.send(
          new DescribeLaunchTemplateVersionsCommand({ LaunchTemplateName: spec.name }),
        );
        await cloud.deleteLaunchTemplate(spec.name);
        return (
          (version?.LaunchTemplateData?.TagSpecifications ?? [])
            .filter(({ Tags = [] }) => Tags.some(({ Key }) => Key === 'dovetail.sh/cluster-uid'))
            .map(({ ResourceType = '' }) => ResourceType)
            // moto also lists the tags of the template itself.
            .filter((type) => type !== 'launch-template')
            .sort(compareText)
        );
      };
      expect(await taggedBy({ name: 'dovetail/for-spot', forSpot: true })).toEqual([
        'network-interface',
        'spot-instances-request',
      ]);
      expect(await taggedBy({ name: 'dovetail/on-demand' })).toEqual(['network-interface']);
      client.destroy();
    },
  );

  check('its types are the catalog’s, fact by fact', async () => {
    const types = new Map((await cloud.instanceTypes()).map((facts) => [facts.name, facts]));
    expect(types.size).toBeGreaterThan(1300);
    for (const type of [
      'm5.large',
      'm6g.large',
      'c5.metal',
      'p4d.24xlarge',
      'inf1.24xlarge',
      'i3en.large',
      't3.micro',
    ])
      expect(types.get(type)).toEqual(catalogFacts(type));
  });

  check('types are offered in zones', async () =>
    expect((await cloud.instanceTypeZones()).get('m5.large')).toEqual(
      expect.arrayContaining(['us-east-1a', 'us-east-1b']),
    ),
  );

  check('spot prices are by type and zone, in whole micro-dollars', async () => {
    const prices = (await cloud.spotPrices()).filter((price) => price.instanceType === 'm5.large');
    expect(prices.map((price) => price.zone)).toEqual(
      expect.arrayContaining(['us-east-1a', 'us-east-1b']),
    );
    expect(
      prices.every(
        (price) => Number.isInteger(price.priceMicrosPerHour) && price.capacityType === 'spot',
      ),
    ).toBe(true);
  });

  check('subnets have zones, ids and room; an unknown one is not found', async () => {
    expect(subnets.map((subnet) => subnet.zone)).toEqual(['us-east-1a', 'us-east-1b']);
    expect(
      subnets.every((subnet) => subnet.freeAddresses > 1000 && /^use1-az\d$/.test(subnet.zoneId)),
    ).toBe(true);
    expect(
      await cloud.subnets([{ name: 'subnet-id', values: [subnets[0]?.id ?? ''] }]),
    ).toHaveLength(1);
    expect(await cloud.subnets([{ name: 'tag:no-such', values: ['tag'] }])).toEqual([]);
  });

  check('security groups are found by name', async () => {
    const [group] = await cloud.securityGroups([]);
    expect(
      await cloud.securityGroups([{ name: 'group-name', values: [group?.name ?? ''] }]),
    ).toEqual([group]);
  });

  check(
    'a parameter names an image; an unknown parameter is undefined, an unknown image left out',
    async ({ imageParameter }) => {
      const id = (await cloud.parameter(imageParameter)) ?? '';
      expect(id).toMatch(/^ami-/);
      expect(await cloud.images({ ids: [id, 'ami-00000000000000000'], filters: [] })).toEqual([
        expect.objectContaining({ id, arch: 'amd64', deprecated: false }),
      ]);
      expect(await cloud.parameter('/no/such/parameter')).toBeUndefined();
    },
  );

  check('a cluster that is not there is undefined', async () =>
    expect(await cloud.clusterInfo('no-such')).toBeUndefined(),
  );

  check('the credentials’ account and region', async () =>
    expect(await cloud.identity()).toEqual({ accountId: '123456789012', region: 'us-east-1' }),
  );

  check(
    'a launch template is made once, found by its tag, and deleted as often as one likes',
    async (given) => {
      await launchable(given);
      await launchable(given);
      const found = async () =>
        (await cloud.launchTemplates({ key: 'dovetail.sh/cluster-uid', value: 'u-1' })).map(
          (one) => one.name,
        );
      expect(await found()).toEqual([template('').name]);
      await cloud.deleteLaunchTemplate(template('').name);
      if (given.knowsMissingTemplates) await cloud.deleteLaunchTemplate(template('').name);
      expect(await found()).toEqual([]);
    },
  );

  check(
    'a fleet launches what it was asked for; the instances carry its tags, are found by them and end',
    async (given) => {
      await launchable(given);
      const outcome = await cloud.createFleet(fleet('fleet-1', { count: 2 }));
      expect(outcome.instances).toHaveLength(2);
      expect(
        outcome.instances.every(
          (one) =>
            one.instanceType === 'm5.large' &&
            one.capacityType === 'on-demand' &&
            one.zone.startsWith('us-east-1'),
        ),
      ).toBe(true);
      given.settle();
      const ids = outcome.instances.map((one) => one.id).toSorted();
      const byTag = await cloud.instancesByTag([{ name: 'tag:intent', values: ['fleet-1'] }]);
      expect(byTag.map((one) => one.id).toSorted()).toEqual(ids);
      expect(byTag[0]).toMatchObject({
        instanceType: 'm5.large',
        capacityType: 'on-demand',
        tags: { 'karpenter.sh/nodepool': 'default' },
      });
      await cloud.tagInstances(ids, { Name: 'node-1' });
      const missing = 'i-00000000000000000';
      expect((await cloud.instancesById([...ids, missing])).map((one) => one.tags['Name'])).toEqual(
        ['node-1', 'node-1'],
      );
      expect(await cloud.terminate([...ids, missing])).toEqual([]);
      given.settle();
      expect(
        (await cloud.instancesById(ids)).filter(
          (one) => one.state !== 'terminated' && one.state !== 'shutting-down',
        ),
      ).toEqual([]);
      expect(await cloud.terminate(ids)).toEqual([]);
    },
  );

  check('a fleet of spot instances says so', async (given) => {
    await launchable(given);
    const outcome = await cloud.createFleet(
      fleet('spot-1', { capacityType: 'spot', allocation: 'price-capacity-optimized' }),
    );
    given.settle();
    expect(outcome.instances.map((one) => one.capacityType)).toEqual(['spot']);
    expect(
      (await cloud.instancesById(outcome.instances.map((one) => one.id))).map(
        (one) => one.capacityType,
      ),
    ).toEqual(['spot']);
  });

  check(
    'an instance profile is made with its role, whatever is there already, and deleted as often as one likes',
    async ({ role }) => {
      const profile = {
        name: 'lab_1',
        role: `/some/path/${role}`,
        path: '/karpenter/us-east-1/lab/',
        tags: { cluster: 'lab' },
      };
      expect(await cloud.instanceProfileExists('lab_1')).toBe(false);
      expect([
        await cloud.ensureInstanceProfile(profile),
        await cloud.ensureInstanceProfile(profile),
      ]).toEqual(['lab_1', 'lab_1']);
      expect(await cloud.instanceProfileExists('lab_1')).toBe(true);
      expect(await cloud.instanceProfiles('/karpenter/us-east-1/lab/')).toEqual(['lab_1']);
      expect(await cloud.instanceProfiles('/karpenter/us-east-1/other/')).toEqual([]);
      await cloud.deleteInstanceProfile('lab_1');
      await cloud.deleteInstanceProfile('lab_1');
      expect(await cloud.instanceProfileExists('lab_1')).toBe(false);
    },
  );

  check('a role that does not exist is named, not retried for ever', async () => {
    await expect(
      cloud.ensureInstanceProfile({
        name: 'lab_2',
        role: 'no-such-role',
        path: '/karpenter/',
        tags: {},
      }),
    ).rejects.toMatchObject({ code: 'not-found' });
  });

  check(
    'messages arrive with their body and are gone once deleted; an empty queue answers, and stops when told',
    async (given) => {
      const session = new AwsSession({ ...given.connection, clock: systemClock, limits });
      const queue = awsInterruptionQueue(session, { queueName: given.queueName, waitSeconds: 1 });
      // The launches above have left state changes in the twin's queue.
      for (
        let told = await queue.receive(neverStopping);
        told.length > 0;
        told = await queue.receive(neverStopping)
      )
        expect(await queue.delete(told.map(({ receipt }) => receipt))).toEqual([]);
      const beforeMs = Date.now();
      await given.send('{"hello":"world"}');
      const [message] = await queue.receive(neverStopping);
      expect(message).toMatchObject({ body: '{"hello":"world"}', receives: 1 });
      expect(message?.sentMs).toBeGreaterThanOrEqual(beforeMs);
      // Milliseconds, not seconds or microseconds. The twin's clock stands ahead of the machine's.
      expect(message?.sentMs).toBeLessThan(beforeMs + 86_400_000);
      expect(await queue.delete([message?.receipt ?? ''])).toEqual([]);
      expect(await queue.receive(neverStopping)).toEqual([]);
      expect(await queue.receive(AbortSignal.abort())).toEqual([]);
      session.close();
    },
  );

  check('a queue that does not exist is an error, not silence', async (given) => {
    const session = new AwsSession({ ...given.connection, clock: systemClock, limits });
    const queue = awsInterruptionQueue(session, { queueName: 'no-such-queue' });
    await expect(queue.receive(neverStopping)).rejects.toMatchObject({ code: 'not-found' });
    session.close();
  });
});
