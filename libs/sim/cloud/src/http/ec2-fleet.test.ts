import {
  CreateFleetCommand,
  type CreateFleetCommandInput,
  CreateTagsCommand,
  DescribeFleetsCommand,
  DescribeInstancesCommand,
  TerminateInstancesCommand,
} from '@aws-sdk/client-ec2';
import { describe, expect, test } from 'vitest';

import { fleet, imageId, template, useEc2, wire } from '../testing/ec2-use.js';
import type { Wire } from '../testing/wire.js';

useEc2();

describe('a fleet', () => {
  test('launches, tags, shows its instances, and they end in time', async () => {
    const name = await template();
    const {
      FleetId,
      Instances = [],
      Errors = [],
    } = await wire.ec2.send(
      new CreateFleetCommand(fleet(name, { capacity: 2, types: ['m5.large', 'm5a.large'] })),
    );
    expect(Errors).toEqual([]);
    expect(Instances).toHaveLength(1);
    expect(Instances[0]).toMatchObject({
      InstanceType: 'm5a.large',
      Lifecycle: 'on-demand',
      LaunchTemplateAndOverrides: {
        LaunchTemplateSpecification: { Version: '1' },
        Overrides: { InstanceType: 'm5a.large' },
      },
    });
    const ids = Instances[0]?.InstanceIds ?? [];
    expect(ids).toHaveLength(2);
    const { Reservations = [] } = await wire.ec2.send(
      new DescribeInstancesCommand({
        Filters: [
          { Name: 'tag:aws:ec2:fleet-id', Values: [FleetId ?? ''] },
          { Name: 'instance-state-name', Values: ['pending', 'running'] },
        ],
      }),
    );
    const instances = Reservations.flatMap((reservation) => reservation.Instances ?? []);
    expect(instances.map(({ InstanceId }) => InstanceId).sort()).toEqual([...ids].sort());
    expect(instances[0]).toMatchObject({
      ImageId: imageId,
      InstanceType: 'm5a.large',
      PrivateDnsName: expect.stringMatching(/us-west-2\.compute\.internal$/) as unknown,
      LaunchTime: expect.any(Date) as unknown,
      Architecture: 'x86_64',
      SecurityGroups: [{ GroupId: wire.twin.account.securityGroups[0]?.id }],
      IamInstanceProfile: {
        Arn: 'arn:aws:iam::123456789012:instance-profile/KarpenterNodeInstanceProfile-lab',
      },
      Tags: expect.arrayContaining([{ Key: 'karpenter.sh/nodepool', Value: 'default' }]) as unknown,
      Monitoring: { State: 'enabled' },
    });
    expect(
      (await wire.ec2.send(new DescribeFleetsCommand({ FleetIds: [FleetId ?? ''] }))).Fleets,
    ).toMatchObject([{ FleetId, Type: 'instant', FulfilledCapacity: 2 }]);
    await wire.ec2.send(
      new CreateTagsCommand({
        Resources: ids,
        Tags: [{ Key: 'karpenter.sh/nodeclaim', Value: 'default-abc' }],
      }),
    );
    const { TerminatingInstances = [] } = await wire.ec2.send(
      new TerminateInstancesCommand({ InstanceIds: ids }),
    );
    expect(TerminatingInstances.map(({ CurrentState }) => CurrentState)).toEqual([
      { Code: 32, Name: 'shutting-down' },
      { Code: 32, Name: 'shutting-down' },
    ]);
    wire.twin.advance(1_000);
    const after =
      (
        await wire.ec2.send(new DescribeInstancesCommand({ InstanceIds: ids }))
      ).Reservations?.flatMap((reservation) => reservation.Instances ?? []) ?? [];
    expect(
      after.map(({ State, StateReason, PrivateIpAddress }) => [
        State?.Name,
        StateReason?.Code,
        PrivateIpAddress,
      ]),
    ).toEqual(ids.map(() => ['terminated', 'Client.UserInitiatedShutdown', undefined]));
    expect(after[0]?.Tags).toContainEqual({ Key: 'karpenter.sh/nodeclaim', Value: 'default-abc' });
    wire.twin.advance(3_600_000);
    await expect(
      wire.ec2.send(new DescribeInstancesCommand({ InstanceIds: ids })),
    ).rejects.toMatchObject({
      name: 'InvalidInstanceID.NotFound',
      message: expect.stringMatching(/^The instance IDs 'i-.*, i-.*' do not exist$/) as unknown,
    });
  });

  test('is the same fleet when its token comes again, and refused when only the token does', async () => {
    const name = await template();
    const input = fleet(name, { ClientToken: 'a'.repeat(64), capacity: 2 });
    const first = await wire.ec2.send(new CreateFleetCommand(input));
    const again = await wire.ec2.send(new CreateFleetCommand(input));
    expect([again.FleetId, again.Instances]).toEqual([first.FleetId, first.Instances]);
    await expect(
      wire.ec2.send(
        new CreateFleetCommand(fleet(name, { ClientToken: 'a'.repeat(64), capacity: 3 })),
      ),
    ).rejects.toMatchObject({
      name: 'IdempotentParameterMismatch',
      $metadata: { httpStatusCode: 400 },
    });
    await expect(
      wire.ec2.send(new CreateFleetCommand(fleet(name, { ClientToken: 'a'.repeat(65) }))),
    ).rejects.toMatchObject({ name: 'InvalidParameterValue' });
  });

  test('uses several templates, by price, and says for each override why it could not', async () => {
    const [amd, other] = [
      await template(),
      await template({ SecurityGroupIds: ['sg-0'], NetworkInterfaces: [] }),
    ];
    const [config] = fleet(amd, { types: ['m5.large'] }).LaunchTemplateConfigs ?? [];
    const [second] = fleet(other, { types: ['m5a.large'] }).LaunchTemplateConfigs ?? [];
    const input = {
      ...fleet(amd),
      LaunchTemplateConfigs: [config, second].filter((one) => one !== undefined),
    };
    const { Instances = [], Errors = [] } = await wire.ec2.send(new CreateFleetCommand(input));
    expect(Instances.map(({ InstanceType }) => InstanceType)).toEqual(['m5.large']);
    expect(new Set(Errors.map(({ ErrorCode }) => ErrorCode))).toEqual(
      new Set(['InvalidGroup.NotFound']),
    );
    expect(Errors[0]?.LaunchTemplateAndOverrides?.Overrides).toMatchObject({
      InstanceType: 'm5a.large',
      SubnetId: expect.stringMatching(/^subnet-/) as unknown,
    });
  });

  test.each<
    [
      string,
      Record<string, unknown>,
      Partial<CreateFleetCommandInput> & { types?: readonly string[] },
      string,
    ]
  >([
    ['an image of another architecture', {}, { types: ['m6g.large'] }, 'InvalidParameterValue'],
    ['a type that does not exist', {}, { types: ['x9.huge'] }, 'InvalidParameterValue'],
    [
      'an instance profile that does not exist',
      { IamInstanceProfile: { Name: 'nobody' } },
      {},
      'InvalidParameterValue',
    ],
    [
      'user data over 16 KiB',
      { UserData: Buffer.alloc(16_385, 'x').toString('base64') },
      {},
      'InvalidParameterValue',
    ],
    ['an image that does not exist', { ImageId: 'ami-0' }, {}, 'InvalidAMIID.NotFound'],
  ])('with %s launches nothing and reports it', async (_what, data, change, code) => {
    const { Instances = [], Errors = [] } = await wire.ec2.send(
      new CreateFleetCommand(fleet(await template(data), change)),
    );
    expect(Instances).toEqual([]);
    expect(new Set(Errors.map(({ ErrorCode }) => ErrorCode))).toEqual(new Set([code]));
  });

  test('out of capacity everywhere has no instances and an error for each pool; with one place left it has one', async () => {
    const name = await template();
    wire.twin.setCapacity({ instanceType: 'c5.xlarge', capacityType: 'spot', free: 0 });
    const none = await wire.ec2.send(
      new CreateFleetCommand(fleet(name, { types: ['c5.xlarge'], spot: true })),
    );
    expect(none.Instances ?? []).toEqual([]);
    expect(
      (none.Errors ?? [])
        .map(({ ErrorCode, Lifecycle, LaunchTemplateAndOverrides }) => [
          ErrorCode,
          Lifecycle,
          LaunchTemplateAndOverrides?.Overrides?.AvailabilityZone,
        ])
        .sort(),
    ).toEqual(
      wire.twin.account.subnets.map(({ zone }) => ['InsufficientInstanceCapacity', 'spot', zone]),
    );
    wire.twin.setCapacity({
      instanceType: 'c5.xlarge',
      capacityType: 'spot',
      zone: 'us-west-2b',
      free: 1,
    });
    const one = await wire.ec2.send(
      new CreateFleetCommand(fleet(name, { types: ['c5.xlarge'], spot: true, capacity: 3 })),
    );
    expect(
      (one.Instances ?? []).flatMap(({ InstanceIds = [], AvailabilityZone }) =>
        InstanceIds.map(() => AvailabilityZone),
      ),
    ).toEqual(['us-west-2b']);
    expect(one.Errors).toHaveLength(4);
  });

  test.each<
    [
      string,
      string[],
      (
        | 'lowest-price'
        | 'prioritized'
        | 'price-capacity-optimized'
        | 'capacity-optimized-prioritized'
      ),
      string,
    ]
  >([
    ['on-demand', ['m5.2xlarge', 'm5.xlarge'], 'prioritized', 'm5.2xlarge'],
    ['on-demand', ['m5.2xlarge', 'm5.xlarge'], 'lowest-price', 'm5.xlarge'],
    ['spot', ['m5.2xlarge', 'm5.xlarge'], 'capacity-optimized-prioritized', 'm5.2xlarge'],
    ['spot', ['m5.2xlarge', 'm5.xlarge'], 'price-capacity-optimized', 'm5.xlarge'],
    ['spot', ['m5.2xlarge', 'm5.xlarge'], 'lowest-price', 'm5.xlarge'],
  ])('%s of %j by %s takes %s', async (kind, types, strategy, expected) => {
    const spot = kind === 'spot';
    const input = fleet(await template(), { types, spot });
    const [config] = input.LaunchTemplateConfigs ?? [];
    const Overrides = config?.Overrides?.map((override) => ({
      ...override,
      Priority: types.indexOf(override.InstanceType ?? ''),
    }));
    const { Instances = [] } = await wire.ec2.send(
      new CreateFleetCommand({
        ...input,
        LaunchTemplateConfigs: [{ ...config, ...(Overrides === undefined ? {} : { Overrides }) }],
        ...(spot
          ? { SpotOptions: { AllocationStrategy: strategy as 'lowest-price' } }
          : { OnDemandOptions: { AllocationStrategy: strategy as 'lowest-price' } }),
      }),
    );
    expect(Instances[0]?.InstanceType).toBe(expected);
  });

  test.each<[string, Partial<CreateFleetCommandInput>, string]>([
    ['a dry run', { DryRun: true }, 'DryRunOperation'],
    ['a maintained fleet', { Type: 'maintain' }, 'UnsupportedOperation'],
    [
      'a reserved tag',
      { TagSpecifications: [{ ResourceType: 'instance', Tags: [{ Key: 'aws:mine', Value: '' }] }] },
      'InvalidParameterValue',
    ],
    ['no template', { LaunchTemplateConfigs: [] }, 'MissingParameter'],
    [
      'a total price, which is not served',
      { SpotOptions: { MaxTotalPrice: '1' } },
      'UnknownParameter',
    ],
    [
      'too many overrides',
      {
        LaunchTemplateConfigs: [
          {
            LaunchTemplateSpecification: { LaunchTemplateName: 'x', Version: '1' },
            Overrides: Array.from({ length: 301 }, () => ({ InstanceType: 'm5.large' as const })),
          },
        ],
      },
      'InvalidParameterValue',
    ],
    [
      'a template that does not exist',
      {
        LaunchTemplateConfigs: [
          {
            LaunchTemplateSpecification: { LaunchTemplateName: 'nothing', Version: '$Latest' },
            Overrides: [],
          },
        ],
      },
      'InvalidLaunchTemplateName.NotFoundException',
    ],
  ])('with %s is refused whole', async (_what, change, code) => {
    const before = wire.twin.instances.all().length;
    await expect(
      wire.ec2.send(new CreateFleetCommand(fleet(await template(), change))),
    ).rejects.toMatchObject({ name: code });
    expect(wire.twin.instances.all()).toHaveLength(before);
  });

  test('full subnets are told as such', async () => {
    const subnet = {
      ...wire.twin.account.subnets[0],
      id: 'subnet-full',
      addresses: 0,
    } as Wire['twin']['account']['subnets'][number];
    wire.twin.network.putSubnet(subnet);
    const input = fleet(await template());
    const { Errors = [] } = await wire.ec2.send(
      new CreateFleetCommand({
        ...input,
        LaunchTemplateConfigs: [
          {
            ...input.LaunchTemplateConfigs?.[0],
            Overrides: [{ InstanceType: 'm5.large', SubnetId: 'subnet-full' }],
          },
        ],
      }),
    );
    expect(Errors.map(({ ErrorCode }) => ErrorCode)).toEqual(['InsufficientFreeAddressesInSubnet']);
  });
});
