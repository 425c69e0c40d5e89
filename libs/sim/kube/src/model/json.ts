import { lookUp, put } from '@dovetail/core-invariant';
import { isRecord, type Raw, recordOf } from '@dovetail/core-kube-model';

/** The value as a list, or an empty one when it is something else. */
export const listOf = (value: unknown): readonly unknown[] =>
  Array.isArray(value) ? (value as readonly unknown[]) : [];

/** The value as text: strings as they are, numbers and booleans printed, everything else empty. */
export function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
}

/** Structural equality of JSON values; an absent field equals an undefined one. */
export function equalJson(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (Array.isArray(left))
    return (
      Array.isArray(right) &&
      left.length === right.length &&
      left.every((item, index) => equalJson(item, (right as unknown[])[index]))
    );
  if (!isRecord(left) || !isRecord(right)) return false;
  const keys = Object.keys(left);
  for (const key of keys) if (!equalJson(lookUp(left, key), lookUp(right, key))) return false;
  for (const key of Object.keys(right))
    if (lookUp(right, key) !== undefined && lookUp(left, key) === undefined) return false;
  return true;
}

/** A deep copy without undefined fields. */
export function cloneJson<T>(value: T): T {
  if (Array.isArray(value)) return value.map((item: unknown) => cloneJson(item)) as T;
  if (!isRecord(value)) return value;
  const copy: Record<string, unknown> = {};
  for (const [key, field] of Object.entries(value))
    if (field !== undefined) put(copy, key, cloneJson(field));
  return copy as T;
}

/** The value at a path of field names and list indices; undefined where it leads nowhere. */
export function valueAt(value: unknown, path: readonly string[]): unknown {
  let current = value;
  for (const step of path) {
    if (Array.isArray(current)) current = (current as unknown[])[Number(step)];
    else if (isRecord(current)) current = lookUp(current, step);
    else return undefined;
  }
  return current;
}

/** A copy with the value at the path replaced; objects on the way are made, lists are not. */
export function withValueAt(value: unknown, path: readonly string[], replacement: unknown): Raw {
  const [step, ...rest] = path;
  if (step === undefined) return recordOf(replacement);
  const record = recordOf(value);
  return {
    ...record,
    [step]: rest.length === 0 ? replacement : withValueAt(lookUp(record, step), rest, replacement),
  };
}
