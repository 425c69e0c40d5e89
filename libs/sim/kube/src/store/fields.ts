import { lookUp, put } from '@dovetail/core-invariant';
import { isRecord, type Raw, recordOf } from '@dovetail/core-kube-model';

import { resolved, type Schema } from '../schema/schema.js';

/**
 * A set of fields in the form of FieldsV1: `f:` names a field, `k:` an item of a keyed list, `v:`
 * an item of a set, and `.` the value itself.
 */
export type FieldSet = { readonly [step: string]: unknown };

type Path = readonly string[];

function below(schema: Schema | undefined, field: string): Schema | undefined {
  if (schema === undefined) return undefined;
  const shape = resolved(schema);
  const property = lookUp(shape.properties, field);
  return (
    property ?? (isRecord(shape.additionalProperties) ? shape.additionalProperties : undefined)
  );
}

const isAtomicMap = (schema: Schema | undefined): boolean =>
  schema !== undefined && (schema.mapType === 'atomic' || resolved(schema).mapType === 'atomic');

type ListKind = 'atomic' | 'set' | 'map';

function listKind(schema: Schema | undefined): ListKind {
  const type = schema?.listType;
  if (type === 'map' || type === 'set') return type;
  // Metadata's own lists are not in custom schemas.
  return 'atomic';
}

const itemKey = (schema: Schema | undefined, item: unknown): string => {
  const items = schema?.items === undefined ? undefined : resolved(schema.items);
  const keys = schema?.listMapKeys ?? [];
  return `k:${JSON.stringify(Object.fromEntries(keys.map((key) => [key, lookUp(recordOf(item), key) ?? lookUp(items?.properties, key)?.default ?? null])))}`;
};

/** The fields that a configuration sets. */
export function fieldsOf(schema: Schema | undefined, value: Raw): FieldSet {
  const set: Record<string, unknown> = {};
  for (const [field, inner] of Object.entries(value))
    put(set, `f:${field}`, valueFields(below(schema, field), inner));
  return set;
}

function valueFields(schema: Schema | undefined, value: unknown): FieldSet {
  if (isRecord(value) && !isAtomicMap(schema) && Object.keys(value).length > 0)
    return fieldsOf(schema, value);
  if (!Array.isArray(value)) return {};
  const kind = listKind(schema);
  if (kind === 'set')
    return Object.fromEntries(value.map((item: unknown) => [`v:${JSON.stringify(item)}`, {}]));
  if (kind === 'atomic') return {};
  const items = schema?.items;
  return Object.fromEntries(
    value.map((item: unknown) => [
      itemKey(schema, item),
      { '.': {}, ...fieldsOf(items, recordOf(item)) },
    ]),
  );
}

/**
 * The leaves of `applied` that `owned` also has, with their values and Kubernetes' text of their
 * path.
 */
export function pathsOf(
  schema: Schema | undefined,
  applied: Raw,
  owned: FieldSet,
): readonly { readonly path: Path; readonly text: string; readonly value: unknown }[] {
  return Object.entries(applied).flatMap(([field, value]) => {
    const inner = lookUp(owned, `f:${field}`);
    return inner === undefined
      ? []
      : sharedLeaves(below(schema, field), value, recordOf(inner), [`f:${field}`], `.${field}`);
  });
}

function sharedLeaves(
  schema: Schema | undefined,
  value: unknown,
  owned: FieldSet,
  path: Path,
  text: string,
): readonly { path: Path; text: string; value: unknown }[] {
  if (isRecord(value) && !isAtomicMap(schema) && Object.keys(owned).length > 0) {
    return Object.entries(value).flatMap(([field, inner]) =>
      lookUp(owned, `f:${field}`) === undefined
        ? []
        : sharedLeaves(
            below(schema, field),
            inner,
            recordOf(lookUp(owned, `f:${field}`)),
            [...path, `f:${field}`],
            `${text}.${field}`,
          ),
    );
  }
  if (Array.isArray(value) && listKind(schema) === 'map') {
    return value.flatMap((item: unknown) => {
      const key = itemKey(schema, item);
      const keys = Object.entries(JSON.parse(key.slice(2)) as Raw)
        .map(([name, one]) => `${name}=${JSON.stringify(one)}`)
        .join(',');
      return lookUp(owned, key) === undefined
        ? []
        : sharedLeaves(
            schema?.items,
            item,
            recordOf(lookUp(owned, key)),
            [...path, key],
            `${text}[${keys}]`,
          );
    });
  }
  if (Array.isArray(value) && listKind(schema) === 'set') return [];
  return [{ path, text, value }];
}

/** The object's value at a path of field steps; undefined when there is none. */
export function missingFrom(schema: Schema | undefined, object: Raw, path: Path): unknown {
  let value: unknown = object;
  let shape = schema;
  for (const step of path) {
    if (step.startsWith('f:')) {
      value = lookUp(recordOf(value), step.slice(2));
      shape = below(shape, step.slice(2));
    } else {
      const list = shape;
      value = Array.isArray(value) ? value.find((item) => itemKey(list, item) === step) : undefined;
      shape = shape?.items;
    }
  }
  return value;
}

/** The set without the fields of another. */
export function removedPaths(set: FieldSet, taken: FieldSet): FieldSet {
  const left: Record<string, unknown> = {};
  for (const [step, inner] of Object.entries(set)) {
    const other = lookUp(taken, step);
    if (other === undefined) put(left, step, inner);
    else if (Object.keys(recordOf(inner)).length > 0) {
      const rest = removedPaths(recordOf(inner), recordOf(other));
      if (Object.keys(rest).some((one) => one !== '.')) put(left, step, rest);
    }
  }
  return left;
}

type Owned = { readonly mine: FieldSet; readonly others: readonly FieldSet[] };

const inside = (owned: Owned, step: string): Owned => ({
  mine: recordOf(lookUp(owned.mine, step)),
  others: owned.others
    .filter((one) => lookUp(one, step) !== undefined)
    .map((one) => recordOf(lookUp(one, step))),
});

/**
 * The object with the configuration's fields set, and without those that only the manager's last
 * configuration had.
 */
export function mergedByFields(
  schema: Schema | undefined,
  target: Raw,
  applied: Raw,
  owned: Owned,
): Raw {
  const merged: Record<string, unknown> = { ...target };
  for (const step of Object.keys(owned.mine)) {
    const field = step.slice(2);
    if (
      !step.startsWith('f:') ||
      lookUp(applied, field) !== undefined ||
      owned.others.some((one) => lookUp(one, step) !== undefined)
    )
      continue;
    const rest = pruned(
      below(schema, field),
      lookUp(merged, field),
      recordOf(lookUp(owned.mine, step)),
    );
    if (rest === undefined) delete merged[field];
    else put(merged, field, rest);
  }
  for (const [field, value] of Object.entries(applied))
    put(
      merged,
      field,
      mergedValue(below(schema, field), lookUp(merged, field), value, inside(owned, `f:${field}`)),
    );
  return merged;
}

/** The rest of a value without one manager's fields; undefined when nothing is left. */
function pruned(schema: Schema | undefined, value: unknown, mine: FieldSet): unknown {
  if (isRecord(value) && Object.keys(mine).length > 0) {
    const rest = mergedByFields(schema, value, {}, { mine, others: [] });
    return Object.keys(rest).length === 0 ? undefined : rest;
  }
  if (Array.isArray(value) && listKind(schema) !== 'atomic') {
    const rest: unknown[] = value.filter(
      (item: unknown) =>
        lookUp(
          mine,
          listKind(schema) === 'map' ? itemKey(schema, item) : `v:${JSON.stringify(item)}`,
        ) === undefined,
    );
    return rest.length === 0 ? undefined : rest;
  }
  return undefined;
}

function mergedValue(
  schema: Schema | undefined,
  target: unknown,
  applied: unknown,
  owned: Owned,
): unknown {
  if (isRecord(applied) && !isAtomicMap(schema))
    return mergedByFields(schema, recordOf(target), applied, owned);
  if (!Array.isArray(applied) || listKind(schema) === 'atomic' || !Array.isArray(target))
    return applied;
  const known = target as readonly unknown[];
  const wanted = applied as readonly unknown[];
  const identity = (item: unknown): string =>
    listKind(schema) === 'map' ? itemKey(schema, item) : `v:${JSON.stringify(item)}`;
  const dropped = (item: unknown): boolean =>
    lookUp(owned.mine, identity(item)) !== undefined &&
    !owned.others.some((one) => lookUp(one, identity(item)) !== undefined);
  const kept = known.filter(
    (item) => wanted.some((one) => identity(one) === identity(item)) || !dropped(item),
  );
  const merged = kept.map((item) => {
    const match = wanted.find((one) => identity(one) === identity(item));
    return match === undefined || !isRecord(match)
      ? item
      : mergedByFields(schema?.items, recordOf(item), match, inside(owned, identity(item)));
  });
  return [
    ...merged,
    ...wanted.filter((item) => !known.some((one) => identity(one) === identity(item))),
  ];
}
