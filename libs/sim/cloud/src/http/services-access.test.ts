import {
  DescribeSecurityGroupsCommand,
  DescribeSubnetsCommand,
  EC2Client,
} from '@aws-sdk/client-ec2';
import { DescribeClusterCommand } from '@aws-sdk/client-eks';
import { GetParameterCommand, SSMClient } from '@aws-sdk/client-ssm';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { startWire, type Wire } from '../testing/wire.js';

let wire: Wire;
beforeAll(async () => {
  wire = await startWire({ region: 'eu-west-1', serve: { accessKeys: ['AKIDTEST'] } });
});
afterAll(() => wire.close());

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
