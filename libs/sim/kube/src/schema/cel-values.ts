import { lookUp } from '@dovetail/core-invariant';
import { isRecord } from '@dovetail/core-kube-model';

import type { Schema } from './schema.js';

const keywords = new Set([
  'true',
  'false',
  'null',
  'in',
  'as',
  'break',
  'const',
  'continue',
  'else',
  'for',
  'function',
  'if',
  'import',
  'let',
  'loop',
  'package',
  'namespace',
  'return',
  'var',
  'void',
  'while',
]);

/**
 * The name of a property in rules. Keywords and characters that identifiers lack are escaped, as in
 * Kubernetes.
 */
function celFieldName(name: string): string {
  if (keywords.has(name)) return `__${name}__`;
  return name
    .replaceAll('__', '__underscores__')
    .replaceAll('.', '__dot__')
    .replaceAll('-', '__dash__')
    .replaceAll('/', '__slash__');
}

/**
 * A JSON value as CEL reads it under its schema. Integers become ints, other numbers doubles, and
 * properties get CEL names.
 */
export function celValue(schema: Schema | undefined, value: unknown): unknown {
  if (typeof value === 'number')
    return schema?.type === 'integer' || (schema?.type !== 'number' && Number.isInteger(value))
      ? BigInt(value)
      : value;
  if (Array.isArray(value)) return value.map((item: unknown) => celValue(schema?.items, item));
  if (!isRecord(value)) return value;
  const inners = isRecord(schema?.additionalProperties) ? schema.additionalProperties : undefined;
  // The evaluator takes an object with the key `constructor` for one of an unknown class.
  return new Map(
    Object.entries(value).map(([field, inner]) => {
      const property = lookUp(schema?.properties, field);
      return property === undefined
        ? [field, celValue(inners, inner)]
        : [celFieldName(field), celValue(property, inner)];
    }),
  );
}
