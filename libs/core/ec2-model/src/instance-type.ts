import type { Requirements, Resources } from '@dovetail/core-kube-model';

/** How an instance is bought. */
export type CapacityType = 'on-demand' | 'spot' | 'reserved';

/** One way to buy an instance type: a zone, a capacity type and a price. */
export type Offering = {
  readonly zone: string;
  /** AWS zone ID (use1-az1), the same for every account. */
  readonly zoneId?: string;
  readonly capacityType: CapacityType;
  /**
   * Millionths of a US dollar per hour. Invariant: an integer, and 0 only where no price is known
   * and `available` is false.
   */
  readonly priceMicrosPerHour: number;
  /** False while out of capacity, without a subnet in its zone, or without a price. */
  readonly available: boolean;
  /** Set for `reserved`: the reservation and the number of instances that it still holds. */
  readonly reservation?: { readonly id: string; readonly remaining: number };
  /** Whether the price is derived from another region's, or from on-demand. */
  readonly priceEstimated: boolean;
};

/**
 * An instance type as one node class boots it, for the planner to choose from. `allocatable` is the
 * capacity less reservations and eviction thresholds; daemonsets are not taken off.
 * Invariant: nothing in `allocatable` is below zero.
 */
export type InstanceType = {
  readonly name: string;
  /**
   * Every label that the type implies, as value sets. Zones and capacity types are those of its
   * offerings.
   */
  readonly requirements: Requirements;
  readonly offerings: readonly Offering[];
  /**
   * The on-demand price on dedicated hosts, in millionths of a US dollar per hour. Absent where
   * none is known; then the type is not sold on them.
   */
  readonly dedicatedPrice?: { readonly micros: number; readonly estimated: boolean };
  readonly capacity: Resources;
  readonly allocatable: Resources;
};
