import { labels, type NodeClass } from '@dovetail/core-api';
import type { ValueSet } from '@dovetail/core-kube-model';
import { amiFor } from './ami-selection.js';
import { allocatableOf, capacityOf, defaultCapacitySettings, type CapacitySettings } from './capacity.js';
import type { InstanceTypeFacts } from './facts.js';
import type { InstanceType, Offering } from './instance-type.js';
import { factLabels } from './labels.js';
import type { OfferingIdentity, PriceBook } from './offering.js';
import { compareCodeUnits } from './order.js';

/** What is known of a region when a class' instance types are computed. */
export type RegionKnowledge = {
  readonly region: string;
  readonly facts: readonly InstanceTypeFacts[];
  /** Zones that offer each type. */
  readonly zones: ReadonlyMap<string, readonly string[]>;
  readonly prices: PriceBook;
  /** Whether an offering is avoided now, because it recently answered without capacity. */
  readonly isUnavailable: (offering: OfferingIdentity) => boolean;
  readonly settings?: CapacitySettings;
};

/** Why a class cannot boot a type. */
export type TypeExclusion = { readonly instanceType: string; readonly reason: 'no-image' | 'not-bootable-by-family' | 'too-small-for-reservations' };

/** A class' types, sorted by name, and the types that it leaves out, with the reason of each. */
export type ClassInstanceTypes = { readonly types: readonly InstanceType[]; readonly excluded: readonly TypeExclusion[] };

/**
 * The types that a node class can boot, each with its labels, capacity, allocatable and every offering of the class'
 * subnets' zones; an offering that cannot be bought now is there, not available. Throws RangeError for kubelet settings
 * that `kubeletProblems` reports.
 */
export function instanceTypesFor(nodeClass: NodeClass, region: RegionKnowledge): ClassInstanceTypes {
  const zoneIds = zoneIdsOf(nodeClass);
  const types: InstanceType[] = [];
  const excluded: TypeExclusion[] = [];
  for (const facts of [...region.facts].sort((a, b) => compareCodeUnits(a.name, b.name))) {
    const reason = exclusionOf(facts, nodeClass);
    if (reason !== undefined) { excluded.push({ instanceType: facts.name, reason }); continue; }
    const type = instanceTypeOf(facts, nodeClass, region, zoneIds);
    if (Object.values(type.allocatable).some((amount) => amount < 0)) excluded.push({ instanceType: facts.name, reason: 'too-small-for-reservations' });
    else types.push(type);
  }
  return { types, excluded };
}

function exclusionOf(facts: InstanceTypeFacts, nodeClass: NodeClass): TypeExclusion['reason'] | undefined {
  // AL2023 is built for ARMv8.2; the first Graviton is older.
  if (nodeClass.amiFamily === 'AL2023' && facts.name.startsWith('a1.')) return 'not-bootable-by-family';
  if (amiFor(nodeClass.status.amis, facts) === undefined) return 'no-image';
  return undefined;
}

/** Zones of the class' subnets with their ids, by name. */
function zoneIdsOf(nodeClass: NodeClass): ReadonlyMap<string, string | undefined> {
  const zones = new Map<string, string | undefined>();
  for (const { zone, zoneId } of nodeClass.status.subnets) if (zones.get(zone) === undefined) zones.set(zone, zoneId);
  return zones;
}

function instanceTypeOf(facts: InstanceTypeFacts, nodeClass: NodeClass, region: RegionKnowledge, zoneIds: ReadonlyMap<string, string | undefined>): InstanceType {
  const settings = region.settings ?? defaultCapacitySettings;
  const offerings = offeringsOf(facts, region, zoneIds);
  const requirements = new Map(factLabels(facts, nodeClass.amiFamily));
  requirements.set(labels.region, oneOf([region.region]));
  requirements.set(labels.zone, oneOf(offerings.map((offering) => offering.zone)));
  requirements.set(labels.zoneId, oneOf(offerings.flatMap((offering) => offering.zoneId ?? [])));
  requirements.set(labels.capacityType, oneOf(offerings.map((offering) => offering.capacityType)));
  return { name: facts.name, requirements, offerings, capacity: capacityOf(facts, nodeClass, settings), allocatable: allocatableOf(facts, nodeClass, settings) };
}

const oneOf = (values: readonly string[]): ValueSet => ({ kind: 'in', values: new Set(values), present: true });

/** By zone, then capacity type. A zone counts when both the type and a subnet of the class are there. */
function offeringsOf(facts: InstanceTypeFacts, region: RegionKnowledge, zoneIds: ReadonlyMap<string, string | undefined>): readonly Offering[] {
  const zones = (region.zones.get(facts.name) ?? []).filter((zone) => zoneIds.has(zone)).sort(compareCodeUnits);
  return zones.flatMap((zone) => (['on-demand', 'spot'] as const)
    .filter((capacityType) => facts.supportedUsageClasses.includes(capacityType))
    .map((capacityType) => offeringOf({ instanceType: facts.name, zone, capacityType }, region, zoneIds.get(zone))));
}

function offeringOf(identity: OfferingIdentity, region: RegionKnowledge, zoneId: string | undefined): Offering {
  const { instanceType, zone, capacityType } = identity;
  const price = capacityType === 'spot' ? region.prices.spot(instanceType, zone) : region.prices.onDemand(instanceType);
  return {
    zone,
    ...(zoneId === undefined ? {} : { zoneId }),
    capacityType,
    priceMicrosPerHour: price?.micros ?? 0,
    available: price !== undefined && !region.isUnavailable(identity),
    priceEstimated: price?.estimated ?? false,
  };
}
