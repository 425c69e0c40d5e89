import { labels } from '@dovetail/core-api';
import { admits, admitsAbsence, fits, hasIntersection, type Requirements, type Resources, type ValueSet } from '@dovetail/core-kube-model';
import type { InstanceType, Offering } from './instance-type.js';
import { instanceLabels } from './labels.js';
import { cheapestOfferingFirst } from './offering.js';
import { compareCodeUnits } from './order.js';

/** What a claim asks of its instance. */
export type LaunchWish = { readonly requirements: Requirements; readonly requests: Resources };

/** How a claim is to be bought, or why it cannot be now. */
export type LaunchChoice =
  | { readonly ok: true; readonly capacityType: 'on-demand' | 'spot'; readonly types: readonly InstanceType[] }
  | { readonly ok: false; readonly reason: 'no-offering' | 'min-values'; readonly message: string };

/** EC2 Fleet takes long with more; the cheapest are the ones it would choose among anyway (Karpenter's limit). */
export const fleetTypesMax = 60;

/**
 * Narrows a claim's types to what one CreateFleet asks for: types that fit and have an available offering the claim
 * allows, no metal or accelerated types while ordinary ones remain, no spot dearer than the cheapest on-demand, spot
 * before on-demand, the cheapest `typesMax`, each with only the offerings that may be bought. The two narrowing steps
 * are skipped when the claim demands variety (minValues), which they would take away.
 */
export function chooseForLaunch(types: readonly InstanceType[], wish: LaunchWish, typesMax: number = fleetTypesMax): LaunchChoice {
  const usable = types.flatMap((type) => usableType(type, wish));
  const demandsVariety = [...wish.requirements.values()].some((set) => set.minValues !== undefined);
  const narrowed = demandsVariety ? usable : withoutDearSpot(withoutExotic(usable));
  const capacityType = narrowed.some((type) => type.offerings.some((offering) => offering.capacityType === 'spot')) ? 'spot' : 'on-demand';
  const chosen = narrowed
    .flatMap((type) => withOfferings(type, type.offerings.filter((offering) => offering.capacityType === capacityType)))
    .sort(cheapestTypeFirst)
    .slice(0, typesMax);
  if (chosen.length === 0) return { ok: false, reason: 'no-offering', message: `none of ${types.length} instance types has an available offering that the claim allows` };
  const unmet = unmetMinValues(chosen, wish.requirements);
  return unmet === undefined ? { ok: true, capacityType, types: chosen } : { ok: false, reason: 'min-values', message: unmet };
}

function usableType(type: InstanceType, { requirements, requests }: LaunchWish): readonly InstanceType[] {
  if (!fits(requests, type.allocatable) || !labelsAgree(type.requirements, requirements)) return [];
  return withOfferings(type, type.offerings.filter((offering) => offering.available && offeringAgrees(offering, requirements)));
}

const withOfferings = (type: InstanceType, offerings: readonly Offering[]): readonly InstanceType[] =>
  (offerings.length === 0 ? [] : [{ ...type, offerings: [...offerings].sort(cheapestOfferingFirst) }]);

/** Keys that only one side knows (a pool's own labels) are not the type's to refuse. */
function labelsAgree(ofType: Requirements, wanted: Requirements): boolean {
  for (const [key, set] of wanted) {
    const offered = ofType.get(key);
    if (offered !== undefined && !hasIntersection(offered, set) && !(admitsAbsence(offered) && admitsAbsence(set))) return false;
  }
  return true;
}

function offeringAgrees(offering: Offering, requirements: Requirements): boolean {
  const agrees = (key: string, value: string | undefined): boolean => {
    const set: ValueSet | undefined = requirements.get(key);
    return set === undefined || (value === undefined ? admitsAbsence(set) : admits(set, value));
  };
  return agrees(labels.zone, offering.zone) && agrees(labels.zoneId, offering.zoneId) && agrees(labels.capacityType, offering.capacityType);
}

const hasLabel = (type: InstanceType, key: string): boolean => (type.requirements.get(key)?.values.size ?? 0) > 0;
const isExotic = (type: InstanceType): boolean =>
  hasLabel(type, instanceLabels.gpuCount) || hasLabel(type, instanceLabels.acceleratorCount)
  || [...(type.requirements.get(instanceLabels.size)?.values ?? [])].some((size) => size.startsWith('metal'));

function withoutExotic(types: readonly InstanceType[]): readonly InstanceType[] {
  const ordinary = types.filter((type) => !isExotic(type));
  return ordinary.length > 0 ? ordinary : types;
}

function withoutDearSpot(types: readonly InstanceType[]): readonly InstanceType[] {
  const onDemand = types.flatMap((type) => type.offerings.filter((offering) => offering.capacityType === 'on-demand').map((offering) => offering.priceMicrosPerHour));
  if (onDemand.length === 0) return types;
  const cheapest = Math.min(...onDemand);
  return types.flatMap((type) => withOfferings(type, type.offerings.filter((offering) => offering.capacityType !== 'spot' || offering.priceMicrosPerHour <= cheapest)));
}

const priceOf = (type: InstanceType): number => type.offerings[0]?.priceMicrosPerHour ?? Number.MAX_SAFE_INTEGER;
const cheapestTypeFirst = (a: InstanceType, b: InstanceType): number => priceOf(a) - priceOf(b) || compareCodeUnits(a.name, b.name);

/** The first requirement, by key, of whose values the chosen types offer too few. */
function unmetMinValues(types: readonly InstanceType[], requirements: Requirements): string | undefined {
  for (const key of [...requirements.keys()].sort(compareCodeUnits)) {
    const wanted = requirements.get(key);
    if (wanted?.minValues === undefined) continue;
    const values = new Set(types.flatMap((type) => [...(type.requirements.get(key)?.values ?? [])].filter((value) => admits(wanted, value))));
    if (values.size < wanted.minValues) return `${key} must keep ${wanted.minValues} values possible, the ${types.length} cheapest types leave ${values.size}`;
  }
  return undefined;
}
