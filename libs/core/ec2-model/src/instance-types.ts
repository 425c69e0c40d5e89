import { labels, type NodeClass } from '@dovetail/core-api';
import type { ValueSet } from '@dovetail/core-kube-model';
import { compareText } from '@dovetail/core-kube-model';

import { amiFor } from './ami-selection.js';
import {
  allocatableOf,
  capacityOf,
  type CapacitySettings,
  defaultCapacitySettings,
} from './capacity.js';
import type { InstanceTypeFacts } from './facts.js';
import type { InstanceType, Offering } from './instance-type.js';
import { factLabels } from './labels.js';
import type { OfferingIdentity, PriceBook } from './offering.js';

/** The facts and prices of a region from which a class' instance types are computed. */
export type RegionKnowledge = {
  readonly region: string;
  readonly facts: readonly InstanceTypeFacts[];
  /** The zones that offer each type. */
  readonly zones: ReadonlyMap<string, readonly string[]>;
  readonly prices: PriceBook;
  /** Whether an offering is avoided now, because it recently had no capacity. */
  readonly isUnavailable: (offering: OfferingIdentity) => boolean;
  readonly settings?: CapacitySettings;
};

/** A type that a class cannot boot, and why. */
type TypeExclusion = {
  readonly instanceType: string;
  readonly reason: 'no-image' | 'not-bootable-by-family' | 'too-small-for-reservations';
};

/**
 * The types of a class, sorted by name, and those that it leaves out. Invariant: every type is in
 * exactly one list.
 */
export type ClassInstanceTypes = {
  readonly types: readonly InstanceType[];
  readonly excluded: readonly TypeExclusion[];
};

/**
 * The types that a node class can boot, each with labels, capacity, allocatable and its offerings
 * in the zones of the class' subnets. An offering that cannot be bought now is listed as not
 * available. Throws RangeError for kubelet settings that `kubeletProblems` reports.
 */
export function instanceTypesFor(
  nodeClass: NodeClass,
  region: RegionKnowledge,
): ClassInstanceTypes {
  const steps = instanceTypesInSteps(nodeClass, region);
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  return step.value;
}

/**
 * As `instanceTypesFor`, for callers that pause: it yields after each type. A region has a thousand
 * types, which take a service 0.2 s together.
 */
export function* instanceTypesInSteps(
  nodeClass: NodeClass,
  region: RegionKnowledge,
): Generator<undefined, ClassInstanceTypes> {
  const zoneIds = zoneIdsOf(nodeClass);
  const types: InstanceType[] = [];
  const excluded: TypeExclusion[] = [];
  for (const facts of [...region.facts].sort((a, b) => compareText(a.name, b.name))) {
    const reason = exclusionOf(facts, nodeClass);
    if (reason !== undefined) {
      excluded.push({ instanceType: facts.name, reason });
      continue;
    }
    const type = instanceTypeOf(facts, nodeClass, region, zoneIds);
    if (Object.values(type.allocatable).some((amount) => amount < 0))
      excluded.push({ instanceType: facts.name, reason: 'too-small-for-reservations' });
    else types.push(type);
    yield;
  }
  return { types, excluded };
}

function exclusionOf(
  facts: InstanceTypeFacts,
  nodeClass: NodeClass,
): TypeExclusion['reason'] | undefined {
  // AL2023 needs ARMv8.2, and the first Graviton is older (Karpenter's rule).
  if (nodeClass.amiFamily === 'AL2023' && facts.name.startsWith('a1.'))
    return 'not-bootable-by-family';
  if (amiFor(nodeClass.status.amis, facts) === undefined) return 'no-image';
  return undefined;
}

/** The zones of the class' subnets, by name, with their ids. */
function zoneIdsOf(nodeClass: NodeClass): ReadonlyMap<string, string | undefined> {
  const zones = new Map<string, string | undefined>();
  for (const { zone, zoneId } of nodeClass.status.subnets)
    if (zones.get(zone) === undefined) zones.set(zone, zoneId);
  return zones;
}

function instanceTypeOf(
  facts: InstanceTypeFacts,
  nodeClass: NodeClass,
  region: RegionKnowledge,
  zoneIds: ReadonlyMap<string, string | undefined>,
): InstanceType {
  const settings = region.settings ?? defaultCapacitySettings;
  const offerings = offeringsOf(facts, region, zoneIds);
  const requirements = new Map(factLabels(facts, nodeClass.amiFamily));
  requirements.set(labels.region, oneOf([region.region]));
  requirements.set(labels.zone, oneOf(offerings.map((offering) => offering.zone)));
  requirements.set(labels.zoneId, oneOf(offerings.flatMap((offering) => offering.zoneId ?? [])));
  requirements.set(labels.capacityType, oneOf(offerings.map((offering) => offering.capacityType)));
  const dedicatedPrice = region.prices.dedicated(facts.name);
  return {
    name: facts.name,
    requirements,
    offerings,
    ...(dedicatedPrice === undefined ? {} : { dedicatedPrice }),
    capacity: capacityOf(facts, nodeClass, settings),
    allocatable: allocatableOf(facts, nodeClass, settings),
  };
}

const oneOf = (values: readonly string[]): ValueSet => ({
  kind: 'in',
  values: new Set(values),
  present: true,
});

/**
 * The offerings by zone, then capacity type, in zones that both the type and a subnet of the class
 * are in.
 */
function offeringsOf(
  facts: InstanceTypeFacts,
  region: RegionKnowledge,
  zoneIds: ReadonlyMap<string, string | undefined>,
): readonly Offering[] {
  const zones = (region.zones.get(facts.name) ?? [])
    .filter((zone) => zoneIds.has(zone))
    .sort(compareText);
  return zones.flatMap((zone) =>
    (['on-demand', 'spot'] as const)
      .filter((capacityType) => facts.supportedUsageClasses.includes(capacityType))
      .map((capacityType) =>
        offeringOf({ instanceType: facts.name, zone, capacityType }, region, zoneIds.get(zone)),
      ),
  );
}

function offeringOf(
  identity: OfferingIdentity,
  region: RegionKnowledge,
  zoneId: string | undefined,
): Offering {
  const { instanceType, zone, capacityType } = identity;
  const price =
    capacityType === 'spot'
      ? region.prices.spot(instanceType, zone)
      : region.prices.onDemand(instanceType);
  return {
    zone,
    ...(zoneId === undefined ? {} : { zoneId }),
    capacityType,
    priceMicrosPerHour: price?.micros ?? 0,
    available: price !== undefined && !region.isUnavailable(identity),
    priceEstimated: price?.estimated ?? false,
  };
}
