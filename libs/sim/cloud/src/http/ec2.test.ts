import {
  type _InstanceType,
  CreateFleetCommand,
  type CreateFleetCommandInput,
  CreateLaunchTemplateCommand,
  CreateLaunchTemplateVersionCommand,
  CreateTagsCommand,
  DeleteLaunchTemplateCommand,
  DeleteLaunchTemplateVersionsCommand,
  DescribeFleetsCommand,
  DescribeImagesCommand,
  DescribeInstancesCommand,
  DescribeInstanceStatusCommand,
  DescribeInstanceTypeOfferingsCommand,
  DescribeInstanceTypesCommand,
  DescribeLaunchTemplatesCommand,
  DescribeLaunchTemplateVersionsCommand,
  DescribeSecurityGroupsCommand,
  DescribeSpotPriceHistoryCommand,
  DescribeSubnetsCommand,
  paginateDescribeInstances,
  paginateDescribeInstanceTypeOfferings,
  paginateDescribeInstanceTypes,
  paginateDescribeSpotPriceHistory,
  RunInstancesCommand,
  TerminateInstancesCommand,
} from '@aws-sdk/client-ec2';
import { GetParameterCommand } from '@aws-sdk/client-ssm';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';

import { startWire, type Wire } from '../testing/wire.js';

let wire: Wire;
let imageId: string;
beforeAll(async () => {
  wire = await startWire({ settings: { limits: 'none' } });
  imageId =
    (
      await wire.ssm.send(
        new GetParameterCommand({
          Name: '/aws/service/eks/optimized-ami/1.32/amazon-linux-2023/x86_64/standard/recommended/image_id',
        }),
      )
    ).Parameter?.Value ?? '';
});
afterAll(() => wire.close());

let named = 0;
async function template(data: Record<string, unknown> = {}): Promise<string> {
  const name = `karpenter.k8s.aws/${(named += 1)}`;
  await wire.ec2.send(
    new CreateLaunchTemplateCommand({
      LaunchTemplateName: name,
      TagSpecifications: [
        { ResourceType: 'launch-template', Tags: [{ Key: 'eks:eks-cluster-name', Value: 'lab' }] },
      ],
      LaunchTemplateData: {
        ImageId: imageId,
        UserData: Buffer.from('x & <y>').toString('base64'),
        IamInstanceProfile: { Name: 'KarpenterNodeInstanceProfile-lab' },
        Monitoring: { Enabled: true },
        NetworkInterfaces: [
          {
            DeviceIndex: 0,
            AssociatePublicIpAddress: false,
            Groups: wire.twin.account.securityGroups.map(({ id }) => id),
          },
        ],
        BlockDeviceMappings: [
          { DeviceName: '/dev/xvda', Ebs: { VolumeSize: 20, VolumeType: 'gp3', Encrypted: true } },
        ],
        MetadataOptions: { HttpTokens: 'required', HttpPutResponseHopLimit: 1 },
        ...data,
      },
    }),
  );
  return name;
}

function fleet(
  name: string,
  change: Partial<CreateFleetCommandInput> & {
    types?: readonly string[];
    capacity?: number;
    spot?: boolean;
  } = {},
): CreateFleetCommandInput {
  const { types = ['m5.large'], capacity = 1, spot = false, ...rest } = change;
  return {
    Type: 'instant',
    LaunchTemplateConfigs: [
      {
        LaunchTemplateSpecification: { LaunchTemplateName: name, Version: '$Latest' },
        Overrides: types.flatMap((type) =>
          wire.twin.account.subnets.map(({ id, zone }) => ({
            InstanceType: type as _InstanceType,
            SubnetId: id,
            AvailabilityZone: zone,
          })),
        ),
      },
    ],
    TargetCapacitySpecification: {
      TotalTargetCapacity: capacity,
      DefaultTargetCapacityType: spot ? 'spot' : 'on-demand',
    },
    ...(spot
      ? { SpotOptions: { AllocationStrategy: 'price-capacity-optimized' } }
      : { OnDemandOptions: { AllocationStrategy: 'lowest-price' } }),
    TagSpecifications: (['instance', 'fleet', 'volume'] as const).map((ResourceType) => ({
      ResourceType,
      Tags: [{ Key: 'karpenter.sh/nodepool', Value: 'default' }],
    })),
    ...rest,
  };
}

const refusal = (error: unknown): unknown => {
  const { name, message, $metadata } = error as {
    name: string;
    message: string;
    $metadata: { httpStatusCode?: number };
  };
  return { name, message, status: $metadata.httpStatusCode };
};

describe('the catalog', () => {
  test('has every type over its pages', async () => {
    const names: string[] = [];
    for await (const page of paginateDescribeInstanceTypes(
      { client: wire.ec2 },
      {
        Filters: [
          { Name: 'supported-virtualization-type', Values: ['hvm'] },
          { Name: 'processor-info.supported-architecture', Values: ['x86_64', 'arm64'] },
        ],
      },
    )) {
      names.push(...(page.InstanceTypes ?? []).map((type) => type.InstanceType ?? ''));
    }
    expect(new Set(names).size).toBe(wire.twin.account.types.length);
    // The SDK parses about 10 MB of XML here, which takes seconds on a slow machine.
  }, 60_000);

  test('describes one type in the shape of DescribeInstanceTypes', async () => {
    const { InstanceTypes: [m5] = [] } = await wire.ec2.send(
      new DescribeInstanceTypesCommand({ InstanceTypes: ['m5.large'] }),
    );
    expect(m5).toMatchObject({
      InstanceType: 'm5.large',
      VCpuInfo: { DefaultVCpus: 2 },
      MemoryInfo: { SizeInMiB: 8192 },
      ProcessorInfo: { SupportedArchitectures: ['x86_64'] },
      BareMetal: false,
      Hypervisor: 'nitro',
      NetworkInfo: {
        MaximumNetworkInterfaces: 3,
        Ipv4AddressesPerInterface: 10,
        DefaultNetworkCardIndex: 0,
      },
      SupportedUsageClasses: ['on-demand', 'spot'],
    });
  });

  test.each([
    [
      'g4dn.xlarge',
      {
        GpuInfo: {
          Gpus: [expect.objectContaining({ Name: 'T4', Manufacturer: 'NVIDIA', Count: 1 })],
        },
      },
    ],
    [
      'inf2.xlarge',
      {
        NeuronInfo: { NeuronDevices: [expect.objectContaining({ Name: 'Inferentia2', Count: 1 })] },
      },
    ],
    [
      'm6gd.large',
      { InstanceStorageSupported: true, ProcessorInfo: { SupportedArchitectures: ['arm64'] } },
    ],
  ])('describes the devices of %s', async (name, expected) => {
    const { InstanceTypes: [type] = [] } = await wire.ec2.send(
      new DescribeInstanceTypesCommand({ InstanceTypes: [name as _InstanceType] }),
    );
    expect(type).toMatchObject(expected);
  });

  test('refuses a type that does not exist', async () => {
    await expect(
      wire.ec2.send(
        new DescribeInstanceTypesCommand({ InstanceTypes: ['x9.huge' as _InstanceType] }),
      ),
    ).rejects.toMatchObject({ name: 'InvalidInstanceType', $metadata: { httpStatusCode: 400 } });
  });

  test('says which zones offer a type', async () => {
    const { InstanceTypeOfferings = [] } = await wire.ec2.send(
      new DescribeInstanceTypeOfferingsCommand({
        LocationType: 'availability-zone',
        Filters: [{ Name: 'instance-type', Values: ['m5.large'] }],
      }),
    );
    expect(InstanceTypeOfferings.map(({ Location }) => Location)).toEqual(
      wire.twin.types.get('m5.large')?.zones,
    );
    let all = 0;
    for await (const page of paginateDescribeInstanceTypeOfferings(
      { client: wire.ec2, pageSize: 1000 },
      { LocationType: 'availability-zone' },
    ))
      all += page.InstanceTypeOfferings?.length ?? 0;
    expect(all).toBe(wire.twin.account.types.reduce((sum, type) => sum + type.zones.length, 0));
  });

  test('has Spot prices below on-demand that differ by zone, and move slowly', async () => {
    const now = new Date();
    const { SpotPriceHistory = [] } = await wire.ec2.send(
      new DescribeSpotPriceHistoryCommand({
        InstanceTypes: ['m5.large'],
        ProductDescriptions: ['Linux/UNIX'],
        StartTime: now,
      }),
    );
    expect(SpotPriceHistory.map(({ AvailabilityZone }) => AvailabilityZone)).toEqual(
      ['us-west-2a', 'us-west-2b', 'us-west-2c', 'us-west-2d'].filter((zone) =>
        wire.twin.types.get('m5.large')?.zones.includes(zone),
      ),
    );
    const prices = SpotPriceHistory.map(({ SpotPrice }) => Number(SpotPrice));
    expect(new Set(prices).size).toBeGreaterThan(1);
    for (const price of prices) {
      expect(price).toBeGreaterThan(0.02);
      expect(price).toBeLessThan(0.096);
    }
    const { SpotPriceHistory: month = [] } = await wire.ec2.send(
      new DescribeSpotPriceHistoryCommand({
        InstanceTypes: ['m5.large'],
        AvailabilityZone: 'us-west-2a',
        StartTime: new Date(now.getTime() - 30 * 86_400_000),
      }),
    );
    expect(month.length).toBeGreaterThan(100);
    const values = month.map(({ SpotPrice }) => Number(SpotPrice));
    expect(Math.max(...values) / Math.min(...values)).toBeLessThan(1.1);
    let pages = 0;
    for await (const page of paginateDescribeSpotPriceHistory(
      { client: wire.ec2 },
      { StartTime: now, ProductDescriptions: ['Linux/UNIX', 'Linux/UNIX (Amazon VPC)'] },
    ))
      pages += page.SpotPriceHistory === undefined ? 0 : 1;
    expect(pages).toBeGreaterThan(3);
  });
});

describe('the network', () => {
  test.each([
    [{ Filters: [{ Name: 'tag:karpenter.sh/discovery', Values: ['lab'] }] }, 4],
    [{ Filters: [{ Name: 'tag:kubernetes.io/cluster/lab', Values: ['*'] }] }, 4],
    [{ Filters: [{ Name: 'tag:kubernetes.io/cluster/other', Values: ['*'] }] }, 0],
    [
      {
        Filters: [
          { Name: 'tag-key', Values: ['alpha.eksctl.io/cluster-name'] },
          { Name: 'availability-zone', Values: ['us-west-2a', 'us-west-2b'] },
        ],
      },
      2,
    ],
  ])('subnets are found by %j', async (query, count) => {
    const { Subnets = [] } = await wire.ec2.send(new DescribeSubnetsCommand(query));
    expect(Subnets).toHaveLength(count);
    for (const subnet of Subnets)
      expect(subnet).toMatchObject({
        AvailabilityZoneId: expect.stringMatching(/^usw2-az\d$/) as unknown,
        VpcId: wire.twin.account.vpcId,
      });
  });

  test('a filter that subnets do not have is refused by name', async () => {
    await expect(
      wire.ec2.send(new DescribeSubnetsCommand({ Filters: [{ Name: 'colour', Values: ['red'] }] })),
    ).rejects.toMatchObject({
      name: 'InvalidParameterValue',
      message: "The filter 'colour' is invalid",
    });
    await expect(
      wire.ec2.send(new DescribeSubnetsCommand({ SubnetIds: ['subnet-0'] })),
    ).rejects.toMatchObject({ name: 'InvalidSubnetID.NotFound' });
  });

  test('security groups are found by tag, name and id', async () => {
    const { SecurityGroups: [group] = [] } = await wire.ec2.send(
      new DescribeSecurityGroupsCommand({
        Filters: [{ Name: 'tag:aws:eks:cluster-name', Values: ['lab'] }],
      }),
    );
    expect(group?.GroupName).toBe('eks-cluster-sg-lab');
    const { SecurityGroups: byName = [] } = await wire.ec2.send(
      new DescribeSecurityGroupsCommand({
        Filters: [{ Name: 'group-name', Values: ['eks-cluster-sg-l?b'] }],
      }),
    );
    expect(byName).toHaveLength(1);
    await expect(
      wire.ec2.send(new DescribeSecurityGroupsCommand({ GroupIds: ['sg-0'] })),
    ).rejects.toMatchObject({ name: 'InvalidGroup.NotFound' });
  });

  test('images are found by id, owner, name and architecture', async () => {
    const { Images: [image] = [] } = await wire.ec2.send(
      new DescribeImagesCommand({ Filters: [{ Name: 'image-id', Values: [imageId] }] }),
    );
    expect(image).toMatchObject({
      ImageId: imageId,
      Architecture: 'x86_64',
      Name: expect.stringMatching(
        /^amazon-eks-node-al2023-x86_64-standard-1\.32-v\d{8}$/,
      ) as unknown,
      CreationDate: expect.stringMatching(/^\d{4}-/) as unknown,
      ImageOwnerAlias: 'amazon',
    });
    const { Images: named = [] } = await wire.ec2.send(
      new DescribeImagesCommand({
        Owners: ['amazon'],
        Filters: [{ Name: 'name', Values: ['bottlerocket-aws-k8s-1.32-arm64-*'] }],
      }),
    );
    expect(named).toHaveLength(2);
    const { Images: own = [] } = await wire.ec2.send(
      new DescribeImagesCommand({ Owners: ['self'] }),
    );
    expect(own).toEqual([]);
    await expect(
      wire.ec2.send(new DescribeImagesCommand({ ImageIds: ['ami-0'] })),
    ).rejects.toMatchObject({ name: 'InvalidAMIID.NotFound' });
  });
});

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
    expect(version?.LaunchTemplateData).toMatchObject({
      ImageId: imageId,
      UserData: Buffer.from('x & <y>').toString('base64'),
      IamInstanceProfile: { Name: 'KarpenterNodeInstanceProfile-lab' },
      Monitoring: { Enabled: true },
      NetworkInterfaces: [
        {
          DeviceIndex: 0,
          AssociatePublicIpAddress: false,
          Groups: wire.twin.account.securityGroups.map(({ id }) => id),
        },
      ],
      BlockDeviceMappings: [
        { DeviceName: '/dev/xvda', Ebs: { VolumeSize: 20, VolumeType: 'gp3', Encrypted: true } },
      ],
      MetadataOptions: { HttpTokens: 'required', HttpPutResponseHopLimit: 1 },
    });
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

describe('an action that is not served', () => {
  test('is refused as unknown, in the shape of EC2', async () => {
    const { DescribeVpcsCommand } = await import('@aws-sdk/client-ec2');
    const error: unknown = await wire.ec2
      .send(new DescribeVpcsCommand({}))
      .catch((caught: unknown) => caught);
    expect(refusal(error)).toMatchObject({ name: 'InvalidAction', status: 400 });
  });
});
