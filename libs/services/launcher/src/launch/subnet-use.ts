import type { Subnet } from '@dovetail/core-ec2-model';

/**
 * The addresses that launches have taken since the subnets were read. EC2's figures are up to a
 * minute old, and a burst of launches would all choose the one subnet that had most then.
 */
export class SubnetUse {
  /** Addresses taken by subnet id. A new reading is a new list, for which nothing is taken yet. */
  readonly #taken = new WeakMap<readonly Subnet[], Map<string, number>>();

  /** The subnets with the addresses that are left. */
  free(subnets: readonly Subnet[]): readonly Subnet[] {
    const taken = this.#taken.get(subnets);
    if (taken === undefined) return subnets;
    return subnets.map((subnet) => ({
      ...subnet,
      freeAddresses: Math.max(0, subnet.freeAddresses - (taken.get(subnet.id) ?? 0)),
    }));
  }

  /**
   * Takes addresses of a subnet. A fleet may use any of the subnets that its request names, so they
   * are taken in each: that only moves the next launches to others of the same zone.
   */
  take(subnets: readonly Subnet[], subnetId: string, addresses: number): void {
    const taken = this.#taken.get(subnets) ?? new Map<string, number>();
    this.#taken.set(subnets, taken.set(subnetId, (taken.get(subnetId) ?? 0) + addresses));
  }

  /** EC2 said that a subnet has no address left. */
  fill(subnets: readonly Subnet[], subnetId: string): void {
    this.take(subnets, subnetId, Number.POSITIVE_INFINITY);
  }

  /** Whether a zone still has a subnet with free addresses. */
  hasRoom(subnets: readonly Subnet[], zone: string): boolean {
    return this.free(subnets).some((subnet) => subnet.zone === zone && subnet.freeAddresses > 0);
  }
}
