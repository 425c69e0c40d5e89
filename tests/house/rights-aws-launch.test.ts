import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { createAwsCloud } from '@dovetail/adapter-aws/cloud';
import type { Cloud } from '@dovetail/core-ports';
import { systemClock } from '@dovetail/runtime';
import {
  accountFor,
  accountPolicy,
  contextOf,
  createCloud,
  decide,
  serveCloud,
} from '@dovetail/sim-cloud';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/**
 * The policies of deploy/iam, evaluated by the cloud twin while the AWS adapter works under them.
 * The launcher launches, the reaper ends, and neither may do more.
 */
const root = join(import.meta.dirname, '..', '..');
const account = accountFor('us-east-1', { clusterName: 'lab', zones: ['a', 'b'] });
const twin = createCloud({ clock: systemClock, seed: 'launch rights', account });
const textOf = (service: string): string =>
  readFileSync(join(root, 'deploy/iam', `${service}.json`), 'utf8');

const clusterTags = { 'kubernetes.io/cluster/lab': 'owned', 'eks:eks-cluster-name': 'lab' };
type Service = 'launcher' | 'reaper' | 'administrator';
const clouds = new Map<Service, Cloud & { close(): void }>();
const as = (service: Service): Cloud => clouds.get(service) as Cloud;
let close: () => Promise<void>;

beforeAll(async () => {
  const served = await serveCloud(twin);
  for (const service of ['launcher', 'reaper'])
    twin.identities.put(service, {
      role: service,
      policies: [accountPolicy(textOf(service), account)],
    });
  for (const service of ['launcher', 'reaper', 'administrator'] as const)
    clouds.set(
      service,
      createAwsCloud({
        region: 'us-east-1',
        endpoint: served.endpoint,
        credentials: { accessKeyId: service, secretAccessKey: 'secret' },
        clock: systemClock,
      }),
    );
  close = () => served.close();
});
afterAll(async () => {
  for (const cloud of clouds.values()) cloud.close();
  await close?.();
  twin.close();
});

type Launch = {
  readonly capacityType: 'spot' | 'on-demand';
  readonly by?: Service;
  readonly forSpot?: boolean;
  readonly tags?: Readonly<Record<string, string>>;
  readonly instanceProfileName?: string;
};

let launches = 0;
async function launched(launch: Launch): ReturnType<Cloud['createFleet']> {
  const {
    capacityType,
    by = 'launcher',
    forSpot = capacityType === 'spot',
    tags = clusterTags,
  } = launch;
  const cloud = as(by);
  const name = `dovetail/${(launches += 1)}`;
  const image = await as('administrator').parameter(
    '/aws/service/eks/optimized-ami/1.32/amazon-linux-2023/x86_64/standard/recommended/image_id',
  );
  await as('administrator').ensureLaunchTemplate({
    name,
    imageId: image ?? '',
    userDataBase64: '',
    securityGroupIds: account.securityGroups.map(({ id }) => id),
    blockDevices: [],
    metadataOptions: {},
    detailedMonitoring: false,
    tags: clusterTags,
    ...(forSpot ? { forSpot: true } : {}),
    instanceProfileName: launch.instanceProfileName ?? 'KarpenterNodeInstanceProfile-lab',
  });
  return cloud.createFleet({
    clientToken: name,
    capacityType,
    count: 1,
    allocation: capacityType === 'spot' ? 'price-capacity-optimized' : 'lowest-price',
    tags,
    configs: [
      {
        launchTemplateName: name,
        overrides: account.subnets.map(({ id, zone }) => ({
          instanceType: 'm5.large',
          subnetId: id,
          zone,
        })),
      },
    ],
  });
}

describe('under the shipped policies', () => {
  test.each(['spot', 'on-demand'] as const)('the launcher launches %s', async (capacityType) => {
    const { instances, errors } = await launched({ capacityType });
    expect(errors).toEqual([]);
    expect(instances).toMatchObject([{ capacityType }]);
  });

  test('Spot without tags on its requests is denied for each override', async () => {
    const { instances, errors } = await launched({ capacityType: 'spot', forSpot: false });
    expect(instances).toEqual([]);
    expect(errors).toHaveLength(2);
    for (const error of errors)
      expect(error).toMatchObject({
        awsCode: 'UnauthorizedOperation',
        message: expect.stringContaining(
          'ec2:RunInstances on resource: arn:aws:ec2:us-east-1:123456789012:spot-instances-request/* because no identity-based policy',
        ),
      });
  });

  test('on-demand with tags for Spot requests is refused, as EC2 does', async () => {
    const { instances, errors } = await launched({ capacityType: 'on-demand', forSpot: true });
    expect(instances).toEqual([]);
    expect(errors[0]?.message).toContain('if there are no Spot instances requests');
  });

  test("a profile of another role is not handed to instances, and EC2's code says so", async () => {
    await as('administrator').ensureInstanceProfile({
      name: 'foreign',
      path: '/',
      tags: {},
      role: 'lab-cluster-role',
    });
    const { errors } = await launched({ capacityType: 'spot', instanceProfileName: 'foreign' });
    expect(errors[0]).toMatchObject({
      awsCode: 'UnauthorizedOperation',
      message: expect.stringContaining(
        'iam:PassRole on resource: arn:aws:iam::123456789012:role/lab-cluster-role',
      ),
    });
  });

  test.each<[string, Launch]>([
    [
      "another cluster's tags",
      { capacityType: 'spot', tags: { 'kubernetes.io/cluster/other': 'owned' } },
    ],
    ["the reaper's role", { capacityType: 'spot', by: 'reaper' }],
  ])('with %s the whole fleet is denied', async (_what, launch) => {
    await expect(launched(launch)).rejects.toMatchObject({
      code: 'denied',
      awsCode: 'UnauthorizedOperation',
    });
  });
});

describe('the reaper', () => {
  test('ends instances of the cluster and no others; the launcher ends none', async () => {
    const { instances } = await launched({ capacityType: 'on-demand' });
    const foreign = await launched({
      by: 'administrator',
      capacityType: 'on-demand',
      tags: { 'kubernetes.io/cluster/other': 'owned' },
    });
    twin.advance(5_000);
    const idsOf = (outcome: typeof foreign): readonly string[] =>
      outcome.instances.map(({ id }) => id);
    const own = instances.map(({ id }) => id);
    const denied = (ids: readonly string[]) =>
      ids.map((id) => ({ id, awsCode: 'UnauthorizedOperation' }));
    expect(await as('launcher').terminate(own)).toMatchObject(denied(own));
    expect(await as('reaper').terminate(idsOf(foreign))).toMatchObject(denied(idsOf(foreign)));
    expect(await as('reaper').terminate(own)).toEqual([]);
    expect(own.map((id) => twin.instances.get(id).state)).toEqual(own.map(() => 'shutting-down'));
    expect(twin.instances.get(idsOf(foreign)[0] ?? '').state).toBe('running');
  });
});

describe('the launcher', () => {
  const refused = expect.objectContaining({ code: 'denied' }) as unknown;
  test.each<[string, (cloud: Cloud) => Promise<unknown>]>([
    ["reads no parameter of the account's own", (cloud) => cloud.parameter('/database/password')],
    ['asks for no other cluster', (cloud) => cloud.clusterInfo('other')],
    [
      'makes no template without the tags of the cluster',
      (cloud) =>
        cloud.ensureLaunchTemplate({
          name: 'dovetail/untagged',
          imageId: 'ami-1',
          userDataBase64: '',
          securityGroupIds: [],
          blockDevices: [],
          metadataOptions: {},
          detailedMonitoring: false,
          tags: { 'eks:eks-cluster-name': 'lab' },
        }),
    ],
    [
      'makes no profile for another region',
      (cloud) =>
        cloud.ensureInstanceProfile({
          name: 'elsewhere',
          path: '/',
          role: 'KarpenterNodeRole-lab',
          tags: { ...clusterTags, 'topology.kubernetes.io/region': 'eu-west-1' },
        }),
    ],
    [
      "deletes no other's profile",
      (cloud) => cloud.deleteInstanceProfile('KarpenterNodeInstanceProfile-lab'),
    ],
  ])('%s', async (_what, call) => {
    await expect(call(as('launcher'))).rejects.toEqual(refused);
  });

  test('names its instances, and changes no other tag of theirs', async () => {
    const { instances } = await launched({ capacityType: 'on-demand' });
    twin.advance(5_000);
    const ids = instances.map(({ id }) => id);
    await as('launcher').tagInstances(ids, { Name: 'node', 'karpenter.sh/nodeclaim': 'claim' });
    await expect(
      as('launcher').tagInstances(ids, { 'kubernetes.io/cluster/other': 'owned' }),
    ).rejects.toEqual(refused);
  });

  test.each([
    ['a name', { Name: 'node' }, 'allow'],
    ['no tag at all', {}, 'implicit-deny'],
  ])('may send a request with %s for a running instance of its own', (_what, requestTags, kind) => {
    const request = {
      action: 'ec2:CreateTags',
      resource: 'arn:aws:ec2:us-east-1:123456789012:instance/i-0123',
      context: contextOf({ region: 'us-east-1', resourceTags: clusterTags, requestTags }),
    };
    expect(decide([accountPolicy(textOf('launcher'), account)], request).kind).toBe(kind);
  });

  test('makes, uses, finds and deletes the profile of a class', async () => {
    const profile = {
      name: 'lab_class',
      path: '/karpenter/us-east-1/lab/uid/',
      tags: { ...clusterTags, 'topology.kubernetes.io/region': 'us-east-1' },
      role: 'KarpenterNodeRole-lab',
    };
    await as('launcher').ensureInstanceProfile(profile);
    const { errors } = await launched({ capacityType: 'spot', instanceProfileName: 'lab_class' });
    expect(errors).toEqual([]);
    expect(await as('launcher').instanceProfiles(profile.path)).toEqual(['lab_class']);
    await as('launcher').deleteInstanceProfile('lab_class');
  });
});
