import {
  CreateLaunchTemplateCommand,
  CreateTagsCommand,
  DeleteLaunchTemplateCommand,
  DescribeSubnetsCommand,
  DescribeVpcsCommand,
} from '@aws-sdk/client-ec2';
import { GetParameterCommand } from '@aws-sdk/client-ssm';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { startWire, type Wire } from '../testing/wire.js';
import { queryAccess } from './access.js';
import { parseParams } from './params.js';
import { servedActions } from './served.js';

let wire: Wire;
beforeAll(async () => {
  wire = await startWire();
});
afterAll(async () => wire?.close());

const allowed = (statement: object): Promise<{ status: number; value: unknown }> =>
  wire.control('POST', 'identities', {
    accessKey: 'AKIDTEST',
    role: 'tester',
    policies: [
      JSON.stringify({ Version: '2012-10-17', Statement: [{ Effect: 'Allow', ...statement }] }),
    ],
  });
const template = (tags: Readonly<Record<string, string>>) =>
  new CreateLaunchTemplateCommand({
    LaunchTemplateName: 'one',
    LaunchTemplateData: { InstanceType: 'm5.large' },
    TagSpecifications: [
      {
        ResourceType: 'launch-template',
        Tags: Object.entries(tags).map(([Key, Value]) => ({ Key, Value })),
      },
    ],
  });

describe('a caller with an identity', () => {
  test('is denied what no policy allows, in the words of the service', async () => {
    await allowed({ Action: 'sqs:*', Resource: '*' });
    await expect(wire.ec2.send(new DescribeSubnetsCommand({}))).rejects.toMatchObject({
      name: 'UnauthorizedOperation',
      message:
        'You are not authorized to perform this operation. User: arn:aws:sts::123456789012:assumed-role/tester/AKIDTEST is not authorized to perform: ec2:DescribeSubnets on resource: * because no identity-based policy allows the ec2:DescribeSubnets action',
      $metadata: { httpStatusCode: 403 },
    });
    await expect(wire.ssm.send(new GetParameterCommand({ Name: '/x' }))).rejects.toMatchObject({
      name: 'AccessDeniedException',
      message: expect.stringMatching(
        /^User: .* ssm:GetParameter on resource: arn:aws:ssm:us-west-2:123456789012:parameter\/x /,
      ),
    });
  });

  test('needs the right to tag what it makes with tags', async () => {
    await allowed({ Action: 'ec2:CreateLaunchTemplate', Resource: '*' });
    await expect(wire.ec2.send(template({ team: 'a' }))).rejects.toMatchObject({
      message: expect.stringContaining(
        'ec2:CreateTags on resource: arn:aws:ec2:us-west-2:123456789012:launch-template/*',
      ),
    });
    await allowed({
      Action: ['ec2:CreateLaunchTemplate', 'ec2:CreateTags'],
      Resource: 'arn:aws:ec2:*:*:launch-template/*',
      Condition: { StringEquals: { 'aws:RequestTag/team': 'a' } },
    });
    await expect(wire.ec2.send(template({ team: 'b' }))).rejects.toMatchObject({
      name: 'UnauthorizedOperation',
    });
    const made = await wire.ec2.send(template({ team: 'a' }));
    expect(made.LaunchTemplate?.Tags).toEqual([{ Key: 'team', Value: 'a' }]);
  });

  test('may change only what has the tag of the policy', async () => {
    const condition = (team: string): object => ({
      Action: ['ec2:CreateTags', 'ec2:DeleteLaunchTemplate'],
      Resource: '*',
      Condition: { StringEquals: { 'aws:ResourceTag/team': team } },
    });
    const { LaunchTemplateId: id = '' } =
      wire.twin.templates
        .describe({ filters: [] })
        .map((one) => ({ LaunchTemplateId: one.id }))[0] ?? {};
    await allowed(condition('b'));
    const tagging = new CreateTagsCommand({ Resources: [id], Tags: [{ Key: 'x', Value: 'y' }] });
    await expect(wire.ec2.send(tagging)).rejects.toMatchObject({ name: 'UnauthorizedOperation' });
    await expect(
      wire.ec2.send(new DeleteLaunchTemplateCommand({ LaunchTemplateName: 'one' })),
    ).rejects.toMatchObject({ name: 'UnauthorizedOperation' });
    await allowed(condition('a'));
    await wire.ec2.send(tagging);
    await wire.ec2.send(new DeleteLaunchTemplateCommand({ LaunchTemplateName: 'one' }));
  });

  test('is told that a thing does not exist rather than denied it', async () => {
    await allowed({ Action: 'sqs:*', Resource: '*' });
    await expect(
      wire.ec2.send(new DeleteLaunchTemplateCommand({ LaunchTemplateName: 'none' })),
    ).rejects.toMatchObject({ name: 'InvalidLaunchTemplateName.NotFoundException' });
    await expect(wire.ec2.send(new DescribeVpcsCommand({}))).rejects.toMatchObject({
      name: 'InvalidAction',
    });
  });
});

test('a policy that cannot be evaluated is refused with its statement', async () => {
  expect(await allowed({ NotAction: 'ec2:*', Resource: '*' })).toMatchObject({
    status: 400,
    value: { message: expect.stringContaining('policies: Statement[0] has NotAction') },
  });
});

test.each(servedActions.filter((action) => /^(ec2|iam|sts):/.test(action)))(
  'the resources of %s are known',
  (action) => {
    expect(() => queryAccess(wire.twin, action, parseParams(''))).not.toThrow();
  },
);
