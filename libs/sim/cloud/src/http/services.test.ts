import { DescribeClusterCommand } from '@aws-sdk/client-eks';
import {
  AddRoleToInstanceProfileCommand,
  CreateInstanceProfileCommand,
  DeleteInstanceProfileCommand,
  GetInstanceProfileCommand,
  GetRoleCommand,
  ListInstanceProfilesCommand,
  RemoveRoleFromInstanceProfileCommand,
  TagInstanceProfileCommand,
} from '@aws-sdk/client-iam';
import { type Filter, GetProductsCommand, paginateGetProducts } from '@aws-sdk/client-pricing';
import { GetParameterCommand } from '@aws-sdk/client-ssm';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { servedActions } from '../index.js';
import { startWire, type Wire } from '../testing/wire.js';

let wire: Wire;

beforeAll(async () => {
  wire = await startWire({ region: 'eu-west-1', serve: { accessKeys: ['AKIDTEST'] } });
});

afterAll(() => wire.close());

test('the list of what is served is this', () => {
  expect(servedActions).toEqual([
    ...[
      'CreateFleet',
      'CreateLaunchTemplate',
      'CreateLaunchTemplateVersion',
      'CreateTags',
      'DeleteLaunchTemplate',
      'DeleteLaunchTemplateVersions',
      'DeleteTags',
      'DescribeAvailabilityZones',
      'DescribeFleets',
      'DescribeImages',
      'DescribeInstanceStatus',
      'DescribeInstanceTypeOfferings',
      'DescribeInstanceTypes',
      'DescribeInstances',
      'DescribeLaunchTemplateVersions',
      'DescribeLaunchTemplates',
      'DescribeSecurityGroups',
      'DescribeSpotPriceHistory',
      'DescribeSubnets',
      'DescribeVolumes',
      'RunInstances',
      'StopInstances',
      'TerminateInstances',
    ].map((name) => `ec2:${name}`),
    'eks:DescribeCluster',
    ...[
      'AddRoleToInstanceProfile',
      'CreateInstanceProfile',
      'DeleteInstanceProfile',
      'GetInstanceProfile',
      'GetRole',
      'ListInstanceProfiles',
      'RemoveRoleFromInstanceProfile',
      'TagInstanceProfile',
    ].map((name) => `iam:${name}`),
    'pricing:GetProducts',
    ...[
      'DeleteMessage',
      'DeleteMessageBatch',
      'GetQueueAttributes',
      'GetQueueUrl',
      'ReceiveMessage',
      'SendMessage',
    ].map((name) => `sqs:${name}`),
    'ssm:GetParameter',
    'sts:AssumeRole',
    'sts:GetCallerIdentity',
  ]);
});

describe('SSM', () => {
  const value = async (name: string): Promise<string | undefined> =>
    (await wire.ssm.send(new GetParameterCommand({ Name: name }))).Parameter?.Value;

  test.each([
    [
      '/aws/service/eks/optimized-ami/1.31/amazon-linux-2/recommended/image_id',
      'amazon-eks-node-1.31-v20261101',
      'amd64',
    ],
    [
      '/aws/service/eks/optimized-ami/1.31/amazon-linux-2-arm64/recommended/image_id',
      'amazon-eks-arm64-node-1.31-v20261101',
      'arm64',
    ],
    [
      '/aws/service/eks/optimized-ami/1.31/amazon-linux-2-gpu/amazon-eks-gpu-node-1.31-v20260801/image_id',
      'amazon-eks-gpu-node-1.31-v20260801',
      'amd64',
    ],
    [
      '/aws/service/eks/optimized-ami/1.33/amazon-linux-2023/arm64/standard/recommended/image_id',
      'amazon-eks-node-al2023-arm64-standard-1.33-v20261101',
      'arm64',
    ],
    [
      '/aws/service/eks/optimized-ami/1.33/amazon-linux-2023/x86_64/neuron/amazon-eks-node-al2023-x86_64-neuron-1.33-v20260801/image_id',
      'amazon-eks-node-al2023-x86_64-neuron-1.33-v20260801',
      'amd64',
    ],
    [
      '/aws/service/bottlerocket/aws-k8s-1.32/x86_64/latest/image_id',
      'bottlerocket-aws-k8s-1.32-x86_64-v1.61.0-',
      'amd64',
    ],
    [
      '/aws/service/bottlerocket/aws-k8s-1.32-nvidia/arm64/1.58.0/image_id',
      'bottlerocket-aws-k8s-1.32-nvidia-arm64-v1.58.0-',
      'arm64',
    ],
  ])('%s names an image that exists', async (path, name, arch) => {
    const image = wire.twin.images.get((await value(path)) ?? '');
    expect(image?.name.startsWith(name)).toBe(true);
    expect(image?.arch).toBe(arch);
  });

  test.each([
    '/aws/service/eks/optimized-ami/1.33/amazon-linux-2/recommended/image_id',
    '/aws/service/eks/optimized-ami/1.99/amazon-linux-2023/x86_64/standard/recommended/image_id',
    '/aws/service/eks/optimized-ami/1.32/amazon-linux-2023/arm64/neuron/recommended/image_id',
    '/nothing',
  ])('%s does not exist', async (path) => {
    await expect(value(path)).rejects.toMatchObject({
      name: 'ParameterNotFound',
      $metadata: { httpStatusCode: 400 },
    });
  });

  test('a release changes what recommended means, for its version alone', async () => {
    const path = (version: string): string =>
      `/aws/service/eks/optimized-ami/${version}/amazon-linux-2023/x86_64/standard/recommended/image_id`;
    const [old30, old31] = [await value(path('1.30')), await value(path('1.31'))];
    expect(
      await wire.control('POST', 'images/release', { kubernetesVersion: '1.30' }),
    ).toMatchObject({ status: 200 });
    expect(await value(path('1.30'))).not.toBe(old30);
    expect(await value(path('1.31'))).toBe(old31);
    await wire.control('POST', 'parameters', { name: '/my/image', value: 'ami-own' });
    expect(await value('/my/image')).toBe('ami-own');
  });
});

describe('EKS', () => {
  test('describes its cluster, whose version can change', async () => {
    await wire.control('POST', 'cluster', { version: '1.31' });
    expect(
      (await wire.eks.send(new DescribeClusterCommand({ name: 'lab' }))).cluster,
    ).toMatchObject({
      name: 'lab',
      version: '1.31',
      status: 'ACTIVE',
      endpoint: wire.twin.cluster().endpoint,
      certificateAuthority: { data: wire.twin.cluster().certificateAuthority },
      kubernetesNetworkConfig: { serviceIpv4Cidr: '172.20.0.0/16' },
    });
    await expect(
      wire.eks.send(new DescribeClusterCommand({ name: 'other' })),
    ).rejects.toMatchObject({
      name: 'ResourceNotFoundException',
      $metadata: { httpStatusCode: 404 },
    });
  });
});

describe('Pricing', () => {
  const filters = (values: Record<string, string>): Filter[] =>
    Object.entries(values).map(([Field, Value]) => ({ Type: 'TERM_MATCH', Field, Value }));
  const usual = {
    regionCode: 'eu-west-1',
    serviceCode: 'AmazonEC2',
    preInstalledSw: 'NA',
    operatingSystem: 'Linux',
    capacitystatus: 'Used',
    marketoption: 'OnDemand',
  };
  type Entry = {
    product: { attributes: { instanceType: string; dovetailEstimated?: string } };
    terms: {
      OnDemand: Record<
        string,
        { priceDimensions: Record<string, { pricePerUnit: { USD: string } }> }
      >;
    };
  };
  const pricesFor = async (values: Record<string, string>): Promise<Map<string, string>> => {
    const prices = new Map<string, string>();
    for await (const page of paginateGetProducts(
      { client: wire.pricing },
      { ServiceCode: 'AmazonEC2', Filters: filters(values) },
    )) {
      for (const text of page.PriceList ?? []) {
        const { product, terms } = JSON.parse(String(text)) as Entry;
        const [offer] = Object.values(terms.OnDemand);
        prices.set(
          product.attributes.instanceType,
          Object.values(offer?.priceDimensions ?? {})[0]?.pricePerUnit.USD ?? '',
        );
      }
    }
    return prices;
  };

  test('has the on-demand prices of the region, over pages', async () => {
    const prices = await pricesFor({
      ...usual,
      tenancy: 'Shared',
      productFamily: 'Compute Instance',
    });
    const priced = wire.twin.account.types.filter(
      (type) => type.onDemandPriceMicros !== undefined && !type.facts.bareMetal,
    );
    expect(prices.size).toBe(priced.length);
    expect(Number(prices.get('m5.large')) * 1_000_000).toBeCloseTo(
      wire.twin.types.get('m5.large')?.onDemandPriceMicros ?? 0,
    );
    const metal = await pricesFor({
      ...usual,
      tenancy: 'Dedicated',
      productFamily: 'Compute Instance (bare metal)',
    });
    expect(
      [...metal.keys()].every(
        (name) => name.includes('metal') || wire.twin.types.get(name)?.facts.bareMetal === true,
      ),
    ).toBe(true);
  });

  test('says which prices stand in for others, has none of other regions, and refuses what it does not serve', async () => {
    const { PriceList: [text] = [] } = await wire.pricing.send(
      new GetProductsCommand({
        ServiceCode: 'AmazonEC2',
        Filters: filters({ instanceType: 'm5.large' }),
      }),
    );
    expect((JSON.parse(String(text)) as Entry).product.attributes.dovetailEstimated).toBe('true');
    expect(
      (
        await wire.pricing.send(
          new GetProductsCommand({
            ServiceCode: 'AmazonEC2',
            Filters: filters({ regionCode: 'us-east-1' }),
          }),
        )
      ).PriceList,
    ).toEqual([]);
    await expect(
      wire.pricing.send(new GetProductsCommand({ ServiceCode: 'AmazonS3' })),
    ).rejects.toMatchObject({ name: 'InvalidParameterException' });
  });
});

describe('IAM', () => {
  const InstanceProfileName = 'lab_123';
  test('has roles and instance profiles, with one role each', async () => {
    expect(
      (await wire.iam.send(new GetRoleCommand({ RoleName: 'KarpenterNodeRole-lab' }))).Role,
    ).toMatchObject({ Arn: 'arn:aws:iam::123456789012:role/KarpenterNodeRole-lab' });
    await expect(wire.iam.send(new GetRoleCommand({ RoleName: 'nobody' }))).rejects.toMatchObject({
      name: 'NoSuchEntityException',
      $metadata: { httpStatusCode: 404 },
    });
    const made = await wire.iam.send(
      new CreateInstanceProfileCommand({
        InstanceProfileName,
        Path: '/karpenter/eu-west-1/lab/uid/',
        Tags: [{ Key: 'a', Value: 'b' }],
      }),
    );
    expect(made.InstanceProfile).toMatchObject({
      InstanceProfileName,
      Path: '/karpenter/eu-west-1/lab/uid/',
      Roles: [],
      CreateDate: expect.any(Date) as unknown,
    });
    await expect(
      wire.iam.send(new CreateInstanceProfileCommand({ InstanceProfileName })),
    ).rejects.toMatchObject({
      name: 'EntityAlreadyExistsException',
      $metadata: { httpStatusCode: 409 },
    });
    await wire.iam.send(
      new AddRoleToInstanceProfileCommand({
        InstanceProfileName,
        RoleName: 'KarpenterNodeRole-lab',
      }),
    );
    await expect(
      wire.iam.send(
        new AddRoleToInstanceProfileCommand({
          InstanceProfileName,
          RoleName: 'KarpenterNodeRole-lab',
        }),
      ),
    ).rejects.toMatchObject({ name: 'LimitExceededException' });
    await wire.iam.send(
      new TagInstanceProfileCommand({ InstanceProfileName, Tags: [{ Key: 'c', Value: 'd' }] }),
    );
    expect(
      (await wire.iam.send(new GetInstanceProfileCommand({ InstanceProfileName }))).InstanceProfile,
    ).toMatchObject({
      Roles: [{ RoleName: 'KarpenterNodeRole-lab' }],
      Tags: [
        { Key: 'a', Value: 'b' },
        { Key: 'c', Value: 'd' },
      ],
    });
    expect(
      (
        await wire.iam.send(new ListInstanceProfilesCommand({ PathPrefix: '/karpenter/' }))
      ).InstanceProfiles?.map((profile) => profile.InstanceProfileName),
    ).toEqual([InstanceProfileName]);
    const page = await wire.iam.send(new ListInstanceProfilesCommand({ MaxItems: 1 }));
    expect([page.IsTruncated, page.InstanceProfiles?.length]).toEqual([true, 1]);
    await expect(
      wire.iam.send(new DeleteInstanceProfileCommand({ InstanceProfileName })),
    ).rejects.toMatchObject({ name: 'DeleteConflictException' });
    await wire.iam.send(
      new RemoveRoleFromInstanceProfileCommand({
        InstanceProfileName,
        RoleName: 'KarpenterNodeRole-lab',
      }),
    );
    await wire.iam.send(new DeleteInstanceProfileCommand({ InstanceProfileName }));
    await expect(
      wire.iam.send(new GetInstanceProfileCommand({ InstanceProfileName })),
    ).rejects.toMatchObject({ name: 'NoSuchEntityException' });
  });
});
