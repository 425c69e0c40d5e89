import { labels } from '@dovetail/core-api';
import { at } from '@dovetail/core-invariant';
import {
  admits,
  admitsAbsence,
  compareText,
  fits,
  hasIntersection,
  type Requirements,
  type Resources,
  type ValueSet,
} from '@dovetail/core-kube-model';

import type { InstanceType, Offering } from './instance-type.js';
import { instanceLabels } from './labels.js';
import { cheapestOfferingFirst } from './offering.js';

/** The demands of a claim on its instance. */
export type LaunchWish = { readonly requirements: Requirements; readonly requests: Resources };

/** How to buy a claim's instance, or why it cannot be bought now. */
export type LaunchChoice =
  | {
      readonly ok: true;
      readonly capacityType: 'on-demand' | 'spot';
      readonly types: readonly InstanceType[];
    }
  | { readonly ok: false; readonly reason: 'no-offering' | 'min-values'; readonly message: string };

/**
 * The most types of one CreateFleet (Karpenter's limit). EC2 is slow with more, and it would choose
 * among the cheapest anyway.
 */
const fleetTypesMax = 60;

/**
 * Narrows a claim's types to those of one CreateFleet, each with only the offerings that may be
 * bought. They fit and have an available offering that the claim allows. Metal and accelerated
 * types are left out while ordinary ones remain, and so is spot dearer than the cheapest on-demand.
 * Spot is preferred to on-demand, and the cheapest `typesMax` types are kept. The two narrowing
 * steps are skipped for a claim with minValues, because they would take away the variety that it
 * demands.
 */
export function chooseForLaunch(
  types: readonly InstanceType[],
  wish: LaunchWish,
  typesMax: number = fleetTypesMax,
): LaunchChoice {
  const usable = types.flatMap((type) => usableType(type, wish));
  const demandsVariety = [...wish.requirements.values()].some((set) => set.minValues !== undefined);
  const narrowed = demandsVariety ? usable : withoutDearSpot(withoutExotic(usable));
  const capacityType = narrowed.some((type) =>
    type.offerings.some((offering) => offering.capacityType === 'spot'),
  )
    ? 'spot'
    : 'on-demand';
  const chosen = narrowed
    .flatMap((type) =>
      withOfferings(
        type,
        type.offerings.filter((offering) => offering.capacityType === capacityType),
      ),
    )
    .sort(cheapestTypeFirst)
    .slice(0, typesMax);
  if (chosen.length === 0)
    return {
      ok: false,
      reason: 'no-offering',
      message: `none of ${types.length} instance types has an available offering that the claim allows`,
    };
  const unmet = unmetMinValues(chosen, wish.requirements);
  return unmet === undefined
    ? { ok: true, capacityType, types: chosen }
    : { ok: false, reason: 'min-values', message: unmet };
}

function usableType(
  type: InstanceType,
  { requirements, requests }: LaunchWish,
): readonly InstanceType[] {
  if (!fits(requests, type.allocatable) || !labelsAgree(type.requirements, requirements)) return [];
  return withOfferings(
    type,
    type.offerings.filter(
      (offering) => offering.available && offeringAgrees(offering, requirements),
    ),
  );
}

const withOfferings = (
  type: InstanceType,
  offerings: readonly Offering[],
): readonly InstanceType[] =>
  offerings.length === 0
    ? []
    : [{ ...type, offerings: [...offerings].sort(cheapestOfferingFirst) }];

/**
 * Whether the labels agree where both sides know the key. A pool's own labels are unknown to types.
 */
function labelsAgree(ofType: Requirements, wanted: Requirements): boolean {
  for (const [key, set] of wanted) {
    const offered = ofType.get(key);
    if (
      offered !== undefined &&
      !hasIntersection(offered, set) &&
      !(admitsAbsence(offered) && admitsAbsence(set))
    )
      return false;
  }
  return true;
}

function offeringAgrees(offering: Offering, requirements: Requirements): boolean {
  const agrees = (key: string, value: string | undefined): boolean => {
    const set: ValueSet | undefined = requirements.get(key);
    return set === undefined || (value === undefined ? admitsAbsence(set) : admits(set, value));
  };
  return (
    agrees(labels.zone, offering.zone) &&
    agrees(labels.zoneId, offering.zoneId) &&
    agrees(labels.capacityType, offering.capacityType)
  );
}

const hasLabel = (type: InstanceType, key: string): boolean =>
  (type.requirements.get(key)?.values.size ?? 0) > 0;
const isExotic = (type: InstanceType): boolean =>
  hasLabel(type, instanceLabels.gpuCount) ||
  hasLabel(type, instanceLabels.acceleratorCount) ||
  [...(type.requirements.get(instanceLabels.size)?.values ?? [])].some((size) =>
    size.startsWith('metal'),
  );

function withoutExotic(types: readonly InstanceType[]): readonly InstanceType[] {
  const ordinary = types.filter((type) => !isExotic(type));
  return ordinary.length > 0 ? ordinary : types;
}

function withoutDearSpot(types: readonly InstanceType[]): readonly InstanceType[] {
  const onDemand = types.flatMap((type) =>
    type.offerings
      .filter((offering) => offering.capacityType === 'on-demand')
      .map((offering) => offering.priceMicrosPerHour),
  );
  if (onDemand.length === 0) return types;
  const cheapest = Math.min(...onDemand);
  return types.flatMap((type) =>
    withOfferings(
      type,
      type.offerings.filter(
        (offering) => offering.capacityType !== 'spot' || offering.priceMicrosPerHour <= cheapest,
      ),
    ),
  );
}

/** The cheapest price. Invariant: chosen types have an offering, cheapest first. */
const cheapestPriceOf = (type: InstanceType): number => at(type.offerings, 0).priceMicrosPerHour;
const cheapestTypeFirst = (a: InstanceType, b: InstanceType): number =>
  cheapestPriceOf(a) - cheapestPriceOf(b) || compareText(a.name, b.name);

/** A message about the first requirement, by key, of which the types offer too few values. */
function unmetMinValues(
  types: readonly InstanceType[],
  requirements: Requirements,
): string | undefined {
  for (const key of [...requirements.keys()].sort(compareText)) {
    const wanted = requirements.get(key);
    if (wanted?.minValues === undefined) continue;
    // Of the types' values only those that the claim leaves open, as Karpenter counts since 1.15.
    const values = new Set(
      types
        .flatMap((type) => [...(type.requirements.get(key)?.values ?? [])])
        .filter((value) => admits(wanted, value)),
    );
    if (values.size < wanted.minValues)
      return `${key} must keep ${wanted.minValues} values possible, the ${types.length} cheapest types leave ${values.size}`;
  }
  return undefined;
}
