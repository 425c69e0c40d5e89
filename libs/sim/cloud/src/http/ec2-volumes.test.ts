import {
  CreateFleetCommand,
  CreateLaunchTemplateCommand,
  CreateTagsCommand,
  DeleteTagsCommand,
  DescribeAvailabilityZonesCommand,
  DescribeInstancesCommand,
  DescribeVolumesCommand,
  StopInstancesCommand,
  TerminateInstancesCommand,
} from '@aws-sdk/client-ec2';
import { GetParameterCommand } from '@aws-sdk/client-ssm';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { startWire, type Wire } from '../testing/wire.js';

let wire: Wire;
beforeAll(async () => {
  wire = await startWire({ settings: { limits: 'none' } });
  const { Parameter } = await wire.ssm.send(
    new GetParameterCommand({
      Name: '/aws/service/eks/optimized-ami/1.32/amazon-linux-2023/x86_64/standard/recommended/image_id',
    }),
  );
  await wire.ec2.send(
    new CreateLaunchTemplateCommand({
      LaunchTemplateName: 'two-disks',
      LaunchTemplateData: {
        ImageId: Parameter?.Value,
        BlockDeviceMappings: [
          { DeviceName: '/dev/xvda', Ebs: { VolumeSize: 30, VolumeType: 'gp3', Encrypted: true } },
          { DeviceName: '/dev/xvdb', Ebs: { VolumeSize: 100, VolumeType: 'io2', Iops: 5_000 } },
        ],
      },
    }),
  );
});
afterAll(() => wire.close());

async function launched(capacityType: 'on-demand' | 'spot' = 'on-demand'): Promise<string> {
  const { Instances = [] } = await wire.ec2.send(
    new CreateFleetCommand({
      Type: 'instant',
      LaunchTemplateConfigs: [
        {
          LaunchTemplateSpecification: { LaunchTemplateName: 'two-disks', Version: '$Latest' },
          Overrides: [
            { InstanceType: 'm5.large', SubnetId: wire.twin.account.subnets[0]?.id ?? '' },
          ],
        },
      ],
      TargetCapacitySpecification: {
        TotalTargetCapacity: 1,
        DefaultTargetCapacityType: capacityType,
      },
      TagSpecifications: [{ ResourceType: 'volume', Tags: [{ Key: 'team', Value: 'a' }] }],
    }),
  );
  wire.twin.advance(1_000);
  return Instances[0]?.InstanceIds?.[0] ?? '';
}

const attachedTo = async (id: string) => {
  const { Volumes = [] } = await wire.ec2.send(
    new DescribeVolumesCommand({ Filters: [{ Name: 'attachment.instance-id', Values: [id] }] }),
  );
  return Volumes;
};

describe('volumes', () => {
  test('an instance has those of its launch template, with the tags of its fleet, until it is terminated', async () => {
    const id = await launched();
    const volumes = await attachedTo(id);
    expect(volumes).toMatchObject([
      { Size: 30, VolumeType: 'gp3', Iops: 3_000, Throughput: 125, Encrypted: true },
      { Size: 100, VolumeType: 'io2', Iops: 5_000, Encrypted: false },
    ]);
    expect(volumes[0]?.Tags).toEqual([{ Key: 'team', Value: 'a' }]);
    const { Reservations = [] } = await wire.ec2.send(
      new DescribeInstancesCommand({ InstanceIds: [id] }),
    );
    expect(
      Reservations[0]?.Instances?.[0]?.BlockDeviceMappings?.map(({ Ebs }) => Ebs?.VolumeId),
    ).toEqual(volumes.map(({ VolumeId }) => VolumeId));
    await wire.ec2.send(new TerminateInstancesCommand({ InstanceIds: [id] }));
    wire.twin.advance(10_000);
    expect(await attachedTo(id)).toEqual([]);
    await expect(
      wire.ec2.send(new DescribeVolumesCommand({ VolumeIds: [volumes[0]?.VolumeId ?? ''] })),
    ).rejects.toMatchObject({ name: 'InvalidVolume.NotFound' });
  });

  test('tags are put on one volume and taken away again', async () => {
    const [first] = await attachedTo(await launched());
    const Resources = [first?.VolumeId ?? ''];
    await wire.ec2.send(new CreateTagsCommand({ Resources, Tags: [{ Key: 'x', Value: '1' }] }));
    const tagged = await wire.ec2.send(
      new DescribeVolumesCommand({ Filters: [{ Name: 'tag:x', Values: ['1'] }] }),
    );
    expect(tagged.Volumes?.map(({ VolumeId }) => VolumeId)).toEqual(Resources);
    await wire.ec2.send(
      new DeleteTagsCommand({
        Resources,
        Tags: [{ Key: 'x' }, { Key: 'team', Value: 'another' }, { Key: 'never-there' }],
      }),
    );
    const { Volumes = [] } = await wire.ec2.send(
      new DescribeVolumesCommand({ VolumeIds: Resources }),
    );
    expect(Volumes[0]?.Tags).toEqual([{ Key: 'team', Value: 'a' }]);
  });

  test('DeleteTags without tags leaves only those of AWS, and none is changed if one thing is missing', async () => {
    const id = await launched();
    const keys = async () => {
      const { Reservations = [] } = await wire.ec2.send(
        new DescribeInstancesCommand({ InstanceIds: [id] }),
      );
      return Reservations[0]?.Instances?.[0]?.Tags?.map(({ Key }) => Key).filter(
        (key) => key?.startsWith('aws:') === false,
      );
    };
    await wire.ec2.send(
      new CreateTagsCommand({ Resources: [id], Tags: [{ Key: 'x', Value: '1' }] }),
    );
    await expect(
      wire.ec2.send(new DeleteTagsCommand({ Resources: [id, 'subnet-none'] })),
    ).rejects.toMatchObject({ name: 'InvalidID' });
    expect(await keys()).toEqual(['x']);
    await wire.ec2.send(new DeleteTagsCommand({ Resources: [id] }));
    expect(await keys()).toEqual([]);
  });
});

describe('StopInstances', () => {
  test('stops an instance, and says so again when it has stopped', async () => {
    const id = await launched();
    const stop = async () =>
      (await wire.ec2.send(new StopInstancesCommand({ InstanceIds: [id] }))).StoppingInstances?.map(
        ({ PreviousState, CurrentState }) => [PreviousState?.Name, CurrentState?.Name],
      );
    expect(await stop()).toEqual([['running', 'stopping']]);
    wire.twin.advance(10_000);
    expect(await stop()).toEqual([['stopped', 'stopped']]);
  });

  test.each([
    ['a Spot instance', 'spot', false, 'UnsupportedOperation'],
    ['an instance that ends', 'on-demand', true, 'IncorrectInstanceState'],
  ] as const)('refuses %s and stops none', async (_what, capacityType, ends, code) => {
    const [other, id] = [await launched(), await launched(capacityType)];
    if (ends) await wire.ec2.send(new TerminateInstancesCommand({ InstanceIds: [id] }));
    await expect(
      wire.ec2.send(new StopInstancesCommand({ InstanceIds: [other, id] })),
    ).rejects.toMatchObject({ name: code });
    expect(wire.twin.instances.get(other).state).toBe('running');
  });
});

describe('DescribeAvailabilityZones', () => {
  test('knows the names and ids of the region’s zones', async () => {
    const { AvailabilityZones = [] } = await wire.ec2.send(
      new DescribeAvailabilityZonesCommand({
        Filters: [{ Name: 'zone-name', Values: ['us-west-2a', 'us-west-2b'] }],
      }),
    );
    expect(
      AvailabilityZones.map(({ ZoneName, ZoneId, State }) => [ZoneName, ZoneId, State]),
    ).toEqual(
      wire.twin.account.subnets
        .filter(({ zone }) => /[ab]$/.test(zone))
        .map(({ zone, zoneId }) => [zone, zoneId, 'available']),
    );
  });

  test('refuses a zone that there is not', async () => {
    await expect(
      wire.ec2.send(new DescribeAvailabilityZonesCommand({ ZoneNames: ['us-west-2x'] })),
    ).rejects.toMatchObject({ name: 'InvalidParameterValue' });
  });
});
