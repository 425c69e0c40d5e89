import {
  type _InstanceType,
  DescribeImagesCommand,
  DescribeInstanceTypeOfferingsCommand,
  DescribeInstanceTypesCommand,
  DescribeSecurityGroupsCommand,
  DescribeSpotPriceHistoryCommand,
  DescribeSubnetsCommand,
  paginateDescribeInstanceTypeOfferings,
  paginateDescribeInstanceTypes,
  paginateDescribeSpotPriceHistory,
} from '@aws-sdk/client-ec2';
import { describe, expect, test } from 'vitest';

import { imageId, refusal, useEc2, wire } from '../testing/ec2-use.js';

useEc2();

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
  });

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

describe('an action that is not served', () => {
  test('is refused as unknown, in the shape of EC2', async () => {
    const { DescribeVpcsCommand } = await import('@aws-sdk/client-ec2');
    const error: unknown = await wire.ec2
      .send(new DescribeVpcsCommand({}))
      .catch((caught: unknown) => caught);
    expect(refusal(error)).toMatchObject({ name: 'InvalidAction', status: 400 });
  });
});
