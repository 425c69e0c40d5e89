import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { AwsSession } from '@dovetail/adapter-aws';
import { createAwsCloud } from '@dovetail/adapter-aws/cloud';
import { awsInterruptionQueue } from '@dovetail/adapter-aws/queue';
import type { Cloud, InterruptionQueue } from '@dovetail/core-ports';
import { systemClock } from '@dovetail/runtime';
import { accountFor, createCloud, serveCloud } from '@dovetail/sim-cloud';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/**
 * Compares the policies of deploy/iam with the code. The code is the cloud methods that each
 * service's source calls, and the AWS actions that each method caused on the cloud twin. A
 * service's policy must have exactly these actions.
 */
const root = join(import.meta.dirname, '..', '..');
type Statement = {
  readonly Sid: string;
  readonly Action: string | readonly string[];
  readonly Resource: string | readonly string[];
  readonly Condition?: object;
};
const policy = (service: string): readonly Statement[] =>
  (
    JSON.parse(readFileSync(join(root, 'deploy/iam', `${service}.json`), 'utf8')) as {
      Statement: readonly Statement[];
    }
  ).Statement;
const listed = (value: string | readonly string[]): readonly string[] =>
  typeof value === 'string' ? [value] : value;
const sorted = (values: Iterable<string>): readonly string[] => [...new Set(values)].toSorted();

const sourcesOf = (service: string): string =>
  readdirSync(join(root, 'libs/services', service, 'src'), { recursive: true, encoding: 'utf8' })
    .filter(
      (path) => path.endsWith('.ts') && !path.includes('.test.') && !path.startsWith('testing'),
    )
    .map((path) => readFileSync(join(root, 'libs/services', service, 'src', path), 'utf8'))
    .join('\n');
const methodsOf = (service: string): readonly string[] =>
  sorted(
    [...sourcesOf(service).matchAll(/\bcloud\s*\.(\w+)\(/g)].map(([, method]) => method ?? ''),
  );

/**
 * Rights that AWS demands for another action: the fleet runs instances with a role, and a profile
 * is made with its tags.
 */
const implied: Readonly<Record<string, readonly string[]>> = {
  'ec2:CreateFleet': ['ec2:RunInstances', 'iam:PassRole', 'ec2:CreateTags'],
  'iam:CreateInstanceProfile': ['iam:TagInstanceProfile'],
};
/** STS answers it to every identity, whatever its policies are. */
const needsNoRight = 'sts:GetCallerIdentity';

const ownTags = { 'kubernetes.io/cluster/lab': 'owned' };
const twin = createCloud({
  clock: systemClock,
  seed: 'rights',
  account: accountFor('us-east-1', { clusterName: 'lab', zones: ['a'] }),
});
const actions = new Map<string, readonly string[]>();

async function seen(
  cloud: Cloud & { close(): void },
  queue: InterruptionQueue,
  calls: string[],
): Promise<void> {
  const during = async <T>(method: string, run: () => Promise<T>): Promise<T> => {
    calls.length = 0;
    const value = await run();
    actions.set(method, sorted([...(actions.get(method) ?? []), ...calls]));
    return value;
  };
  for (const method of [
    'instanceTypes',
    'instanceTypeZones',
    'onDemandPrices',
    'spotPrices',
    'identity',
  ] as const)
    await during<unknown>(method, () => cloud[method]());
  const subnets = await during('subnets', () => cloud.subnets([]));
  const groups = await during('securityGroups', () => cloud.securityGroups([]));
  const image = await during('parameter', () =>
    cloud.parameter(
      '/aws/service/eks/optimized-ami/1.32/amazon-linux-2023/x86_64/standard/recommended/image_id',
    ),
  );
  await during('images', () => cloud.images({ ids: [image ?? ''], filters: [] }));
  await during('clusterInfo', () => cloud.clusterInfo('lab'));
  await during('ensureLaunchTemplate', () =>
    cloud.ensureLaunchTemplate({
      name: 'dovetail/t',
      imageId: image ?? '',
      userDataBase64: '',
      securityGroupIds: groups.map(({ id }) => id),
      blockDevices: [],
      metadataOptions: {},
      detailedMonitoring: false,
      tags: ownTags,
    }),
  );
  await during('launchTemplates', () =>
    cloud.launchTemplates({ key: 'kubernetes.io/cluster/lab', value: 'owned' }),
  );
  const fleet = await during('createFleet', () =>
    cloud.createFleet({
      clientToken: 'one',
      capacityType: 'on-demand',
      count: 1,
      allocation: 'lowest-price',
      tags: ownTags,
      configs: [
        {
          launchTemplateName: 'dovetail/t',
          overrides: subnets.map(({ id, zone }) => ({
            instanceType: 'm5.large',
            subnetId: id,
            zone,
          })),
        },
      ],
    }),
  );
  twin.advance(5_000);
  const ids = fleet.instances.map(({ id }) => id);
  await during('tagInstances', () => cloud.tagInstances(ids, { Name: 'node' }));
  await during('instancesById', () => cloud.instancesById(ids));
  await during('instancesByTag', () => cloud.instancesByTag([]));
  await during('impairedInstances', () => cloud.impairedInstances());
  await during('terminate', () => cloud.terminate(ids));
  await during('deleteLaunchTemplate', () => cloud.deleteLaunchTemplate('dovetail/t'));
  const profile = { name: 'p', path: '/dovetail/', tags: ownTags };
  for (const role of ['KarpenterNodeRole-lab', 'other'])
    await during('ensureInstanceProfile', () =>
      cloud.ensureInstanceProfile({ ...profile, role }).catch(() => ''),
    );
  await during('ensureInstanceProfile', () =>
    cloud.ensureInstanceProfile({ ...profile, role: 'KarpenterNodeRole-lab' }),
  );
  await during('instanceProfileExists', () => cloud.instanceProfileExists('p'));
  await during('instanceProfiles', () => cloud.instanceProfiles('/dovetail/'));
  await during('deleteInstanceProfile', () => cloud.deleteInstanceProfile('p'));
  twin.queue.send('{}');
  await during('queue', async () => {
    for (const { receipt } of await queue.receive(new AbortController().signal))
      await queue.delete([receipt]);
  });
}

beforeAll(async () => {
  const served = await serveCloud(twin);
  const calls: string[] = [];
  const connection = {
    region: 'us-east-1',
    endpoint: served.endpoint,
    credentials: { accessKeyId: 'AKIATEST', secretAccessKey: 'secret' },
    clock: systemClock,
    observe: ({ action }: { readonly action: string }) => void calls.push(action),
  };
  const cloud = createAwsCloud(connection);
  const session = new AwsSession(connection);
  const queue = awsInterruptionQueue(session, { queueName: 'lab', waitSeconds: 0 });
  await seen(cloud, queue, calls);
  cloud.close();
  session.close();
  await served.close();
});
afterAll(() => twin.close());

const calledBy = (service: string): readonly string[] => {
  const direct = [
    ...methodsOf(service),
    ...(/\bqueue\.receive\(/.test(sourcesOf(service)) ? ['queue'] : []),
  ].flatMap((method) => actions.get(method) ?? [`nothing was seen of cloud.${method}`]);
  // IAM knows no right to a batch: it needs the right of its single action.
  const rights = direct.map((action) => action.replace(/^(sqs:.*)Batch$/, '$1'));
  return sorted(rights.flatMap((action) => [action, ...(implied[action] ?? [])])).filter(
    (action) => action !== needsNoRight,
  );
};

describe('rights in AWS', () => {
  test.each(['launcher', 'reaper'])(
    "the %s's policy allows what it calls, and nothing else",
    (service) => {
      expect(sorted(policy(service).flatMap(({ Action }) => listed(Action)))).toEqual(
        calledBy(service),
      );
    },
  );
  test('every call that the adapter can make was seen', () => {
    const adapter = readdirSync(join(root, 'libs/adapters/aws/src'), {
      recursive: true,
      encoding: 'utf8',
    })
      .filter((path) => path.endsWith('.ts') && !path.includes('test'))
      .map((path) => readFileSync(join(root, 'libs/adapters/aws/src', path), 'utf8'))
      .join('\n');
    expect(sorted([...actions.values()].flat())).toEqual(
      sorted(
        [...adapter.matchAll(/calls\s*\.run\(\s*'\w+',\s*'(\w+:\w+)'/g)].map(
          ([, action]) => action ?? '',
        ),
      ),
    );
  });
  test.each(['pod-watcher', 'solver'])('the %s calls nothing, so it has no policy', (service) =>
    expect(methodsOf(service)).toEqual([]),
  );
  test.each(
    ['launcher', 'reaper'].flatMap((service) =>
      policy(service).map((statement) => [service, statement.Sid, statement] as const),
    ),
  )(
    '%s, %s: what writes names its resources or their tags, and never all actions',
    (_service, _sid, { Action, Resource, Condition }) => {
      const writes = listed(Action).filter((action) => !/:(Describe|Get|Receive)/.test(action));
      for (const action of listed(Action)) expect(action).not.toContain('*');
      if (writes.length > 0)
        expect(Condition !== undefined || !listed(Resource).includes('*')).toBe(true);
    },
  );
  test.each(
    ['launcher', 'reaper', 'trust-irsa', 'trust-pod-identity'].flatMap((name) =>
      policy(name).map((statement) => [name, statement.Sid, statement.Condition ?? {}] as const),
    ),
  )(
    '%s, %s: a condition on all values of a key also asks that there is one',
    (_name, _sid, condition) => {
      // Of no values, all meet any condition.
      const blocks = Object.entries(condition as Readonly<Record<string, object>>);
      const keys = blocks.flatMap(([operator, block]) =>
        operator.startsWith('ForAllValues:') ? Object.keys(block) : [],
      );
      const { Null: asked = {} } = condition as { readonly Null?: object };
      expect(asked).toMatchObject(Object.fromEntries(keys.map((key) => [key, 'false'])));
    },
  );
  test('placeholders are the ones that the guide names', () => {
    const text = ['launcher', 'reaper'].map((service) => JSON.stringify(policy(service))).join('');
    const guide = readFileSync(join(root, 'docs/guides/deploy.md'), 'utf8');
    for (const name of sorted(
      [...text.matchAll(/\$\{(\w+)\}/g)].map(([, placeholder]) => placeholder ?? ''),
    ))
      expect(guide).toContain(`\`${name}\``);
  });
});
