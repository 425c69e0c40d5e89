import {
  DescribeSecurityGroupsCommand,
  DescribeSubnetsCommand,
  EC2Client,
} from '@aws-sdk/client-ec2';
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
import {
  DeleteMessageCommand,
  GetQueueAttributesCommand,
  GetQueueUrlCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
} from '@aws-sdk/client-sqs';
import { GetParameterCommand, SSMClient } from '@aws-sdk/client-ssm';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';

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
    ...['DeleteMessage', 'GetQueueAttributes', 'GetQueueUrl', 'ReceiveMessage', 'SendMessage'].map(
      (name) => `sqs:${name}`,
    ),
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
    const { serviceCode: _service, ...fields } = values;
    for await (const page of paginateGetProducts(
      { client: wire.pricing },
      { ServiceCode: 'AmazonEC2', Filters: filters(fields) },
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

describe('SQS', () => {
  const url = async (): Promise<string> =>
    (await wire.sqs.send(new GetQueueUrlCommand({ QueueName: 'lab' }))).QueueUrl ?? '';
  afterEach(() => {
    wire.twin.queue.purge();
  });

  test('names its queue, and no other', async () => {
    expect(await url()).toBe(`${wire.endpoint}/123456789012/lab`);
    await expect(
      wire.sqs.send(new GetQueueUrlCommand({ QueueName: 'other' })),
    ).rejects.toMatchObject({ name: 'QueueDoesNotExist' });
  });

  test('hides what was received, shows it again, and forgets what was deleted', async () => {
    const QueueUrl = await url();
    await wire.sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: '{"a":"ä & <b>"}' }));
    const receive = async () =>
      (
        await wire.sqs.send(
          new ReceiveMessageCommand({
            QueueUrl,
            MaxNumberOfMessages: 10,
            VisibilityTimeout: 20,
            MessageSystemAttributeNames: ['SentTimestamp', 'ApproximateReceiveCount'],
          }),
        )
      ).Messages ?? [];
    const [first] = await receive();
    expect(first).toMatchObject({
      Body: '{"a":"ä & <b>"}',
      Attributes: {
        ApproximateReceiveCount: '1',
        SentTimestamp: expect.stringMatching(/^\d{13}$/) as unknown,
      },
    });
    expect(await receive()).toEqual([]);
    const { Attributes } = await wire.sqs.send(
      new GetQueueAttributesCommand({
        QueueUrl,
        AttributeNames: ['ApproximateNumberOfMessages', 'ApproximateNumberOfMessagesNotVisible'],
      }),
    );
    expect(Attributes).toEqual({
      ApproximateNumberOfMessages: '0',
      ApproximateNumberOfMessagesNotVisible: '1',
    });
    wire.twin.advance(21_000);
    const [again] = await receive();
    expect(again?.Attributes?.['ApproximateReceiveCount']).toBe('2');
    await wire.sqs.send(
      new DeleteMessageCommand({ QueueUrl, ReceiptHandle: again?.ReceiptHandle }),
    );
    wire.twin.advance(21_000);
    expect(await receive()).toEqual([]);
  });

  test('a long poll ends when a message comes, when its time is over, and when the caller hangs up', async () => {
    const QueueUrl = await url();
    const waiting = wire.sqs.send(new ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds: 20 }));
    await receivers(1);
    await wire.control('POST', 'messages', { body: 'not json' });
    expect((await waiting).Messages?.map(({ Body }) => Body)).toEqual(['not json']);
    const empty = wire.sqs.send(new ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds: 20 }));
    await receivers(1);
    wire.twin.advance(20_000);
    expect((await empty).Messages ?? []).toEqual([]);
    const hangUp = new AbortController();
    const aborted = wire.sqs.send(new ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds: 20 }), {
      abortSignal: hangUp.signal,
    });
    await receivers(1);
    hangUp.abort();
    await expect(aborted).rejects.toMatchObject({ name: 'AbortError' });
    await receivers(0);
    await wire.sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: 'kept' }));
    expect(
      (await wire.sqs.send(new ReceiveMessageCommand({ QueueUrl }))).Messages?.map(
        ({ Body }) => Body,
      ),
    ).toEqual(['kept']);
  });

  test('drops messages after its retention', async () => {
    const QueueUrl = await url();
    await wire.sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: 'old' }));
    wire.twin.advance(300_000);
    expect((await wire.sqs.send(new ReceiveMessageCommand({ QueueUrl }))).Messages ?? []).toEqual(
      [],
    );
  });
});

/** Asks until so many receivers wait at the queue. */
async function receivers(count: number): Promise<void> {
  for (let waiting = -1; waiting !== count;)
    waiting = ((await wire.control('GET', 'queue')).value as { waiting: number }).waiting;
}

describe('credentials', () => {
  const config = (accessKeyId: string, region = 'eu-west-1') => ({
    endpoint: wire.endpoint,
    region,
    credentials: { accessKeyId, secretAccessKey: 'secret' },
    maxAttempts: 1,
  });

  test('of a key that nobody issued are refused in the words of each service', async () => {
    await expect(
      new EC2Client(config('AKIDWRONG')).send(new DescribeSubnetsCommand({})),
    ).rejects.toMatchObject({ name: 'AuthFailure', $metadata: { httpStatusCode: 401 } });
    await expect(
      new SSMClient(config('AKIDWRONG')).send(new GetParameterCommand({ Name: '/x' })),
    ).rejects.toMatchObject({ name: 'UnrecognizedClientException' });
  });

  test('for another region are refused', async () => {
    await expect(
      new EC2Client(config('AKIDTEST', 'us-east-1')).send(new DescribeSubnetsCommand({})),
    ).rejects.toMatchObject({
      name: 'AuthFailure',
      message: expect.stringContaining('eu-west-1') as unknown,
    });
  });

  test('without the right are denied, and only that', async () => {
    await wire.control('POST', 'rights', {
      accessKey: 'AKIDTEST',
      allowed: ['ssm:*', 'ec2:DescribeImages'],
    });
    await expect(wire.ec2.send(new DescribeSubnetsCommand({}))).rejects.toMatchObject({
      name: 'UnauthorizedOperation',
      $metadata: { httpStatusCode: 403 },
    });
    await expect(wire.eks.send(new DescribeClusterCommand({ name: 'lab' }))).rejects.toMatchObject({
      name: 'AccessDeniedException',
    });
    await wire.control('POST', 'rights', { accessKey: 'AKIDTEST', allowed: ['*'] });
    expect((await wire.ec2.send(new DescribeSubnetsCommand({}))).Subnets).toHaveLength(3);
  });

  test('answer who they are', async () => {
    const authorization =
      'AWS4-HMAC-SHA256 Credential=AKIDTEST/20261121/us-east-1/sts/aws4_request, SignedHeaders=host, Signature=0';
    const response = await fetch(wire.endpoint, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/x-www-form-urlencoded' },
      body: 'Action=GetCallerIdentity&Version=2011-06-15',
    });
    expect(await response.text()).toContain('<Account>123456789012</Account>');
  });
});

describe('another team in the VPC', () => {
  test("has a subnet in each zone and a security group, which no selector by the cluster's tags finds", async () => {
    const subnets = async (filters: { readonly Name: string; readonly Values: string[] }[]) =>
      (await wire.ec2.send(new DescribeSubnetsCommand({ Filters: filters }))).Subnets ?? [];
    const ours = [{ Name: 'tag-key', Values: ['kubernetes.io/cluster/lab'] }];
    const before = await subnets([]);
    const added = (await wire.control('POST', 'neighbours')).value as {
      readonly subnets: readonly { readonly id: string }[];
      readonly securityGroups: readonly { readonly id: string }[];
    };
    const after = await subnets([]);
    expect(after).toHaveLength(2 * before.length);
    expect(await subnets(ours)).toEqual(before);
    const theirs = after.filter(({ SubnetId }) => added.subnets.some(({ id }) => id === SubnetId));
    expect(theirs.map((subnet) => subnet.AvailabilityZone).toSorted()).toEqual(
      before.map((subnet) => subnet.AvailabilityZone).toSorted(),
    );
    expect(
      Math.min(...theirs.map((subnet) => subnet.AvailableIpAddressCount ?? 0)),
    ).toBeGreaterThan(Math.max(...before.map((subnet) => subnet.AvailableIpAddressCount ?? 0)));
    const groups = async (filters: { readonly Name: string; readonly Values: string[] }[]) =>
      (
        await wire.ec2.send(new DescribeSecurityGroupsCommand({ Filters: filters }))
      ).SecurityGroups?.map(({ GroupId }) => GroupId) ?? [];
    expect(await groups([])).toEqual(
      expect.arrayContaining(added.securityGroups.map(({ id }) => id)),
    );
    expect(await groups(ours)).toHaveLength(1);
  });
});
