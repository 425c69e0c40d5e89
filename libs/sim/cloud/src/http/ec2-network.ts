import type { TwinImage } from '../parts/eks-images.js';
import type { CloudTwin } from '../twin/cloud-twin.js';
import type { QueryOperations } from './operation.js';
import { pageOf } from './paging.js';
import { filtersOf, type Params } from './params.js';
import { items, tagItems, timeText, type Xml } from './xml.js';

type Result = { readonly [element: string]: Xml };

function describeSubnets(twin: CloudTwin, params: Params): Result {
  const { account, network } = twin;
  const found = network.subnets({ ids: params.texts('SubnetId'), filters: filtersOf(params) });
  const { page, nextToken } = pageOf(found, params, { min: 5, max: 1000 });
  return {
    subnetSet: items(
      page.map((subnet) => ({
        subnetId: subnet.id,
        subnetArn: `arn:aws:ec2:${account.region}:${account.accountId}:subnet/${subnet.id}`,
        state: 'available',
        vpcId: account.vpcId,
        ownerId: account.accountId,
        cidrBlock: subnet.cidr,
        availableIpAddressCount: network.freeAddresses(subnet.id),
        availabilityZone: subnet.zone,
        availabilityZoneId: subnet.zoneId,
        defaultForAz: false,
        mapPublicIpOnLaunch: false,
        assignIpv6AddressOnCreation: false,
        tagSet: tagItems(subnet.tags),
      })),
    ),
    nextToken,
  };
}

function describeSecurityGroups(twin: CloudTwin, params: Params): Result {
  const { account, network } = twin;
  const found = network.securityGroups({
    ids: params.texts('GroupId'),
    names: params.texts('GroupName'),
    filters: filtersOf(params),
  });
  const { page, nextToken } = pageOf(found, params, { min: 5, max: 1000 });
  return {
    securityGroupInfo: items(
      page.map((group) => ({
        ownerId: account.accountId,
        groupId: group.id,
        groupName: group.name,
        groupDescription: group.description,
        vpcId: account.vpcId,
        tagSet: tagItems(group.tags),
        ipPermissionsEgress: items([
          { ipProtocol: '-1', ipRanges: items([{ cidrIp: '0.0.0.0/0' }]) },
        ]),
      })),
    ),
    nextToken,
  };
}

function imageXml(image: TwinImage): Xml {
  return {
    imageId: image.id,
    imageLocation: `${image.ownerAlias ?? image.ownerId}/${image.name}`,
    imageState: 'available',
    imageOwnerId: image.ownerId,
    imageOwnerAlias: image.ownerAlias,
    isPublic: image.ownerAlias === 'amazon',
    architecture: image.arch === 'amd64' ? 'x86_64' : 'arm64',
    imageType: 'machine',
    name: image.name,
    description: image.description,
    creationDate: timeText(image.createdMs),
    deprecationTime: image.deprecatedMs === undefined ? undefined : timeText(image.deprecatedMs),
    rootDeviceName: image.rootDeviceName,
    rootDeviceType: 'ebs',
    virtualizationType: 'hvm',
    hypervisor: 'xen',
    enaSupport: true,
    platformDetails: 'Linux/UNIX',
    tagSet: tagItems(image.tags),
    blockDeviceMapping: items([
      {
        deviceName: image.rootDeviceName,
        ebs: {
          deleteOnTermination: true,
          volumeSize: image.family === 'Bottlerocket' ? 4 : 20,
          volumeType: 'gp3',
          encrypted: false,
        },
      },
    ]),
  };
}

function describeImages(twin: CloudTwin, params: Params): Result {
  const found = twin.images.describe({
    ids: params.texts('ImageId'),
    owners: params.texts('Owner'),
    filters: filtersOf(params),
    includeDeprecated: params.flag('IncludeDeprecated') ?? false,
  });
  const { page, nextToken } = pageOf(found, params, { min: 1, max: 1000, default: 1000 });
  return { imagesSet: items(page.map(imageXml)), nextToken };
}

/** The operations on subnets, security groups and images. */
export const ec2Network: QueryOperations = {
  DescribeSubnets: { run: describeSubnets },
  DescribeSecurityGroups: { run: describeSecurityGroups },
  DescribeImages: { run: describeImages },
};
