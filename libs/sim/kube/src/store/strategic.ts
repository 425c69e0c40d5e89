import { lookUp, put } from '@dovetail/core-invariant';
import { compareText, isRecord, type Raw, recordOf } from '@dovetail/core-kube-model';

import { badRequest } from '../model/errors.js';
import { equalJson } from '../model/json.js';
import { resolved, type Schema } from '../schema/schema.js';

const directives = new Set(['$patch', '$retainKeys']);
const isDirective = (field: string): boolean =>
  directives.has(field) ||
  field.startsWith('$setElementOrder/') ||
  field.startsWith('$deleteFromPrimitiveList/');

function below(schema: Schema | undefined, field: string): Schema | undefined {
  if (schema === undefined) return undefined;
  const shape = resolved(schema);
  const property = lookUp(shape.properties, field);
  return (
    property ?? (isRecord(shape.additionalProperties) ? shape.additionalProperties : undefined)
  );
}

const mergesBy = (schema: Schema | undefined): string | undefined =>
  schema?.patchStrategy?.includes('merge') === true ? schema.patchMergeKey : undefined;
const mergesPlain = (schema: Schema | undefined): boolean =>
  schema?.patchStrategy?.includes('merge') === true && schema.patchMergeKey === undefined;

/**
 * Kubernetes' strategic merge patch: lists with a merge key in the schema are merged item by item.
 */
export function strategicMerge(schema: Schema | undefined, target: unknown, patch: unknown): Raw {
  if (!isRecord(patch)) throw badRequest('a strategic merge patch must be an object');
  return mergeObject(schema, recordOf(target), patch);
}

function mergeObject(schema: Schema | undefined, target: Raw, patch: Raw): Raw {
  const directive = patch['$patch'];
  if (directive === 'delete') return {};
  const base = directive === 'replace' ? {} : target;
  const merged: Record<string, unknown> = { ...base };
  const retained = patch['$retainKeys'];
  if (Array.isArray(retained))
    for (const field of Object.keys(merged)) if (!retained.includes(field)) delete merged[field];
  for (const [field, values] of Object.entries(patch))
    if (field.startsWith('$deleteFromPrimitiveList/')) dropItems(merged, field.slice(25), values);
  for (const [field, value] of Object.entries(patch)) {
    if (isDirective(field)) continue;
    if (value === null) delete merged[field];
    else put(merged, field, mergeValue(below(schema, field), lookUp(merged, field), value));
  }
  for (const [field, order] of Object.entries(patch))
    if (field.startsWith('$setElementOrder/')) reorder(schema, merged, field.slice(17), order);
  return merged;
}

function dropItems(merged: Record<string, unknown>, field: string, values: unknown): void {
  const list = lookUp(merged, field);
  if (Array.isArray(list) && Array.isArray(values))
    put(
      merged,
      field,
      list.filter((item) => !values.some((value) => equalJson(item, value))),
    );
}

function mergeValue(schema: Schema | undefined, target: unknown, patch: unknown): unknown {
  if (isRecord(patch)) return mergeObject(schema, recordOf(target), patch);
  if (!Array.isArray(patch)) return patch;
  const items: readonly unknown[] = patch;
  const key = mergesBy(schema);
  if (key !== undefined)
    return mergeList(schema?.items, key, Array.isArray(target) ? target : [], items);
  if (mergesPlain(schema) && Array.isArray(target)) {
    const known: readonly unknown[] = target;
    return [...known, ...items.filter((item) => !known.some((other) => equalJson(other, item)))];
  }
  return patch;
}

function mergeList(
  schema: Schema | undefined,
  key: string,
  target: readonly unknown[],
  patch: readonly unknown[],
): readonly unknown[] {
  let merged: Raw[] = patch.some(
    (item) => recordOf(item)['$patch'] === 'replace' && lookUp(recordOf(item), key) === undefined,
  )
    ? []
    : target.map(recordOf);
  for (const item of patch.map(recordOf)) {
    if (item['$patch'] === 'replace' && lookUp(item, key) === undefined) continue;
    const at = merged.findIndex((other) => equalJson(lookUp(other, key), lookUp(item, key)));
    if (item['$patch'] === 'delete') merged = merged.filter((_, index) => index !== at);
    else if (at >= 0)
      merged = merged.map((other, index) =>
        index === at ? mergeObject(schema, other, item) : other,
      );
    else merged = [...merged, mergeObject(schema, {}, item)];
  }
  return merged;
}

/** Puts the named items into the given order. The other items come after them. */
function reorder(
  schema: Schema | undefined,
  merged: Record<string, unknown>,
  field: string,
  order: unknown,
): void {
  const list = lookUp(merged, field);
  if (!Array.isArray(list) || !Array.isArray(order)) return;
  const key = mergesBy(below(schema, field));
  const identity = (item: unknown): string =>
    JSON.stringify(key === undefined ? item : (lookUp(recordOf(item), key) ?? null));
  const places = new Map(order.map((item: unknown, index) => [identity(item), index]));
  const named = list.filter((item) => places.has(identity(item))) as unknown[];
  named.sort(
    (left, right) =>
      (places.get(identity(left)) ?? 0) - (places.get(identity(right)) ?? 0) ||
      compareText(identity(left), identity(right)),
  );
  const others = list.filter((item) => !places.has(identity(item))) as unknown[];
  put(merged, field, [...named, ...others]);
}
