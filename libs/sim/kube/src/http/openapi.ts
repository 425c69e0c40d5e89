import { createHash } from 'node:crypto';

import { lookUp, put } from '@dovetail/core-invariant';
import { isRecord } from '@dovetail/core-kube-model';

import { builtinDefinitions, type Schema } from '../schema/schema.js';
import { apiVersionOf, type Registry, type ResourceType } from '../store/registry.js';
import { openApiPaths } from './discovery.js';

const renamed: Readonly<Record<string, string>> = {
  listType: 'x-kubernetes-list-type',
  listMapKeys: 'x-kubernetes-list-map-keys',
  mapType: 'x-kubernetes-map-type',
  patchMergeKey: 'x-kubernetes-patch-merge-key',
  patchStrategy: 'x-kubernetes-patch-strategy',
  intOrString: 'x-kubernetes-int-or-string',
  preserveUnknown: 'x-kubernetes-preserve-unknown-fields',
  embedded: 'x-kubernetes-embedded-resource',
  rules: 'x-kubernetes-validations',
};

type Out = Record<string, unknown>;

function published(schema: Schema, refs: Set<string>): Out {
  const out: Out = {};
  for (const [field, value] of Object.entries(schema)) {
    if (field === 'ref') {
      refs.add(value as string);
      out['allOf'] = [{ $ref: `#/components/schemas/${value as string}` }];
    } else if (field === 'properties') {
      out['properties'] = Object.fromEntries(
        Object.entries(value as Record<string, Schema>).map(([name, inner]) => [
          name,
          published(inner, refs),
        ]),
      );
    } else if (field === 'items' || field === 'not') out[field] = published(value as Schema, refs);
    else if (field === 'additionalProperties')
      out[field] = isRecord(value) ? published(value, refs) : value;
    else if (field === 'allOf' || field === 'anyOf' || field === 'oneOf')
      out[field] = (value as Schema[]).map((inner) => published(inner, refs));
    else if (field === 'format' && value === 'int-or-string')
      out['oneOf'] = [{ type: 'string' }, { type: 'number' }];
    else put(out, lookUp(renamed, field) ?? field, value);
  }
  return out;
}

const metadataSchema = 'meta.v1.ObjectMeta';

function rootSchema(type: ResourceType, refs: Set<string>): Out {
  const gvk = [{ group: type.group, version: type.version, kind: type.kind }];
  const schema = type.schema ?? { type: 'object' };
  if (!type.custom && schema.ref !== undefined) {
    const definition = lookUp(builtinDefinitions(), schema.ref) ?? {};
    return { ...published(definition, refs), 'x-kubernetes-group-version-kind': gvk };
  }
  const out = published(schema, refs);
  refs.add(metadataSchema);
  const properties = {
    apiVersion: { type: 'string' },
    kind: { type: 'string' },
    ...(out['properties'] as object | undefined),
    metadata: { allOf: [{ $ref: `#/components/schemas/${metadataSchema}` }] },
  };
  return { ...out, properties, 'x-kubernetes-group-version-kind': gvk };
}

/** The parameters that tell kubectl what it may ask of a patch. */
const parameters = ['dryRun', 'fieldManager', 'fieldValidation', 'force'].map((name) => ({
  name,
  in: 'query',
  schema: { type: name === 'force' ? 'boolean' : 'string', uniqueItems: true },
}));

function operations(type: ResourceType): Out {
  const gvk = { group: type.group, version: type.version, kind: type.kind };
  const operation = (action: string): Out => ({
    'x-kubernetes-action': action,
    'x-kubernetes-group-version-kind': gvk,
    parameters,
    responses: { 200: { description: 'OK' } },
  });
  const base = `/${type.group === '' ? 'api' : 'apis'}/${apiVersionOf(type)}${type.namespaced ? '/namespaces/{namespace}' : ''}/${type.plural}`;
  return {
    [base]: { get: operation('list'), post: operation('post') },
    [`${base}/{name}`]: {
      get: operation('get'),
      put: operation('put'),
      patch: operation('patch'),
      delete: operation('delete'),
    },
  };
}

const schemaName = (type: ResourceType): string =>
  type.schema?.ref ?? `${type.group}.${type.version}.${type.kind}`;

/** The OpenAPI v3 document of one group and version; undefined when nothing is served there. */
export function openApiDocument(registry: Registry, path: string): object | undefined {
  const types = registry
    .all()
    .filter(
      (type) => (type.group === '' ? `api/${type.version}` : `apis/${apiVersionOf(type)}`) === path,
    );
  if (types.length === 0) return undefined;
  const refs = new Set<string>();
  const schemas: Out = {};
  for (const type of types) put(schemas, schemaName(type), rootSchema(type, refs));
  for (const ref of refs) {
    const definition = lookUp(builtinDefinitions(), ref);
    if (lookUp(schemas, ref) === undefined && definition !== undefined)
      put(schemas, ref, published(definition, refs));
  }
  const paths = Object.assign({}, ...types.map(operations)) as object;
  return {
    openapi: '3.0.0',
    info: { title: 'Kubernetes', version: 'v1.34.3' },
    paths,
    components: { schemas },
  };
}

/** Where each document is, with a hash that changes when it does. */
export function openApiIndex(registry: Registry): object {
  const paths = openApiPaths(registry).map((path) => {
    const hash = createHash('sha256')
      .update(JSON.stringify(openApiDocument(registry, path)))
      .digest('hex')
      .toUpperCase();
    return [path, { serverRelativeURL: `/openapi/v3/${path}?hash=${hash}` }] as const;
  });
  return { paths: Object.fromEntries(paths) };
}
