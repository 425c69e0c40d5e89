import { lookUp, put } from '@dovetail/core-invariant';
import { isRecord, type Raw, recordOf } from '@dovetail/core-kube-model';

import { listOf, textOf } from '../model/json.js';
import type { Rule, Schema } from './schema.js';

const copied = [
  'type',
  'format',
  'required',
  'default',
  'enum',
  'nullable',
  'pattern',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minItems',
  'maxItems',
  'uniqueItems',
  'minProperties',
  'maxProperties',
] as const;

const extensions: readonly (readonly [string, keyof Schema])[] = [
  ['x-kubernetes-int-or-string', 'intOrString'],
  ['x-kubernetes-preserve-unknown-fields', 'preserveUnknown'],
  ['x-kubernetes-embedded-resource', 'embedded'],
  ['x-kubernetes-list-type', 'listType'],
  ['x-kubernetes-list-map-keys', 'listMapKeys'],
  ['x-kubernetes-map-type', 'mapType'],
];

function rulesOf(openApi: Raw): readonly Rule[] {
  return listOf(openApi['x-kubernetes-validations'])
    .filter(isRecord)
    .map((rule) => ({ ...rule, rule: textOf(rule['rule']) }));
}

/**
 * A CustomResourceDefinition's openAPIV3Schema in the form that decoding, defaulting and validation
 * read.
 */
export function schemaFromOpenApi(openApi: Raw): Schema {
  const schema: Record<string, unknown> = {};
  for (const field of copied) if (openApi[field] !== undefined) schema[field] = openApi[field];
  for (const [from, to] of extensions)
    if (lookUp(openApi, from) !== undefined) schema[to] = lookUp(openApi, from);
  if (isRecord(openApi['properties']))
    schema['properties'] = Object.fromEntries(
      Object.entries(openApi['properties']).map(([name, inner]) => [
        name,
        schemaFromOpenApi(recordOf(inner)),
      ]),
    );
  const additional = openApi['additionalProperties'];
  if (additional !== undefined)
    schema['additionalProperties'] = isRecord(additional)
      ? schemaFromOpenApi(additional)
      : additional;
  if (isRecord(openApi['items'])) schema['items'] = schemaFromOpenApi(openApi['items']);
  for (const field of ['allOf', 'anyOf', 'oneOf'])
    if (Array.isArray(lookUp(openApi, field)))
      put(
        schema,
        field,
        listOf(lookUp(openApi, field)).map((inner) => schemaFromOpenApi(recordOf(inner))),
      );
  if (isRecord(openApi['not'])) schema['not'] = schemaFromOpenApi(openApi['not']);
  const rules = rulesOf(openApi);
  if (rules.length > 0) schema['rules'] = rules;
  return schema;
}
