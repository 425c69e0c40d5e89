import {
  DescribeImagesCommand,
  DescribeSecurityGroupsCommand,
  DescribeSubnetsCommand,
  EC2Client,
  type Image as Ec2Image,
  type SecurityGroup as Ec2SecurityGroup,
  type Subnet as Ec2Subnet,
} from '@aws-sdk/client-ec2';
import { type Cluster, DescribeClusterCommand, EKSClient } from '@aws-sdk/client-eks';
import { GetParameterCommand, SSMClient } from '@aws-sdk/client-ssm';
import type { Ec2Filter, Image, SecurityGroup, Subnet } from '@dovetail/core-ec2-model';
import { compareText } from '@dovetail/core-kube-model';
import {
  CloudError,
  type EksCluster,
  type EksClusters,
  type ImageDiscovery,
  type NetworkDiscovery,
} from '@dovetail/core-ports';

import { allPages, inPieces } from '../calls/paging.js';
import type { AwsSession } from '../calls/session.js';
import { filtersOf, filterValuesMax, tagsOf } from '../calls/tags.js';

/**
 * The parts of a launch that are found in the account: subnets, security groups, images, parameters
 * and the cluster.
 */
export const awsDiscovery = (
  session: AwsSession,
): NetworkDiscovery & ImageDiscovery & EksClusters => ({
  subnets: (filters) => subnets(session, filters),
  securityGroups: (filters) => securityGroups(session, filters),
  images: (query) => images(session, query),
  parameter: (name) => absentAsUndefined(parameter(session, name)),
  clusterInfo: (name) => absentAsUndefined(clusterInfo(session, name)),
});

async function subnets(
  session: AwsSession,
  filters: readonly Ec2Filter[],
): Promise<readonly Subnet[]> {
  const found = await allPages(
    (NextToken) =>
      session.calls.run('read', 'ec2:DescribeSubnets', () =>
        session
          .client(EC2Client)
          .send(new DescribeSubnetsCommand({ Filters: filtersOf(filters), NextToken })),
      ),
    (page) => ({ items: page.Subnets, next: page.NextToken }),
  );
  return found.flatMap((subnet) => subnetOf(subnet) ?? []);
}

function subnetOf(subnet: Ec2Subnet): Subnet | undefined {
  const { SubnetId: id, AvailabilityZone: zone } = subnet;
  if (id === undefined || zone === undefined) return undefined;
  return {
    id,
    zone,
    zoneId: subnet.AvailabilityZoneId ?? '',
    freeAddresses: subnet.AvailableIpAddressCount ?? 0,
    tags: tagsOf(subnet.Tags),
  };
}

async function securityGroups(
  session: AwsSession,
  filters: readonly Ec2Filter[],
): Promise<readonly SecurityGroup[]> {
  const found = await allPages(
    (NextToken) =>
      session.calls.run('read', 'ec2:DescribeSecurityGroups', () =>
        session
          .client(EC2Client)
          .send(new DescribeSecurityGroupsCommand({ Filters: filtersOf(filters), NextToken })),
      ),
    (page) => ({ items: page.SecurityGroups, next: page.NextToken }),
  );
  return found.flatMap((group) => securityGroupOf(group) ?? []);
}

const securityGroupOf = (group: Ec2SecurityGroup): SecurityGroup | undefined =>
  group.GroupId === undefined
    ? undefined
    : { id: group.GroupId, name: group.GroupName ?? '', tags: tagsOf(group.Tags) };

const parameter = (session: AwsSession, name: string): Promise<string | undefined> =>
  session.calls.run('parameter', 'ssm:GetParameter', async () => {
    const answer = await session.client(SSMClient).send(new GetParameterCommand({ Name: name }));
    return answer.Parameter?.Value;
  });

const clusterInfo = (session: AwsSession, name: string): Promise<EksCluster | undefined> =>
  session.calls.run('other', 'eks:DescribeCluster', async () => {
    const { cluster } = await session.client(EKSClient).send(new DescribeClusterCommand({ name }));
    return cluster === undefined ? undefined : clusterInfoOf(cluster);
  });

/** Undefined while EKS still makes the cluster: it has no endpoint yet. */
function clusterInfoOf(cluster: Cluster): EksCluster | undefined {
  const { version, endpoint, kubernetesNetworkConfig: network } = cluster;
  const certificateAuthority = cluster.certificateAuthority?.data;
  const serviceCidr = network?.serviceIpv4Cidr ?? network?.serviceIpv6Cidr;
  if (version === undefined || endpoint === undefined) return undefined;
  if (certificateAuthority === undefined || serviceCidr === undefined) return undefined;
  return { version, endpoint, certificateAuthority, serviceCidr };
}

async function absentAsUndefined<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof CloudError && error.code === 'not-found') return undefined;
    throw error;
  }
}

type ImageQuery = Parameters<ImageDiscovery['images']>[0];

async function images(session: AwsSession, query: ImageQuery): Promise<readonly Image[]> {
  const pieces: readonly (readonly string[] | undefined)[] =
    query.ids === undefined ? [undefined] : inPieces(query.ids, filterValuesMax);
  const found = await Promise.all(pieces.map((ids) => describeImages(session, query, ids)));
  const nowMs = session.clock.nowMs();
  return found
    .flat()
    .flatMap((image) => imageOf(image, nowMs) ?? [])
    .sort((a, b) => compareText(a.id, b.id));
}

/** Ids go into a filter, because one missing id in ImageIds would fail the whole call. */
const describeImages = (
  session: AwsSession,
  { filters, owners }: ImageQuery,
  ids: readonly string[] | undefined,
): Promise<readonly Ec2Image[]> =>
  allPages(
    (NextToken) =>
      session.calls.run('read', 'ec2:DescribeImages', () =>
        session
          .client(EC2Client)
          .send(
            new DescribeImagesCommand({
              Filters: [
                ...filtersOf(filters),
                ...(ids === undefined ? [] : [{ Name: 'image-id', Values: [...ids] }]),
              ],
              ...(owners === undefined ? {} : { Owners: [...owners] }),
              IncludeDeprecated: true,
              MaxResults: 1000,
              NextToken,
            }),
          ),
      ),
    (page) => ({ items: page.Images, next: page.NextToken }),
  );

function imageOf(image: Ec2Image, nowMs: number): Image | undefined {
  const arch =
    image.Architecture === 'arm64'
      ? 'arm64'
      : image.Architecture === 'x86_64'
        ? 'amd64'
        : undefined;
  if (image.ImageId === undefined || arch === undefined) return undefined;
  const deprecatedMs =
    image.DeprecationTime === undefined
      ? Number.POSITIVE_INFINITY
      : Date.parse(image.DeprecationTime);
  const createdMs = Date.parse(image.CreationDate ?? '');
  return {
    id: image.ImageId,
    name: image.Name ?? image.ImageId,
    arch,
    createdMs: Number.isNaN(createdMs) ? 0 : createdMs,
    deprecated: deprecatedMs <= nowMs,
    tags: tagsOf(image.Tags),
  };
}
