import type { RequirementSpec, Requirements, ValueSet } from './requirement.js';
import { absent, admitsAbsence, describeSet, hasIntersection, integerOf, intersectSets, isEmptySet, noValue } from './requirement-set.js';

/** Older names of well-known labels, and the canonical key that Dovetail uses for both (as Karpenter on AWS does). */
export const labelAliases: ReadonlyMap<string, string> = new Map([
  ['failure-domain.beta.kubernetes.io/zone', 'topology.kubernetes.io/zone'],
  ['failure-domain.beta.kubernetes.io/region', 'topology.kubernetes.io/region'],
  ['beta.kubernetes.io/arch', 'kubernetes.io/arch'],
  ['beta.kubernetes.io/os', 'kubernetes.io/os'],
  ['beta.kubernetes.io/instance-type', 'node.kubernetes.io/instance-type'],
  ['topology.ebs.csi.aws.com/zone', 'topology.kubernetes.io/zone'],
]);

/** The key that requirements and labels are compared under. */
export const canonicalKey = (key: string): string => labelAliases.get(key) ?? key;

/**
 * The values that one requirement admits. Gt and Lt become inclusive bounds. A bound that is not one integer admits
 * nothing: Kubernetes matches no node with such a term.
 */
export function setOfSpec(spec: RequirementSpec): ValueSet {
  const minValues = spec.minValues === undefined ? {} : { minValues: spec.minValues };
  switch (spec.operator) {
    case 'In': return { kind: 'in', values: new Set(spec.values), present: true, ...minValues };
    case 'NotIn': return { kind: 'notIn', values: new Set(spec.values), present: false, ...minValues };
    case 'Exists': return { kind: 'notIn', values: new Set(), present: true, ...minValues };
    case 'DoesNotExist': return { ...absent, ...minValues };
    case 'Gt': case 'Gte': case 'Lt': case 'Lte': {
      const bound = spec.values.length === 1 ? integerOf(spec.values[0] ?? '') : undefined;
      if (bound === undefined) return { ...noValue, ...minValues };
      return { kind: 'notIn', values: new Set(), present: true, ...boundsOf(spec.operator, bound), ...minValues };
    }
  }
}

function boundsOf(operator: 'Gt' | 'Gte' | 'Lt' | 'Lte', bound: number): { readonly gte: number } | { readonly lte: number } {
  switch (operator) {
    case 'Gt': return { gte: bound + 1 };
    case 'Gte': return { gte: bound };
    case 'Lt': return { lte: bound - 1 };
    case 'Lte': return { lte: bound };
  }
}

/** The conjunction of requirement entries: aliases become canonical keys, entries for one key are intersected. */
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

/** What labels (or a nodeSelector) say, as requirements. Where an alias disagrees with its canonical label, the canonical one counts. */
export function requirementsFromLabels(labels: Readonly<Record<string, string>>): Requirements {
  const sets = new Map<string, ValueSet>();
  for (const [key, value] of Object.entries(labels)) {
    const canonical = canonicalKey(key);
    if (canonical !== key && Object.hasOwn(labels, canonical)) continue;
    sets.set(canonical, { kind: 'in', values: new Set([value]), present: true });
  }
  return sets;
}

/** Both conjunctions together: a key of either, intersected where both have it. */
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

/** Whether some key can be satisfied neither by a value nor by absence. */
export function isUnsatisfiable(requirements: Requirements): boolean {
  for (const set of requirements.values()) if (set.present && isEmptySet(set)) return true;
  return false;
}

/** Why one key does not fit: what the pod wants, what the node side offers. */
export type RequirementMismatch = { readonly key: string; readonly wanted: string; readonly offered: string };

export type CompatibilityOptions = {
  /**
   * Keys that the node side may leave open although the pod asks for them: the well-known labels when a new node is
   * planned (its instance type fills them in), none for a node that exists.
   */
  readonly allowUndefined: ReadonlySet<string>;
};

function keyFits(offered: ValueSet | undefined, wanted: ValueSet, undefinedAllowed: boolean): boolean {
  if (offered === undefined) return admitsAbsence(wanted) || undefinedAllowed;
  return hasIntersection(offered, wanted) || (admitsAbsence(offered) && admitsAbsence(wanted));
}

/**
 * Whether a pod with requirements `podSide` may run where labels are as `nodeSide` says (Karpenter's `Compatible`):
 * a key that the node side does not know fails, unless absence satisfies the pod or the key may be undefined.
 */
export function isCompatible(nodeSide: Requirements, podSide: Requirements, options: CompatibilityOptions): boolean {
  for (const [key, wanted] of podSide) {
    if (!keyFits(nodeSide.get(key), wanted, options.allowUndefined.has(key))) return false;
  }
  return true;
}

/** As `isCompatible`, with the reason for every key that fails, in key order; empty means compatible. */
export function compatible(nodeSide: Requirements, podSide: Requirements, options: CompatibilityOptions): readonly RequirementMismatch[] {
  const mismatches: RequirementMismatch[] = [];
  for (const key of [...podSide.keys()].sort()) {
    const wanted = podSide.get(key) as ValueSet;
    const offered = nodeSide.get(key);
    if (keyFits(offered, wanted, options.allowUndefined.has(key))) continue;
    mismatches.push({ key, wanted: describeSet(wanted), offered: offered === undefined ? 'label not defined' : describeSet(offered) });
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
    if (set.present && set.gte === undefined && set.lte === undefined) specs.push({ key, operator: 'Exists', values: [] });
  }
  const [first, ...rest] = specs;
  if (first === undefined) return [];
  return [set.minValues === undefined ? first : { ...first, minValues: set.minValues }, ...rest];
}

/**
 * Requirements as entries of a manifest, by key; `requirementsOf` of the result gives the same requirements back.
 * A set needs several entries when it has several bounds (NotIn values beside a bound are kept). `minValues` stands on
 * the first. A set that nothing satisfies becomes `In` without values; any-value sets need no entry.
 */
export function toSpecs(requirements: Requirements): readonly RequirementSpec[] {
  return [...requirements.keys()].sort().flatMap((key) => specsOfSet(key, requirements.get(key) as ValueSet));
}
