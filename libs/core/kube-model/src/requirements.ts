import { at, present } from '@dovetail/core-invariant';

import type { Requirements, RequirementSpec, ValueSet } from './requirement.js';
import {
  absent,
  admitsAbsence,
  describeSet,
  hasIntersection,
  integerOf,
  intersectSets,
  isEmptySet,
  noValue,
} from './requirement-set.js';
import { compareText } from './text-order.js';

/**
 * Older names of well-known labels and the canonical key that stands for both, as in Karpenter's
 * AWS provider.
 */
export const labelAliases: ReadonlyMap<string, string> = new Map([
  ['failure-domain.beta.kubernetes.io/zone', 'topology.kubernetes.io/zone'],
  ['failure-domain.beta.kubernetes.io/region', 'topology.kubernetes.io/region'],
  ['beta.kubernetes.io/arch', 'kubernetes.io/arch'],
  ['beta.kubernetes.io/os', 'kubernetes.io/os'],
  ['beta.kubernetes.io/instance-type', 'node.kubernetes.io/instance-type'],
  ['topology.ebs.csi.aws.com/zone', 'topology.kubernetes.io/zone'],
]);

/** The key under which requirements and labels are compared. Idempotent. */
export const canonicalKey = (key: string): string => labelAliases.get(key) ?? key;

/**
 * The values that one requirement admits. Gt and Lt become inclusive bounds. A bound that is not
 * one integer admits nothing, because Kubernetes matches no node with such a term. Neither does a
 * bound that only negative numbers or numbers beyond 2^53 pass. No label value spells the former,
 * and the latter could not be told apart.
 */
export function setOfSpec(spec: RequirementSpec): ValueSet {
  const minValues = spec.minValues === undefined ? {} : { minValues: spec.minValues };
  switch (spec.operator) {
    case 'In':
      return { kind: 'in', values: new Set(spec.values), present: true, ...minValues };
    case 'NotIn':
      return { kind: 'notIn', values: new Set(spec.values), present: false, ...minValues };
    case 'Exists':
      return { kind: 'notIn', values: new Set(), present: true, ...minValues };
    case 'DoesNotExist':
      return { ...absent, ...minValues };
    case 'Gt':
    case 'Gte':
    case 'Lt':
    case 'Lte': {
      const bound = spec.values.length === 1 ? integerOf(at(spec.values, 0)) : undefined;
      if (bound === undefined) return { ...noValue, ...minValues };
      const bounds = boundsOf(spec.operator, bound);
      if ((bounds.lte ?? 0) < 0 || (bounds.gte ?? 0) > Number.MAX_SAFE_INTEGER)
        return { ...noValue, ...minValues };
      return { kind: 'notIn', values: new Set(), present: true, ...bounds, ...minValues };
    }
  }
}

function boundsOf(
  operator: 'Gt' | 'Gte' | 'Lt' | 'Lte',
  bound: number,
): Pick<ValueSet, 'gte' | 'lte'> {
  switch (operator) {
    case 'Gt':
      return { gte: bound + 1 };
    case 'Gte':
      return { gte: bound };
    case 'Lt':
      return { lte: bound - 1 };
    case 'Lte':
      return { lte: bound };
  }
}

/**
 * The requirements that all entries state together. Entries for one canonical key are intersected.
 */
export function requirementsOf(specs: readonly RequirementSpec[]): Requirements {
  const sets = new Map<string, ValueSet>();
  for (const spec of specs) {
    const key = canonicalKey(spec.key);
    const known = sets.get(key);
    const set = setOfSpec(spec);
    sets.set(key, known === undefined ? set : intersectSets(known, set));
  }
  return sets;
}

/**
 * Labels of a node as requirements. Where an alias disagrees with its canonical label,
 * the canonical one counts.
 */
export function requirementsFromLabels(labels: Readonly<Record<string, string>>): Requirements {
  const sets = new Map<string, ValueSet>();
  for (const [key, value] of Object.entries(labels)) {
    const canonical = canonicalKey(key);
    if (canonical !== key && Object.hasOwn(labels, canonical)) continue;
    sets.set(canonical, { kind: 'in', values: new Set([value]), present: true });
  }
  return sets;
}

/**
 * A nodeSelector as requirements. All its entries must hold, so an alias that disagrees with its
 * canonical label leaves no value.
 */
export const requirementsFromSelector = (
  selector: Readonly<Record<string, string>>,
): Requirements =>
  requirementsOf(
    Object.entries(selector).map(([key, value]) => ({ key, operator: 'In', values: [value] })),
  );

/** The requirements of both sides together, intersected for keys that both have. */
export function intersectRequirements(a: Requirements, b: Requirements): Requirements {
  if (b.size === 0) return a;
  if (a.size === 0) return b;
  const both = new Map(a);
  for (const [key, set] of b) {
    const known = both.get(key);
    both.set(key, known === undefined ? set : intersectSets(known, set));
  }
  return both;
}

/** Whether some key can be satisfied neither by a value nor by the label's absence. */
export function isUnsatisfiable(requirements: Requirements): boolean {
  for (const set of requirements.values()) if (set.present && isEmptySet(set)) return true;
  return false;
}

/** A key that does not fit: the pod's wish and the node side's offer, both for people. */
export type RequirementMismatch = {
  readonly key: string;
  readonly wanted: string;
  readonly offered: string;
};

/** How strictly a node side is judged. */
export type CompatibilityOptions = {
  /**
   * Keys that the node side may leave open although the pod asks for them. A new node leaves the
   * well-known labels to its instance type; a node that exists leaves none open.
   */
  readonly allowUndefined: ReadonlySet<string>;
};

function keyFits(
  offered: ValueSet | undefined,
  wanted: ValueSet,
  undefinedAllowed: boolean,
): boolean {
  if (offered === undefined) return admitsAbsence(wanted) || undefinedAllowed;
  return hasIntersection(offered, wanted) || (admitsAbsence(offered) && admitsAbsence(wanted));
}

/**
 * Whether a pod with the requirements `podSide` may run on a node with `nodeSide` (Karpenter's
 * Requirements.Compatible). A key that the node side does not know fails, unless absence satisfies
 * the pod or the key may be undefined.
 */
export function isCompatible(
  nodeSide: Requirements,
  podSide: Requirements,
  options: CompatibilityOptions,
): boolean {
  for (const [key, wanted] of podSide) {
    if (!keyFits(nodeSide.get(key), wanted, options.allowUndefined.has(key))) return false;
  }
  return true;
}

/** Every key that keeps the pod away, in key order. Empty exactly when `isCompatible`. */
export function compatible(
  nodeSide: Requirements,
  podSide: Requirements,
  options: CompatibilityOptions,
): readonly RequirementMismatch[] {
  const mismatches: RequirementMismatch[] = [];
  for (const key of [...podSide.keys()].sort()) {
    const wanted = present(podSide.get(key), 'a key of the map has a value');
    const offered = nodeSide.get(key);
    if (keyFits(offered, wanted, options.allowUndefined.has(key))) continue;
    mismatches.push({
      key,
      wanted: describeSet(wanted),
      offered: offered === undefined ? 'label not defined' : describeSet(offered),
    });
  }
  return mismatches;
}

function specsOfSet(key: string, set: ValueSet): readonly RequirementSpec[] {
  const values = [...set.values].sort();
  const specs: RequirementSpec[] = [];
  if (set.kind === 'in') {
    if (values.length === 0 && !set.present) specs.push({ key, operator: 'DoesNotExist', values });
    else specs.push({ key, operator: 'In', values });
  } else {
    if (set.gte !== undefined) specs.push({ key, operator: 'Gte', values: [String(set.gte)] });
    if (set.lte !== undefined) specs.push({ key, operator: 'Lte', values: [String(set.lte)] });
    if (values.length > 0) specs.push({ key, operator: 'NotIn', values });
    if (set.present && set.gte === undefined && set.lte === undefined)
      specs.push({ key, operator: 'Exists', values: [] });
  }
  const [first, ...rest] = specs;
  if (first === undefined) return [];
  return [set.minValues === undefined ? first : { ...first, minValues: set.minValues }, ...rest];
}

/**
 * Writes requirements as entries of a manifest, by key. `requirementsOf` reads the same
 * requirements back. A set with several bounds, or with NotIn values beside a bound, takes several
 * entries; `minValues` stands on the first. A set that nothing satisfies is `In` without values,
 * and a set that admits anything needs no entry.
 */
export function toSpecs(requirements: Requirements): readonly RequirementSpec[] {
  return [...requirements]
    .toSorted(([a], [b]) => compareText(a, b))
    .flatMap(([key, set]) => specsOfSet(key, set));
}
