import type { Ec2Filter } from '@dovetail/core-ports';
import { byCodeUnits } from './digest.js';
import { AwsFault, notFound } from './fault.js';
import { admitted, tagFilterValues } from './filters.js';
import type { TwinSecurityGroup, TwinSubnet, World } from './world.js';

/** An address that an instance holds in a subnet. */
export type Address = { readonly ip: string; release(): void };

export type Network = {
  subnet(id: string): TwinSubnet | undefined;
  securityGroup(id: string): TwinSecurityGroup | undefined;
  freeAddresses(subnetId: string): number;
  /** Takes the next free address; undefined when the subnet is full. One that was released comes again only after all others. */
  take(subnetId: string): Address | undefined;
  subnets(query: { readonly ids?: readonly string[]; readonly filters: readonly Ec2Filter[] }): readonly TwinSubnet[];
  securityGroups(query: { readonly ids?: readonly string[]; readonly names?: readonly string[]; readonly filters: readonly Ec2Filter[] }): readonly TwinSecurityGroup[];
  /** Tests: adds or replaces a subnet, a security group. */
  putSubnet(subnet: TwinSubnet): void;
  putSecurityGroup(group: TwinSecurityGroup): void;
  /** Adds tags to a subnet or group; false when there is none of that id. */
  tag(id: string, tags: Readonly<Record<string, string>>): boolean;
};

const subnetFilters: ReadonlySet<string> = new Set(['subnet-id', 'vpc-id', 'availability-zone', 'availabilityZone', 'availability-zone-id', 'state', 'cidr', 'cidr-block', 'default-for-az', 'owner-id', 'available-ip-address-count']);
const groupFilters: ReadonlySet<string> = new Set(['group-id', 'group-name', 'vpc-id', 'description', 'owner-id']);

function addressAt(cidr: string, host: number): string {
  const [base = ''] = cidr.split('/');
  const start = base.split('.').reduce((sum, part) => sum * 256 + Number(part), 0) + host;
  return [24, 16, 8, 0].map((shift) => Math.floor(start / 2 ** shift) % 256).join('.');
}

/** Hosts that AWS keeps at the beginning of every subnet: network, router, DNS, future use. */
const firstHost = 4;

type Used = { readonly hosts: Set<number>; last: number };

/** Round and round, as AWS does not hand out an address again at once: a node's name is its address, and the old node may still be there. */
function takeAddress(subnet: TwinSubnet, used: Used): Address | undefined {
  if (used.hosts.size >= subnet.addresses) return undefined;
  const after = (host: number): number => (host + 1 < firstHost + subnet.addresses ? host + 1 : firstHost);
  let host = after(used.last);
  while (used.hosts.has(host)) host = after(host);
  used.hosts.add(host);
  used.last = host;
  return { ip: addressAt(subnet.cidr, host), release: () => { used.hosts.delete(host); } };
}

function subnetValues(world: World, subnet: TwinSubnet, free: number): (name: string) => readonly string[] | undefined {
  return (name) => {
    switch (name) {
      case 'subnet-id': return [subnet.id];
      case 'vpc-id': return [world.vpcId];
      case 'availability-zone': case 'availabilityZone': return [subnet.zone];
      case 'availability-zone-id': return [subnet.zoneId];
      case 'state': return ['available'];
      case 'cidr': case 'cidr-block': return [subnet.cidr];
      case 'default-for-az': return ['false'];
      case 'owner-id': return [world.accountId];
      case 'available-ip-address-count': return [String(free)];
      default: return tagFilterValues(subnet.tags, name);
    }
  };
}

function groupValues(world: World, group: TwinSecurityGroup): (name: string) => readonly string[] | undefined {
  return (name) => {
    switch (name) {
      case 'group-id': return [group.id];
      case 'group-name': return [group.name];
      case 'vpc-id': return [world.vpcId];
      case 'description': return [group.description];
      case 'owner-id': return [world.accountId];
      default: return tagFilterValues(group.tags, name);
    }
  };
}

const wanted = <T extends { readonly id: string }>(things: ReadonlyMap<string, T>, ids: readonly string[] | undefined, missing: (ids: readonly string[]) => AwsFault): readonly T[] => {
  if (ids === undefined || ids.length === 0) return [...things.values()].sort((left, right) => byCodeUnits(left.id, right.id));
  const absent = ids.filter((id) => !things.has(id));
  if (absent.length > 0) throw missing(absent);
  return [...new Set(ids)].flatMap((id) => things.get(id) ?? []);
};

/** The VPC of a world: its subnets with their free addresses, and its security groups. */
export function createNetwork(world: World): Network {
  const subnets = new Map(world.subnets.map((subnet) => [subnet.id, subnet]));
  const groups = new Map(world.securityGroups.map((group) => [group.id, group]));
  const used = new Map<string, Used>();
  const usedIn = (id: string): Used => {
    const known = used.get(id) ?? { hosts: new Set<number>(), last: firstHost - 1 };
    used.set(id, known);
    return known;
  };
  const freeAddresses = (id: string): number => (subnets.get(id)?.addresses ?? 0) - usedIn(id).hosts.size;
  return {
    subnet: (id) => subnets.get(id),
    securityGroup: (id) => groups.get(id),
    freeAddresses,
    take: (id) => { const subnet = subnets.get(id); return subnet && takeAddress(subnet, usedIn(id)); },
    subnets: ({ ids, filters }) => admitted(
      wanted(subnets, ids, (absent) => notFound('InvalidSubnetID.NotFound', 'subnet', absent)), filters,
      (subnet) => subnetValues(world, subnet, freeAddresses(subnet.id)), subnetFilters),
    securityGroups: ({ ids, names, filters }) => admitted(
      wanted(groups, ids, (absent) => new AwsFault('InvalidGroup.NotFound', `The security group '${absent.join(', ')}' does not exist`)), filters,
      (group) => groupValues(world, group), groupFilters).filter((group) => names === undefined || names.length === 0 || names.includes(group.name)),
    putSubnet: (subnet) => { subnets.set(subnet.id, subnet); },
    putSecurityGroup: (group) => { groups.set(group.id, group); },
    tag(id, tags) {
      const subnet = subnets.get(id);
      if (subnet !== undefined) subnets.set(id, { ...subnet, tags: { ...subnet.tags, ...tags } });
      const group = groups.get(id);
      if (group !== undefined) groups.set(id, { ...group, tags: { ...group.tags, ...tags } });
      return subnet !== undefined || group !== undefined;
    },
  };
}
