import type { Requirements, Resources } from '@dovetail/core-kube-model';

export type CapacityType = 'on-demand' | 'spot' | 'reserved';

/** One way to buy an instance type: a zone and a capacity type, with its price. */
export type Offering = {
  readonly zone: string;
  /** AWS zone ID (use1-az1), the same for every account. */
  readonly zoneId?: string;
  readonly capacityType: CapacityType;
  /** US dollars per hour, in millionths; an integer. 0 when nobody has published one: such an offering is not available. */
  readonly priceMicrosPerHour: number;
  /** False while out of capacity, without a subnet in its zone, or without a price. */
  readonly available: boolean;
  /** Set for `reserved`: the reservation and how many instances it still has room for. */
  readonly reservation?: { readonly id: string; readonly remaining: number };
  /** True when the price is not published for the region, but derived from another region's. */
  readonly priceEstimated: boolean;
};

/**
 * An instance type as one node class boots it: what the planner chooses from.
 * `allocatable` is capacity less kube and system reservations and the eviction threshold; daemonsets are not in it.
 */
export type InstanceType = {
  readonly name: string;
  /** Every label the type implies, as value sets (zone and capacity type as the sets of its offerings). */
  readonly requirements: Requirements;
  readonly offerings: readonly Offering[];
  readonly capacity: Resources;
  readonly allocatable: Resources;
};
