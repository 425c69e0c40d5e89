import { DescribeImagesCommand, DescribeSecurityGroupsCommand, DescribeSubnetsCommand, type Filter, type Image as Ec2Image, type Tag } from '@aws-sdk/client-ec2';
import { DescribeClusterCommand } from '@aws-sdk/client-eks';
import { GetParameterCommand } from '@aws-sdk/client-ssm';
import type { Ec2Filter, Image } from '@dovetail/core-ec2-model';
import { CloudError, type Clock, type Cloud } from '@dovetail/core-ports';
import type { AwsCalls } from '../calls.js';
import type { AwsClients } from '../clients.js';
import { allPages, inPieces } from '../paging.js';

export const filtersOf = (filters: readonly Ec2Filter[]): Filter[] => filters.map(({ name, values }) => ({ Name: name, Values: [...values] }));
export const tagsOf = (tags: readonly Tag[] | undefined): Readonly<Record<string, string>> => Object.fromEntries((tags ?? []).flatMap(({ Key, Value }) => (Key === undefined ? [] : [[Key, Value ?? '']])));
export const tagList = (tags: Readonly<Record<string, string>>): Tag[] => Object.keys(tags).sort().map((Key) => ({ Key, Value: tags[Key] ?? '' }));

/** EC2 takes no more values in one filter. */
export const filterValuesMax = 200;

type Found = Pick<Cloud, 'subnets' | 'securityGroups' | 'images' | 'parameter' | 'clusterInfo'>;

/** What launching refers to: subnets, security groups, images, the parameters that name them, and the cluster. */
export const discoveryOf = (clients: AwsClients, calls: AwsCalls, clock: Clock): Found => ({
  async subnets(filters) {
    const subnets = await allPages(
      (NextToken) => calls.run('read', 'ec2:DescribeSubnets', () => clients.ec2.send(new DescribeSubnetsCommand({ Filters: filtersOf(filters), NextToken }))),
      (page) => ({ items: page.Subnets, next: page.NextToken }),
    );
    return subnets.flatMap(({ SubnetId: id, AvailabilityZone: zone, AvailabilityZoneId = '', AvailableIpAddressCount = 0, Tags }) =>
      (id === undefined || zone === undefined ? [] : [{ id, zone, zoneId: AvailabilityZoneId, freeAddresses: AvailableIpAddressCount, tags: tagsOf(Tags) }]));
  },
  async securityGroups(filters) {
    const groups = await allPages(
      (NextToken) => calls.run('read', 'ec2:DescribeSecurityGroups', () => clients.ec2.send(new DescribeSecurityGroupsCommand({ Filters: filtersOf(filters), NextToken }))),
      (page) => ({ items: page.SecurityGroups, next: page.NextToken }),
    );
    return groups.flatMap(({ GroupId: id, GroupName = '', Tags }) => (id === undefined ? [] : [{ id, name: GroupName, tags: tagsOf(Tags) }]));
  },
  images: (query) => images(clients, calls, { ...query, nowMs: clock.nowMs() }),
  parameter: (name) => absentAsUndefined(() => calls.run('parameter', 'ssm:GetParameter', async () => (await clients.ssm.send(new GetParameterCommand({ Name: name }))).Parameter?.Value)),
  clusterInfo: (name) => absentAsUndefined(() => calls.run('other', 'eks:DescribeCluster', async () => {
    const { cluster } = await clients.eks.send(new DescribeClusterCommand({ name }));
    const { version, endpoint, certificateAuthority, kubernetesNetworkConfig: network } = cluster ?? {};
    const serviceCidr = network?.serviceIpv4Cidr ?? network?.serviceIpv6Cidr;
    // A cluster that is still being made has no endpoint yet.
    if (version === undefined || endpoint === undefined || certificateAuthority?.data === undefined || serviceCidr === undefined) return undefined;
    return { version, endpoint, certificateAuthority: certificateAuthority.data, serviceCidr };
  })),
});

async function absentAsUndefined<T>(call: () => Promise<T>): Promise<T | undefined> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof CloudError && error.code === 'not-found') return undefined;
    throw error;
  }
}

type ImageQuery = { readonly ids?: readonly string[]; readonly owners?: readonly string[]; readonly filters: readonly Ec2Filter[]; readonly nowMs: number };

/** Ids go into a filter rather than into ImageIds: there one that is gone would fail the whole call. */
async function images({ ec2 }: AwsClients, calls: AwsCalls, query: ImageQuery): Promise<readonly Image[]> {
  const pieces: readonly (readonly string[] | undefined)[] = query.ids === undefined ? [undefined] : inPieces(query.ids, filterValuesMax);
  const found = await Promise.all(pieces.map((ids) => allPages(
    (NextToken) => calls.run('read', 'ec2:DescribeImages', () => ec2.send(new DescribeImagesCommand({
      Filters: [...filtersOf(query.filters), ...(ids === undefined ? [] : [{ Name: 'image-id', Values: [...ids] }])],
      ...(query.owners === undefined ? {} : { Owners: [...query.owners] }),
      IncludeDeprecated: true, MaxResults: 1000, NextToken,
    }))),
    (page) => ({ items: page.Images, next: page.NextToken }),
  )));
  return found.flat().flatMap((image) => imageOf(image, query.nowMs) ?? []).sort((a, b) => (a.id < b.id ? -1 : 1));
}

function imageOf(image: Ec2Image, nowMs: number): Image | undefined {
  const arch = image.Architecture === 'arm64' ? 'arm64' : image.Architecture === 'x86_64' ? 'amd64' : undefined;
  if (image.ImageId === undefined || arch === undefined) return undefined;
  const deprecatedMs = image.DeprecationTime === undefined ? Number.POSITIVE_INFINITY : Date.parse(image.DeprecationTime);
  const createdMs = Date.parse(image.CreationDate ?? '');
  return { id: image.ImageId, name: image.Name ?? image.ImageId, arch, createdMs: Number.isNaN(createdMs) ? 0 : createdMs, deprecated: deprecatedMs <= nowMs, tags: tagsOf(image.Tags) };
}
