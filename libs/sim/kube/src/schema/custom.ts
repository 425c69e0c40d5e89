import { lookUp, put } from '@dovetail/core-invariant';
import { isRecord, type Raw } from '@dovetail/core-kube-model';

import type { FieldError } from '../model/errors.js';
import { cloneJson } from '../model/json.js';
import type { StoredObject } from '../model/objects.js';
import { celErrors } from './cel.js';
import type { Schema } from './schema.js';
import { schemaErrors } from './validate.js';

/** A resource whose schema is known, or not. */
type Schematic = { readonly schema?: Schema };

function defaulted(schema: Schema, value: unknown): unknown {
  if (Array.isArray(value)) {
    const items = schema.items;
    return items === undefined ? value : value.map((item: unknown) => defaulted(items, item));
  }
  if (!isRecord(value)) return value;
  const filled: Record<string, unknown> = { ...value };
  for (const [field, below] of Object.entries(schema.properties ?? {})) {
    const given = lookUp(filled, field);
    // A null where null is not allowed counts as left out when there is a default.
    if ((given === undefined || isForbiddenNull(below, given)) && below.default !== undefined)
      put(filled, field, cloneJson(below.default));
    if (lookUp(filled, field) !== undefined)
      put(filled, field, defaulted(below, lookUp(filled, field)));
  }
  if (isRecord(schema.additionalProperties)) {
    for (const [field, inner] of Object.entries(filled))
      if (lookUp(schema.properties, field) === undefined)
        put(filled, field, defaulted(schema.additionalProperties, inner));
  }
  return filled;
}

const isForbiddenNull = (schema: Schema, value: unknown): boolean =>
  value === null && schema.nullable !== true;

/** The value without the nulls of fields and maps that allow none. Lists keep them. */
function withoutNulls(schema: Schema, value: unknown): unknown {
  if (Array.isArray(value)) {
    const items = schema.items;
    return items === undefined ? value : value.map((item: unknown) => withoutNulls(items, item));
  }
  if (!isRecord(value)) return value;
  const others = isRecord(schema.additionalProperties) ? schema.additionalProperties : undefined;
  return Object.fromEntries(
    Object.entries(value).flatMap(([field, inner]) => {
      const below = lookUp(schema.properties, field) ?? others;
      if (below === undefined) return [[field, inner]];
      return isForbiddenNull(below, inner) ? [] : [[field, withoutNulls(below, inner)]];
    }),
  );
}

/** A custom object with the defaults of its schema filled in, and without nulls that it forbids. */
export function customDefaults(type: Schematic, object: StoredObject): StoredObject {
  if (type.schema === undefined) return object;
  const { apiVersion, kind, metadata, ...fields } = object;
  const filled = defaulted(type.schema, fields);
  return { apiVersion, kind, metadata, ...(withoutNulls(type.schema, filled) as Raw) };
}

const unchecked: FieldError = {
  type: 'FieldValueInvalid',
  field: '<nil>',
  message:
    'Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
};

const withRules = new WeakMap<Schema, boolean>();

function hasRules(schema: Schema): boolean {
  const before = withRules.get(schema);
  if (before !== undefined) return before;
  const inner = [
    ...Object.values(schema.properties ?? {}),
    ...(schema.items === undefined ? [] : [schema.items]),
    ...(isRecord(schema.additionalProperties) ? [schema.additionalProperties] : []),
  ];
  const found = (schema.rules ?? []).length > 0 || inner.some(hasRules);
  withRules.set(schema, found);
  return found;
}

/**
 * The errors of a custom object under its schema: shape and values first. The CEL rules are checked
 * only when the shape is right.
 */
export function checkCustom(
  type: Schematic,
  object: StoredObject,
  before: StoredObject | undefined,
): readonly FieldError[] {
  if (type.schema === undefined) return [];
  const errors = schemaErrors(type.schema, object);
  if (errors.length > 0) return hasRules(type.schema) ? [...errors, unchecked] : errors;
  return celErrors(type.schema, object, before);
}
