import { catalogFor, catalogZones, type CatalogZone, type InstanceTypeFacts } from '@dovetail/core-ec2-model';
import { hexOf } from './digest.js';

/** An instance type that the world sells: its facts, the zones that offer it, and its on-demand price (micro-dollars an hour; without one it has no Spot price either). */
export type TwinType = {
  readonly facts: InstanceTypeFacts;
  readonly zones: readonly string[];
  readonly onDemandPriceMicros?: number;
  /** True when the price is taken from another region because this one's has no source. */
  readonly priceEstimated?: boolean;
};

export type TwinSubnet = { readonly id: string; readonly zone: string; readonly zoneId: string; readonly cidr: string; readonly addresses: number; readonly tags: Readonly<Record<string, string>> };
export type TwinSecurityGroup = { readonly id: string; readonly name: string; readonly description: string; readonly tags: Readonly<Record<string, string>> };
export type TwinRole = { readonly name: string; readonly path: string };
export type TwinProfile = { readonly name: string; readonly path: string; readonly roles: readonly string[]; readonly tags: Readonly<Record<string, string>> };
export type TwinCluster = { readonly name: string; readonly version: string; readonly endpoint: string; readonly certificateAuthority: string; readonly serviceCidr: string };

/** What an account and its region hold before anything is launched. */
export type World = {
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

export type WorldOptions = {
  /** Names the cluster, the queue, the role and the profile, and stands in the tags. */
  readonly clusterName: string;
  /** What can be launched; the whole catalog of the region when left out. */
  readonly types?: readonly TwinType[];
  /** Zones that have subnets; all of the region's when left out. Letters (`a`) or whole names. */
  readonly zones?: readonly string[];
  /** Kubernetes version of the control plane, such as 1.32. */
  readonly kubernetesVersion?: string;
  /** Where the API server is, for user data and DescribeCluster. */
  readonly endpoint?: string;
  /** Base64 of the cluster's CA certificates. */
  readonly certificateAuthority?: string;
  readonly accountId?: string;
};

/** Every type that the committed catalog has for a region. */
export const catalogTypes = (region: string): readonly TwinType[] => catalogFor(region).map(({ facts, zones, onDemandPriceMicrosPerHour, estimated }) => ({
  facts, zones, priceEstimated: estimated, ...(onDemandPriceMicrosPerHour === undefined ? {} : { onDemandPriceMicros: onDemandPriceMicrosPerHour }),
}));

function zonesWanted(region: string, options: WorldOptions): readonly CatalogZone[] {
  const all = catalogZones(region);
  const wanted = options.zones?.map((zone) => (zone.length === 1 ? `${region}${zone}` : zone));
  for (const zone of wanted ?? []) {
    if (!all.some(({ name }) => name === zone)) throw new RangeError(`zones: ${zone} is not a zone of ${region}; it has ${all.map(({ name }) => name).join(', ')}`);
  }
  return all.filter(({ name }) => wanted?.includes(name) ?? true);
}

function tagsFor(clusterName: string, name: string): Record<string, string> {
  return {
    Name: name,
    [`kubernetes.io/cluster/${clusterName}`]: 'owned',
    'karpenter.sh/discovery': clusterName,
    'alpha.eksctl.io/cluster-name': clusterName,
  };
}

function subnetsFor(region: string, options: WorldOptions): readonly TwinSubnet[] {
  return zonesWanted(region, options).map(({ name: zone, id: zoneId }, index) => ({
    id: `subnet-${hexOf(17, 'subnet', options.clusterName, zone)}`,
    zone, zoneId, cidr: `10.0.${index * 32}.0/19`, addresses: 8187,
    tags: { ...tagsFor(options.clusterName, `${options.clusterName}-private-${zone}`), 'kubernetes.io/role/internal-elb': '1' },
  }));
}

/** What another team has in the same VPC, none of it tagged for the cluster. Who ignores selectors would take these subnets first: they have the most addresses. */
export function neighboursOf({ cluster, region, subnets }: World): Pick<World, 'subnets' | 'securityGroups'> {
  const tags = { Name: 'neighbour', team: 'neighbour' };
  return {
    subnets: subnets.map(({ id, zone, zoneId }, index) => ({ id: `subnet-${hexOf(17, 'neighbour', id)}`, zone, zoneId, cidr: `100.${64 + index}.0.0/16`, addresses: 65_531, tags })),
    securityGroups: [{ id: `sg-${hexOf(17, 'neighbour', cluster.name, region)}`, name: 'neighbour', description: 'of another team', tags }],
  };
}

/**
 * The preset world that the lab and the scenarios run in: one VPC with a subnet in each zone, the cluster's security group, node
 * role and instance profile, the EKS cluster and its interruption queue, with the tags that Karpenter users select by
 * (`karpenter.sh/discovery`, `kubernetes.io/cluster/<name>`, eksctl's).
 */
export function worldFor(region: string, options: WorldOptions): World {
  const { clusterName } = options;
  const group = `eks-cluster-sg-${clusterName}`;
  return {
    accountId: options.accountId ?? '123456789012', region,
    vpcId: `vpc-${hexOf(17, 'vpc', clusterName, region)}`,
    subnets: subnetsFor(region, options),
    securityGroups: [{
      id: `sg-${hexOf(17, 'sg', clusterName, region)}`, name: group,
      description: 'EKS created security group applied to ENI that is attached to EKS Control Plane master nodes, as well as any managed workloads.',
      tags: { ...tagsFor(clusterName, group), 'aws:eks:cluster-name': clusterName },
    }],
    roles: [{ name: `KarpenterNodeRole-${clusterName}`, path: '/' }, { name: `${clusterName}-cluster-role`, path: '/' }],
    instanceProfiles: [{ name: `KarpenterNodeInstanceProfile-${clusterName}`, path: '/', roles: [`KarpenterNodeRole-${clusterName}`], tags: {} }],
    cluster: {
      name: clusterName, version: options.kubernetesVersion ?? '1.32',
      endpoint: options.endpoint ?? `https://${hexOf(32, 'eks', clusterName, region).toUpperCase()}.gr7.${region}.eks.amazonaws.com`,
      certificateAuthority: options.certificateAuthority ?? Buffer.from(`certificate authority of ${clusterName}`).toString('base64'),
      serviceCidr: '172.20.0.0/16',
    },
    queueName: clusterName,
    types: options.types ?? catalogTypes(region),
  };
}
