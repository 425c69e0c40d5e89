import {
  CreateFleetCommand,
  CreateLaunchTemplateCommand,
  CreateLaunchTemplateVersionCommand,
  DeleteLaunchTemplateCommand,
  DeleteLaunchTemplateVersionsCommand,
  DescribeInstancesCommand,
  DescribeInstanceStatusCommand,
  DescribeLaunchTemplatesCommand,
  DescribeLaunchTemplateVersionsCommand,
  paginateDescribeInstances,
  RunInstancesCommand,
  TerminateInstancesCommand,
} from '@aws-sdk/client-ec2';
import { describe, expect, test } from 'vitest';

import { fleet, imageId, template, templateData, useEc2, wire } from '../testing/ec2-use.js';

useEc2();

describe('launch templates', () => {
  test('are made once per name, described whole, and deleted', async () => {
    const name = await template();
    await expect(
      wire.ec2.send(
        new CreateLaunchTemplateCommand({
          LaunchTemplateName: name,
          LaunchTemplateData: { ImageId: imageId },
        }),
      ),
    ).rejects.toMatchObject({ name: 'InvalidLaunchTemplateName.AlreadyExistsException' });
    const { LaunchTemplates: [found] = [] } = await wire.ec2.send(
      new DescribeLaunchTemplatesCommand({ LaunchTemplateNames: [name] }),
    );
    expect(found).toMatchObject({
      LaunchTemplateName: name,
      LatestVersionNumber: 1,
      Tags: [{ Key: 'eks:eks-cluster-name', Value: 'lab' }],
      CreateTime: expect.any(Date) as unknown,
    });
    const { LaunchTemplateVersions: [version] = [] } = await wire.ec2.send(
      new DescribeLaunchTemplateVersionsCommand({
        LaunchTemplateName: name,
        Versions: ['$Latest'],
      }),
    );
    expect(version?.LaunchTemplateData).toMatchObject(templateData());
    await wire.ec2.send(new DeleteLaunchTemplateCommand({ LaunchTemplateName: name }));
    await expect(
      wire.ec2.send(new DeleteLaunchTemplateCommand({ LaunchTemplateName: name })),
    ).rejects.toMatchObject({ name: 'InvalidLaunchTemplateName.NotFoundException' });
  });

  test('have versions', async () => {
    const name = await template();
    const { LaunchTemplateVersion: second } = await wire.ec2.send(
      new CreateLaunchTemplateVersionCommand({
        LaunchTemplateName: name,
        LaunchTemplateData: { ImageId: imageId },
      }),
    );
    expect(second).toMatchObject({ VersionNumber: 2, DefaultVersion: false });
    const {
      SuccessfullyDeletedLaunchTemplateVersions: deleted = [],
      UnsuccessfullyDeletedLaunchTemplateVersions: missing = [],
    } = await wire.ec2.send(
      new DeleteLaunchTemplateVersionsCommand({ LaunchTemplateName: name, Versions: ['2', '7'] }),
    );
    expect([
      deleted.map(({ VersionNumber }) => VersionNumber),
      missing.map(({ ResponseError }) => ResponseError?.Code),
    ]).toEqual([[2], ['launchTemplateVersionDoesNotExist']]);
  });

  test('are listed by tag', async () => {
    await template();
    const { LaunchTemplates = [] } = await wire.ec2.send(
      new DescribeLaunchTemplatesCommand({
        Filters: [{ Name: 'tag:eks:eks-cluster-name', Values: ['lab'] }],
      }),
    );
    expect(LaunchTemplates.length).toBeGreaterThan(0);
  });

  test('with parameters that the twin does not know are refused, not half made', async () => {
    await expect(template({ CpuOptions: { CoreCount: 1 } })).rejects.toMatchObject({
      name: 'UnknownParameter',
      message: expect.stringContaining('LaunchTemplateData.CpuOptions.CoreCount') as unknown,
    });
    await expect(template({ UserData: '!' })).rejects.toMatchObject({
      name: 'InvalidUserData.Malformed',
    });
  });
});

describe('RunInstances as a dry run', () => {
  test.each<[string, Record<string, unknown>, string]>([
    ['what would work', { SubnetId: 'given' }, 'DryRunOperation'],
    ['a subnet that does not exist', { SubnetId: 'subnet-0' }, 'InvalidSubnetID.NotFound'],
    ['the real run', { SubnetId: 'given', DryRun: false }, 'UnsupportedOperation'],
  ])('of %s answers', async (_what, change, code) => {
    const SubnetId =
      change['SubnetId'] === 'given'
        ? wire.twin.account.subnets[0]?.id
        : (change['SubnetId'] as string);
    const LaunchTemplateName = await template();
    const run = wire.ec2.send(
      new RunInstancesCommand({
        DryRun: true,
        MinCount: 1,
        MaxCount: 1,
        InstanceType: 'm5.large',
        LaunchTemplate: { LaunchTemplateName, Version: '$Latest' },
        ...change,
        ...(SubnetId === undefined ? {} : { SubnetId }),
      }),
    );
    await expect(run).rejects.toMatchObject({ name: code });
  });
});

describe('instances', () => {
  test('are read in pages, and by status', async () => {
    const name = await template();
    const { Instances = [] } = await wire.ec2.send(
      new CreateFleetCommand(fleet(name, { capacity: 12, types: ['c5.large'] })),
    );
    const ids = Instances.flatMap(({ InstanceIds = [] }) => InstanceIds);
    const seen: string[] = [];
    for await (const page of paginateDescribeInstances(
      { client: wire.ec2, pageSize: 5 },
      { Filters: [{ Name: 'instance-type', Values: ['c5.large'] }] },
    )) {
      seen.push(
        ...(page.Reservations ?? [])
          .flatMap((reservation) => reservation.Instances ?? [])
          .map(({ InstanceId }) => InstanceId ?? ''),
      );
    }
    expect(seen.sort()).toEqual([...ids].sort());
    wire.twin.advance(2_000);
    wire.twin.setHealth(ids[0] ?? '', { instance: 'impaired' });
    const { InstanceStatuses = [] } = await wire.ec2.send(
      new DescribeInstanceStatusCommand({
        Filters: [{ Name: 'instance-status.status', Values: ['impaired'] }],
      }),
    );
    expect(InstanceStatuses).toMatchObject([
      {
        InstanceId: ids[0],
        InstanceState: { Name: 'running' },
        InstanceStatus: {
          Status: 'impaired',
          Details: [
            { Name: 'reachability', Status: 'failed', ImpairedSince: expect.any(Date) as unknown },
          ],
        },
      },
    ]);
    wire.twin.scheduleEvent(ids[1] ?? '', 'instance-retirement');
    expect(
      (
        await wire.ec2.send(
          new DescribeInstanceStatusCommand({
            Filters: [{ Name: 'event.code', Values: ['instance-retirement'] }],
          }),
        )
      ).InstanceStatuses?.map(({ InstanceId }) => InstanceId),
    ).toEqual([ids[1]]);
  });

  test.each<[string, string[], string]>([
    ['an id that does not exist', ['i-0123456789abcdef0'], 'InvalidInstanceID.NotFound'],
    ['an id that is none', ['m5.large'], 'InvalidInstanceID.Malformed'],
  ])('%s spoils a termination, which then ends nothing', async (_what, bad, code) => {
    const { Instances = [] } = await wire.ec2.send(new CreateFleetCommand(fleet(await template())));
    const ids = Instances[0]?.InstanceIds ?? [];
    await expect(
      wire.ec2.send(new TerminateInstancesCommand({ InstanceIds: [...ids, ...bad] })),
    ).rejects.toMatchObject({ name: code });
    expect(wire.twin.instances.get(ids[0] ?? '').state).not.toBe('shutting-down');
  });

  test('can not be read with ids and a page size at once, nor with 201 filter values', async () => {
    await expect(
      wire.ec2.send(
        new DescribeInstancesCommand({ InstanceIds: ['i-0123456789abcdef0'], MaxResults: 5 }),
      ),
    ).rejects.toMatchObject({ name: 'InvalidParameterCombination' });
    await expect(
      wire.ec2.send(
        new DescribeInstancesCommand({
          Filters: [
            {
              Name: 'instance-id',
              Values: Array.from({ length: 201 }, (_, index) => `i-${index}`),
            },
          ],
        }),
      ),
    ).rejects.toMatchObject({ name: 'FilterLimitExceeded' });
  });
});
