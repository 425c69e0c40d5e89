import {
  catalogFor,
  type CatalogZone,
  catalogZones,
  type InstanceTypeFacts,
} from '@dovetail/core-ec2-model';

import { hexOf } from './digest.js';

/**
 * An instance type that the account can launch: its facts, the zones that offer it, and its
 * on-demand price in micro-dollars an hour. A type without one has no Spot price either.
 */
export type TwinType = {
  readonly facts: InstanceTypeFacts;
  readonly zones: readonly string[];
  readonly onDemandPriceMicros?: number;
  /** True when the price comes from another region, because this region's has no source. */
  readonly priceEstimated?: boolean;
};

/** A subnet, with the number of addresses that instances can have. */
export type TwinSubnet = {
  readonly id: string;
  readonly zone: string;
  readonly zoneId: string;
  readonly cidr: string;
  readonly addresses: number;
  readonly tags: Readonly<Record<string, string>>;
};

/** A security group, without its rules: the twin has no network. */
export type TwinSecurityGroup = {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly tags: Readonly<Record<string, string>>;
};
type TwinRole = { readonly name: string; readonly path: string };
type TwinProfile = {
  readonly name: string;
  readonly path: string;
  readonly roles: readonly string[];
  readonly tags: Readonly<Record<string, string>>;
};

/** The EKS cluster as DescribeCluster shows it. `certificateAuthority` is base64. */
export type TwinCluster = {
  readonly name: string;
  readonly version: string;
  readonly endpoint: string;
  readonly certificateAuthority: string;
  readonly serviceCidr: string;
};

/** The contents of an account in one region before anything is launched. */
export type Account = {
  readonly accountId: string;
  readonly region: string;
  readonly vpcId: string;
  readonly subnets: readonly TwinSubnet[];
  readonly securityGroups: readonly TwinSecurityGroup[];
  readonly roles: readonly TwinRole[];
  readonly instanceProfiles: readonly TwinProfile[];
  readonly cluster: TwinCluster;
  readonly queueName: string;
  readonly types: readonly TwinType[];
};

/** How to make the preset account. */
export type AccountOptions = {
  /** The cluster's name, which also names the queue, role and profile and appears in the tags. */
  readonly clusterName: string;
  /** The types that can be launched. Default: the whole catalog of the region. */
  readonly types?: readonly TwinType[];
  /** Zones that have subnets, as letters (`a`) or whole names. Default: all of the region's. */
  readonly zones?: readonly string[];
  /** Kubernetes version of the control plane. Default 1.32. */
  readonly kubernetesVersion?: string;
  /** The API server's URL, for user data and DescribeCluster. */
  readonly endpoint?: string;
  /** Base64 of the cluster's CA certificates. */
  readonly certificateAuthority?: string;
  readonly accountId?: string;
  /** The value of the tag `kubernetes.io/cluster/<name>`. Default `owned`; some leave it empty. */
  readonly clusterTagValue?: string;
};

/** Every type of the committed catalog in a region. */
export const catalogTypes = (region: string): readonly TwinType[] =>
  catalogFor(region).map(({ facts, zones, onDemandPriceMicrosPerHour, estimated }) => ({
    facts,
    zones,
    priceEstimated: estimated,
    ...(onDemandPriceMicrosPerHour === undefined
      ? {}
      : { onDemandPriceMicros: onDemandPriceMicrosPerHour }),
  }));

function zonesWanted(region: string, options: AccountOptions): readonly CatalogZone[] {
  const all = catalogZones(region);
  const wanted = options.zones?.map((zone) => (zone.length === 1 ? `${region}${zone}` : zone));
  for (const zone of wanted ?? []) {
    if (!all.some(({ name }) => name === zone))
      throw new RangeError(
        `zones: ${zone} is not a zone of ${region}; it has ${all.map(({ name }) => name).join(', ')}`,
      );
  }
  return all.filter(({ name }) => wanted?.includes(name) ?? true);
}

function tagsFor(
  { clusterName, clusterTagValue = 'owned' }: AccountOptions,
  name: string,
): Record<string, string> {
  return {
    Name: name,
    [`kubernetes.io/cluster/${clusterName}`]: clusterTagValue,
    'karpenter.sh/discovery': clusterName,
    'alpha.eksctl.io/cluster-name': clusterName,
  };
}

function subnetsFor(region: string, options: AccountOptions): readonly TwinSubnet[] {
  return zonesWanted(region, options).map(({ name: zone, id: zoneId }, index) => ({
    id: `subnet-${hexOf(17, 'subnet', options.clusterName, zone)}`,
    zone,
    zoneId,
    cidr: `10.0.${index * 32}.0/19`,
    addresses: 8187,
    tags: {
      ...tagsFor(options, `${options.clusterName}-private-${zone}`),
      'kubernetes.io/role/internal-elb': '1',
    },
  }));
}

/**
 * The resources of another team in the same VPC, without the cluster's tags. Their subnets have the
 * most addresses, so code that ignores selectors would take them first.
 */
export function neighboursOf({
  cluster,
  region,
  subnets,
}: Account): Pick<Account, 'subnets' | 'securityGroups'> {
  const tags = { Name: 'neighbour', team: 'neighbour' };
  return {
    subnets: subnets.map(({ id, zone, zoneId }, index) => ({
      id: `subnet-${hexOf(17, 'neighbour', id)}`,
      zone,
      zoneId,
      cidr: `100.${64 + index}.0.0/16`,
      addresses: 65_531,
      tags,
    })),
    securityGroups: [
      {
        id: `sg-${hexOf(17, 'neighbour', cluster.name, region)}`,
        name: 'neighbour',
        description: 'of another team',
        tags,
      },
    ],
  };
}

/** EKS creates this group for the control plane and its nodes. */
function clusterGroupFor(region: string, options: AccountOptions): TwinSecurityGroup {
  const { clusterName } = options;
  const name = `eks-cluster-sg-${clusterName}`;
  return {
    id: `sg-${hexOf(17, 'sg', clusterName, region)}`,
    name,
    description:
      'EKS created security group applied to ENI that is attached to EKS Control Plane master nodes, as well as any managed workloads.',
    tags: { ...tagsFor(options, name), 'aws:eks:cluster-name': clusterName },
  };
}

function clusterFor(region: string, options: AccountOptions): TwinCluster {
  const { clusterName } = options;
  const host = hexOf(32, 'eks', clusterName, region).toUpperCase();
  const authority = Buffer.from(`certificate authority of ${clusterName}`).toString('base64');
  return {
    name: clusterName,
    version: options.kubernetesVersion ?? '1.32',
    endpoint: options.endpoint ?? `https://${host}.gr7.${region}.eks.amazonaws.com`,
    certificateAuthority: options.certificateAuthority ?? authority,
    serviceCidr: '172.20.0.0/16',
  };
}

/**
 * The preset account of the lab and the scenarios. It has one VPC with a subnet in each zone, and
 * the cluster's security group, node role and instance profile. It also has the EKS cluster and its
 * interruption queue. All carry the tags that Karpenter users select by (`karpenter.sh/discovery`,
 * `kubernetes.io/cluster/<name>`, eksctl's).
 */
export function accountFor(region: string, options: AccountOptions): Account {
  const { clusterName } = options;
  const nodeRole = `KarpenterNodeRole-${clusterName}`;
  return {
    accountId: options.accountId ?? '123456789012',
    region,
    vpcId: `vpc-${hexOf(17, 'vpc', clusterName, region)}`,
    subnets: subnetsFor(region, options),
    securityGroups: [clusterGroupFor(region, options)],
    roles: [
      { name: nodeRole, path: '/' },
      { name: `${clusterName}-cluster-role`, path: '/' },
    ],
    instanceProfiles: [
      {
        name: `KarpenterNodeInstanceProfile-${clusterName}`,
        path: '/',
        roles: [nodeRole],
        tags: {},
      },
    ],
    cluster: clusterFor(region, options),
    queueName: clusterName,
    types: options.types ?? catalogTypes(region),
  };
}
