import { put } from '@dovetail/core-invariant';
import { isRecord, type Raw, recordOf } from '@dovetail/core-kube-model';

import { servedVersion } from '../model/served-resources.js';
import type { Registry } from '../store/registry.js';
import { openApiPaths } from './discovery.js';
import { openApiDocument } from './openapi.js';

const v3Prefix = '#/components/schemas/';
const v2Prefix = '#/definitions/';

/** Of values that OpenAPI v2 cannot describe, kube-apiserver publishes no shape. */
const withoutShape = (schema: Raw): boolean =>
  schema['nullable'] === true || schema['x-kubernetes-preserve-unknown-fields'] === true;

/** The schema that this one only refers to; v3 wraps it so that other fields can stand beside. */
function referenceIn(schema: Raw): string | undefined {
  const { allOf } = schema;
  const only = Array.isArray(allOf) && allOf.length === 1 ? recordOf(allOf[0]) : {};
  const reference = only['$ref'];
  return typeof reference === 'string' ? reference.replace(v3Prefix, v2Prefix) : undefined;
}

function inner(schema: Raw): Record<string, unknown> {
  const { properties, items, additionalProperties } = schema;
  return {
    ...(isRecord(properties)
      ? {
          properties: Object.fromEntries(
            Object.entries(properties).map(([name, below]) => [name, asV2(recordOf(below))]),
          ),
        }
      : {}),
    ...(isRecord(items) ? { items: asV2(items) } : {}),
    ...(isRecord(additionalProperties) ? { additionalProperties: asV2(additionalProperties) } : {}),
  };
}

const extensionsOf = (schema: Raw): Record<string, unknown> =>
  Object.fromEntries(Object.entries(schema).filter(([field]) => field.startsWith('x-')));

/** A schema of OpenAPI v3 as OpenAPI v2 says it, which knows no alternatives and no null. */
function asV2(schema: Raw): Record<string, unknown> {
  const extensions = extensionsOf(schema);
  const reference = referenceIn(schema);
  if (reference !== undefined) return { ...extensions, $ref: reference };
  if (withoutShape(schema)) return extensions;
  if (Array.isArray(schema['oneOf']) && schema['type'] === undefined)
    return { ...extensions, type: 'string', format: 'int-or-string' };
  const { type, format, required } = schema;
  return {
    ...extensions,
    ...(type === undefined ? {} : { type }),
    ...(format === undefined ? {} : { format }),
    ...(required === undefined ? {} : { required }),
    ...inner(schema),
  };
}

/**
 * The OpenAPI v2 document: the shapes of all kinds that are served. kubectl checks the items of a
 * `kind: List` with it. It has no paths, because clients of this age read those from v3.
 */
export function openApiV2Document(registry: Registry): Raw {
  const definitions: Record<string, unknown> = {};
  for (const path of openApiPaths(registry)) {
    const components = recordOf(recordOf(openApiDocument(registry, path))['components']);
    for (const [name, schema] of Object.entries(recordOf(components['schemas'])))
      if (!Object.hasOwn(definitions, name)) put(definitions, name, asV2(recordOf(schema)));
  }
  const info = { title: 'Kubernetes', version: servedVersion.gitVersion };
  return { swagger: '2.0', info, paths: {}, definitions };
}
