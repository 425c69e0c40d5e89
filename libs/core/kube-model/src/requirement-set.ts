import type { ValueSet } from './requirement.js';

const nothing: ReadonlySet<string> = new Set<string>();

/** Admits every value and the label's absence. It is the identity of `intersectSets`. */
export const anyValue: ValueSet = { kind: 'notIn', values: nothing, present: false };
/** Admits neither a value nor absence, so no node can satisfy it. */
export const noValue: ValueSet = { kind: 'in', values: nothing, present: true };
/** Admits only the label's absence (DoesNotExist). */
export const absent: ValueSet = { kind: 'in', values: nothing, present: false };

const integerText = /^[+-]?[0-9]+$/;

/**
 * The integer that a label value spells, or undefined. Kubernetes compares Gt and Lt on integers
 * only. Integers beyond 2^53 count as none: they could not be told apart here.
 */
export function integerOf(value: string): number | undefined {
  if (!integerText.test(value)) return undefined;
  const integer = Number(value);
  return Number.isSafeInteger(integer) ? integer : undefined;
}

function withinBounds(set: ValueSet, value: string): boolean {
  if (set.gte === undefined && set.lte === undefined) return true;
  const integer = integerOf(value);
  if (integer === undefined) return false;
  return (
    (set.gte === undefined || integer >= set.gte) && (set.lte === undefined || integer <= set.lte)
  );
}

/** Whether a label with this value satisfies the set. */
export function admits(set: ValueSet, value: string): boolean {
  return set.values.has(value) === (set.kind === 'in') && withinBounds(set, value);
}

/**
 * Whether a node without the label satisfies the set, as NotIn and DoesNotExist allow in
 * Kubernetes.
 */
export const admitsAbsence = (set: ValueSet): boolean => !set.present;

/**
 * Whether no value satisfies the set. DoesNotExist is empty in this sense, because only absence
 * satisfies it.
 */
export function isEmptySet(set: ValueSet): boolean {
  if (set.gte !== undefined && set.lte !== undefined && set.gte > set.lte) return true;
  if (set.kind === 'notIn') return false;
  for (const value of set.values) if (withinBounds(set, value)) return false;
  return true;
}

const largest = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined ? b : b === undefined ? a : Math.max(a, b);
const smallest = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined ? b : b === undefined ? a : Math.min(a, b);

type Bounds = { readonly gte: number | undefined; readonly lte: number | undefined };
const boundsOfBoth = (a: ValueSet, b: ValueSet): Bounds => ({
  gte: largest(a.gte, b.gte),
  lte: smallest(a.lte, b.lte),
});

/**
 * The values that both sets admit. It is commutative, associative and idempotent, with `anyValue`
 * as identity. The label is demanded if either side demands it, and the larger `minValues` stays.
 */
export function intersectSets(a: ValueSet, b: ValueSet): ValueSet {
  const minValues = largest(a.minValues, b.minValues);
  const shared = {
    present: a.present || b.present,
    ...(minValues === undefined ? {} : { minValues }),
  };
  const { gte, lte } = boundsOfBoth(a, b);
  if (gte !== undefined && lte !== undefined && gte > lte)
    return { kind: 'in', values: nothing, ...shared };
  if (a.kind === 'notIn' && b.kind === 'notIn') {
    const values =
      b.values.size === 0
        ? a.values
        : a.values.size === 0
          ? b.values
          : new Set([...a.values, ...b.values]);
    return {
      kind: 'notIn',
      values,
      ...(gte === undefined ? {} : { gte }),
      ...(lte === undefined ? {} : { lte }),
      ...shared,
    };
  }
  // A finite set needs no bounds, because they have already chosen its values.
  const [finite, other] = a.kind === 'in' ? [a, b] : [b, a];
  const values = new Set<string>();
  for (const value of finite.values)
    if (admits(other, value) && withinBounds(finite, value)) values.add(value);
  return { kind: 'in', values, ...shared };
}

/**
 * Whether some value satisfies both sets. Equals `!isEmptySet(intersectSets(a, b))`, without
 * building the set.
 */
export function hasIntersection(a: ValueSet, b: ValueSet): boolean {
  const { gte, lte } = boundsOfBoth(a, b);
  if (gte !== undefined && lte !== undefined && gte > lte) return false;
  if (a.kind === 'notIn' && b.kind === 'notIn') return true;
  const bIsSmaller = b.kind === 'in' && (a.kind === 'notIn' || b.values.size < a.values.size);
  const [finite, other] = bIsSmaller ? [b, a] : [a, b];
  for (const value of finite.values)
    if (admits(other, value) && withinBounds(finite, value)) return true;
  return false;
}

const sorted = (values: ReadonlySet<string>): readonly string[] => [...values].sort();

/**
 * Writes a set for people, such as `In [a, b]` or `Gte 3, NotIn [7]`. Long lists end with a count.
 */
export function describeSet(set: ValueSet): string {
  const listed = (): string => {
    const values = sorted(set.values);
    return values.length <= 8
      ? `[${values.join(', ')}]`
      : `[${values.slice(0, 8).join(', ')}, … ${values.length - 8} more]`;
  };
  if (set.kind === 'in')
    return set.values.size > 0
      ? `In ${listed()}`
      : set.present
        ? 'In [] (nothing can match)'
        : 'DoesNotExist';
  const parts: string[] = [];
  if (set.gte !== undefined) parts.push(`Gte ${set.gte}`);
  if (set.lte !== undefined) parts.push(`Lte ${set.lte}`);
  if (set.values.size > 0) parts.push(`NotIn ${listed()}`);
  if (parts.length > 0) return parts.join(', ');
  return set.present ? 'Exists' : 'any value';
}
