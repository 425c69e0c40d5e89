import { lookUp } from '@dovetail/core-invariant';
import { isRecord, type Raw } from '@dovetail/core-kube-model';

import {
  duplicateValue,
  type FieldError,
  requiredValue,
  shownValue,
  unsupportedValue,
} from '../model/errors.js';
import { equalJson } from '../model/json.js';
import { formatProblem } from './formats.js';
import type { Schema } from './schema.js';

const typeName = (value: unknown): string => {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
};

const inBody = (path: string): string => (path === '' ? '' : `${path} in body `);
const complaint = (path: string, value: unknown, detail: string): FieldError => ({
  type: 'FieldValueInvalid',
  field: path === '' ? '<nil>' : path,
  message: `Invalid value: ${shownValue(value)}: ${inBody(path)}${detail}`,
});
const tooMany = (path: string, actual: number, max: number): FieldError => ({
  type: 'FieldValueTooMany',
  field: path,
  message: `Too many: ${actual}: must have at most ${max} items`,
});

function typeFits(schema: Schema, value: unknown): boolean {
  if (schema.intOrString === true)
    return typeof value === 'string' || (typeof value === 'number' && Number.isInteger(value));
  if (schema.type === undefined) return true;
  const found = typeName(value);
  return found === schema.type || (schema.type === 'number' && found === 'integer');
}

function typeError(path: string, schema: Schema, value: unknown): FieldError {
  const wanted = schema.intOrString === true ? 'integer,string' : (schema.type ?? '');
  return {
    type: 'FieldValueTypeInvalid',
    field: path === '' ? '<nil>' : path,
    message: `Invalid value: ${JSON.stringify(typeName(value))}: ${inBody(path)}must be of type ${wanted}: ${JSON.stringify(typeName(value))}`,
  };
}

function stringErrors(path: string, schema: Schema, value: string): readonly FieldError[] {
  const errors: FieldError[] = [];
  const length = [...value].length;
  if (schema.maxLength !== undefined && length > schema.maxLength)
    errors.push({
      type: 'FieldValueTooLong',
      field: path,
      message: `Too long: may not be more than ${schema.maxLength} bytes`,
    });
  if (schema.minLength !== undefined && length < schema.minLength)
    errors.push(complaint(path, value, `should be at least ${schema.minLength} chars long`));
  if (schema.pattern !== undefined && !patternOf(schema.pattern).test(value))
    errors.push(complaint(path, value, `should match '${schema.pattern}'`));
  const format = schema.format === undefined ? undefined : formatProblem(schema.format, value);
  if (format !== undefined) errors.push(complaint(path, value, format));
  return errors;
}

const patterns = new Map<string, RegExp>();

/** Go's regular expressions are JavaScript's but for inline flags, which are translated. */
export function patternOf(pattern: string): RegExp {
  let compiled = patterns.get(pattern);
  if (compiled === undefined) {
    const flags = /^\(\?([ims]+)\)/.exec(pattern);
    compiled =
      flags === null
        ? new RegExp(pattern, 'u')
        : new RegExp(pattern.slice(flags[0].length), `u${flags[1] ?? ''}`);
    patterns.set(pattern, compiled);
  }
  return compiled;
}

function numberErrors(path: string, schema: Schema, value: number): readonly FieldError[] {
  const errors: FieldError[] = [];
  const { minimum, maximum, multipleOf } = schema;
  if (
    maximum !== undefined &&
    (schema.exclusiveMaximum === true ? value >= maximum : value > maximum)
  )
    errors.push(
      complaint(
        path,
        value,
        `should be less than ${schema.exclusiveMaximum === true ? '' : 'or equal to '}${maximum}`,
      ),
    );
  if (
    minimum !== undefined &&
    (schema.exclusiveMinimum === true ? value <= minimum : value < minimum)
  )
    errors.push(
      complaint(
        path,
        value,
        `should be greater than ${schema.exclusiveMinimum === true ? '' : 'or equal to '}${minimum}`,
      ),
    );
  if (multipleOf !== undefined && value % multipleOf !== 0)
    errors.push(complaint(path, value, `should be a multiple of ${multipleOf}`));
  return errors;
}

function listErrors(
  path: string,
  schema: Schema,
  value: readonly unknown[],
): readonly FieldError[] {
  const errors: FieldError[] = [];
  if (schema.maxItems !== undefined && value.length > schema.maxItems)
    errors.push(tooMany(path, value.length, schema.maxItems));
  if (schema.minItems !== undefined && value.length < schema.minItems)
    errors.push(complaint(path, value.length, `should have at least ${schema.minItems} items`));
  const keys = schema.listMapKeys;
  value.forEach((item, index) => {
    if (schema.items !== undefined)
      errors.push(...valueErrors(`${path}[${index}]`, schema.items, item));
    const identity = (other: unknown): unknown =>
      schema.listType === 'map' && keys !== undefined && isRecord(other)
        ? keys.map((key) => lookUp(other, key))
        : other;
    const unique =
      schema.listType === 'map' || schema.listType === 'set' || schema.uniqueItems === true;
    if (
      unique &&
      value.slice(0, index).some((other) => equalJson(identity(other), identity(item)))
    ) {
      errors.push(
        duplicateValue(
          `${path}[${index}]`,
          schema.listType === 'map' && isRecord(item)
            ? Object.fromEntries((keys ?? []).map((key) => [key, lookUp(item, key)]))
            : item,
        ),
      );
    }
  });
  return errors;
}

function objectErrors(path: string, schema: Schema, value: Raw): readonly FieldError[] {
  const errors: FieldError[] = [];
  const at = (field: string): string => (path === '' ? field : `${path}.${field}`);
  const count = Object.keys(value).length;
  if (schema.maxProperties !== undefined && count > schema.maxProperties)
    errors.push(tooMany(path, count, schema.maxProperties));
  if (schema.minProperties !== undefined && count < schema.minProperties)
    errors.push(complaint(path, count, `should have at least ${schema.minProperties} properties`));
  for (const field of schema.required ?? [])
    if (lookUp(value, field) === undefined) errors.push(requiredValue(at(field)));
  for (const [field, inner] of Object.entries(value)) {
    const below =
      lookUp(schema.properties, field) ??
      (isRecord(schema.additionalProperties) ? schema.additionalProperties : undefined);
    if (below !== undefined) errors.push(...valueErrors(at(field), below, inner));
  }
  return errors;
}

function combinedErrors(path: string, schema: Schema, value: unknown): readonly FieldError[] {
  const passes = (one: Schema): boolean => valueErrors(path, one, value).length === 0;
  const errors = (schema.allOf ?? []).flatMap((one) => valueErrors(path, one, value));
  if (schema.anyOf !== undefined && !schema.anyOf.some(passes))
    errors.push(complaint(path, value, 'must validate at least one schema (anyOf)'));
  if (schema.oneOf !== undefined && schema.oneOf.filter(passes).length !== 1)
    errors.push(complaint(path, value, 'must validate one and only one schema (oneOf)'));
  if (schema.not !== undefined && passes(schema.not))
    errors.push(complaint(path, value, 'must not validate the schema (not)'));
  return errors;
}

function valueErrors(path: string, schema: Schema, value: unknown): readonly FieldError[] {
  if (value === null && schema.nullable === true) return [];
  if (!typeFits(schema, value)) return [typeError(path, schema, value)];
  const errors: FieldError[] = [...combinedErrors(path, schema, value)];
  if (schema.enum !== undefined && !schema.enum.some((one) => equalJson(one, value)))
    errors.push(unsupportedValue(path, value, schema.enum.map(String)));
  if (typeof value === 'string') errors.push(...stringErrors(path, schema, value));
  else if (typeof value === 'number') errors.push(...numberErrors(path, schema, value));
  else if (Array.isArray(value)) errors.push(...listErrors(path, schema, value));
  else if (isRecord(value)) errors.push(...objectErrors(path, schema, value));
  return errors;
}

/** The errors in the shape and the values of a custom object, in the API server's words. */
export function schemaErrors(schema: Schema, object: Raw): readonly FieldError[] {
  const { apiVersion: _version, kind: _kind, metadata: _metadata, ...fields } = object;
  const required = (schema.required ?? []).filter(
    (field) => field !== 'apiVersion' && field !== 'kind' && field !== 'metadata',
  );
  const { apiVersion: _a, kind: _k, metadata: _m, ...properties } = schema.properties ?? {};
  return valueErrors('', { ...schema, required, properties }, fields);
}
