import { compareText } from '@dovetail/core-kube-model';
import type { Ec2Filter } from '@dovetail/core-ports';

import type { Account, TwinSecurityGroup, TwinSubnet } from '../foundation/account.js';
import { AwsFault, notFound } from '../foundation/aws-fault.js';
import { admitted, tagFilterValues } from '../foundation/filters.js';

/** An address that an instance holds in a subnet. */
export type Address = { readonly ip: string; release(): void };

const subnetFilters: ReadonlySet<string> = new Set([
  'subnet-id',
  'vpc-id',
  'availability-zone',
  'availabilityZone',
  'availability-zone-id',
  'state',
  'cidr',
  'cidr-block',
  'default-for-az',
  'owner-id',
  'available-ip-address-count',
]);
const groupFilters: ReadonlySet<string> = new Set([
  'group-id',
  'group-name',
  'vpc-id',
  'description',
  'owner-id',
]);

function addressAt(cidr: string, host: number): string {
  const [base = ''] = cidr.split('/');
  const start = base.split('.').reduce((sum, part) => sum * 256 + Number(part), 0) + host;
  return [24, 16, 8, 0].map((shift) => Math.floor(start / 2 ** shift) % 256).join('.');
}

/** AWS reserves the first four hosts of every subnet: network, router, DNS and future use. */
const firstHost = 4;

type Used = { readonly hosts: Set<number>; last: number };

/**
 * Goes round the subnet's addresses, because AWS does not hand out an address again at once. A node
 * is named by its address, and the old node may still be there.
 */
function takeAddress(subnet: TwinSubnet, used: Used): Address | undefined {
  if (used.hosts.size >= subnet.addresses) return undefined;
  const after = (host: number): number =>
    host + 1 < firstHost + subnet.addresses ? host + 1 : firstHost;
  let host = after(used.last);
  while (used.hosts.has(host)) host = after(host);
  used.hosts.add(host);
  used.last = host;
  return {
    ip: addressAt(subnet.cidr, host),
    release: () => {
      used.hosts.delete(host);
    },
  };
}

function subnetValues(
  account: Account,
  subnet: TwinSubnet,
  free: number,
): (name: string) => readonly string[] | undefined {
  return (name) => {
    switch (name) {
      case 'subnet-id':
        return [subnet.id];
      case 'vpc-id':
        return [account.vpcId];
      case 'availability-zone':
      case 'availabilityZone':
        return [subnet.zone];
      case 'availability-zone-id':
        return [subnet.zoneId];
      case 'state':
        return ['available'];
      case 'cidr':
      case 'cidr-block':
        return [subnet.cidr];
      case 'default-for-az':
        return ['false'];
      case 'owner-id':
        return [account.accountId];
      case 'available-ip-address-count':
        return [String(free)];
      default:
        return tagFilterValues(subnet.tags, name);
    }
  };
}

function groupValues(
  account: Account,
  group: TwinSecurityGroup,
): (name: string) => readonly string[] | undefined {
  return (name) => {
    switch (name) {
      case 'group-id':
        return [group.id];
      case 'group-name':
        return [group.name];
      case 'vpc-id':
        return [account.vpcId];
      case 'description':
        return [group.description];
      case 'owner-id':
        return [account.accountId];
      default:
        return tagFilterValues(group.tags, name);
    }
  };
}

/** The things with these ids, or all of them by id. Throws what `missing` makes of unknown ids. */
const wanted = <T extends { readonly id: string }>(
  things: ReadonlyMap<string, T>,
  ids: readonly string[] | undefined,
  missing: (ids: readonly string[]) => AwsFault,
): readonly T[] => {
  if (ids === undefined || ids.length === 0)
    return [...things.values()].sort((left, right) => compareText(left.id, right.id));
  const absent = ids.filter((id) => !things.has(id));
  if (absent.length > 0) throw missing(absent);
  return [...new Set(ids)].flatMap((id) => things.get(id) ?? []);
};

const noSubnets = (ids: readonly string[]): AwsFault =>
  notFound('InvalidSubnetID.NotFound', 'subnet', ids);
const noGroups = (ids: readonly string[]): AwsFault =>
  new AwsFault('InvalidGroup.NotFound', `The security group '${ids.join(', ')}' does not exist`);

type Tags = Readonly<Record<string, string>>;

/** Changes the tags of the thing with this id; false when there is none. */
function retagOne<T extends { readonly tags: Tags }>(
  things: Map<string, T>,
  id: string,
  change: (tags: Tags) => Tags,
): boolean {
  const thing = things.get(id);
  if (thing !== undefined) things.set(id, { ...thing, tags: change(thing.tags) });
  return thing !== undefined;
}

/** The VPC of an account: its subnets with their free addresses, and its security groups. */
export class Network {
  readonly #account: Account;
  readonly #subnets: Map<string, TwinSubnet>;
  readonly #groups: Map<string, TwinSecurityGroup>;
  readonly #used = new Map<string, Used>();

  constructor(account: Account) {
    this.#account = account;
    this.#subnets = new Map(account.subnets.map((subnet) => [subnet.id, subnet]));
    this.#groups = new Map(account.securityGroups.map((group) => [group.id, group]));
  }

  subnet(id: string): TwinSubnet | undefined {
    return this.#subnets.get(id);
  }

  securityGroup(id: string): TwinSecurityGroup | undefined {
    return this.#groups.get(id);
  }

  freeAddresses(subnetId: string): number {
    return (this.#subnets.get(subnetId)?.addresses ?? 0) - this.#usedIn(subnetId).hosts.size;
  }

  /**
   * Takes the next free address; undefined when the subnet is full or unknown. A released address
   * comes again only after all others.
   */
  take(subnetId: string): Address | undefined {
    const subnet = this.#subnets.get(subnetId);
    return subnet && takeAddress(subnet, this.#usedIn(subnetId));
  }

  subnets(query: {
    readonly ids?: readonly string[];
    readonly filters: readonly Ec2Filter[];
  }): readonly TwinSubnet[] {
    return admitted(
      wanted(this.#subnets, query.ids, noSubnets),
      query.filters,
      (subnet) => subnetValues(this.#account, subnet, this.freeAddresses(subnet.id)),
      subnetFilters,
    );
  }

  securityGroups(query: {
    readonly ids?: readonly string[];
    readonly names?: readonly string[];
    readonly filters: readonly Ec2Filter[];
  }): readonly TwinSecurityGroup[] {
    const { names = [] } = query;
    return admitted(
      wanted(this.#groups, query.ids, noGroups),
      query.filters,
      (group) => groupValues(this.#account, group),
      groupFilters,
    ).filter((group) => names.length === 0 || names.includes(group.name));
  }

  /** Adds or replaces a subnet. Tests only. */
  putSubnet(subnet: TwinSubnet): void {
    this.#subnets.set(subnet.id, subnet);
  }

  /** Adds or replaces a security group. Tests only. */
  putSecurityGroup(group: TwinSecurityGroup): void {
    this.#groups.set(group.id, group);
  }

  /** Changes the tags of a subnet or group; false when there is none with this id. */
  retag(id: string, change: (tags: Tags) => Tags): boolean {
    return retagOne(this.#subnets, id, change) || retagOne(this.#groups, id, change);
  }

  #usedIn(subnetId: string): Used {
    const used = this.#used.get(subnetId) ?? { hosts: new Set<number>(), last: firstHost - 1 };
    this.#used.set(subnetId, used);
    return used;
  }
}
