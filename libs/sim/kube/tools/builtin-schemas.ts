/**
 * Writes src/schema/builtin-schemas.ts: the shapes of the built-in kinds, as a real kube-apiserver
 * publishes them in its OpenAPI v3 documents, without descriptions.
 * Run: KUBECONFIG=<of a real one> npx tsx libs/sim/kube/tools/builtin-schemas.ts
 */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';

import { compareText } from '@dovetail/core-kube-model';

type OpenApi = { readonly [field: string]: unknown };
type GroupVersionKind = { readonly group: string; readonly version: string; readonly kind: string };

/** The kinds to take, by the path of their OpenAPI document. */
const served: Readonly<Record<string, readonly string[]>> = {
  'api/v1': [
    'Pod',
    'Node',
    'Namespace',
    'Event',
    'Service',
    'ConfigMap',
    'Secret',
    'ServiceAccount',
    'PersistentVolume',
    'PersistentVolumeClaim',
    'ResourceQuota',
    'Binding',
    'Endpoints',
    'LimitRange',
    'ReplicationController',
    'PodTemplate',
  ],
  'apis/apps/v1': ['Deployment', 'ReplicaSet', 'DaemonSet', 'StatefulSet', 'ControllerRevision'],
  'apis/batch/v1': ['Job', 'CronJob'],
  'apis/policy/v1': ['PodDisruptionBudget', 'Eviction'],
  'apis/autoscaling/v1': ['Scale', 'HorizontalPodAutoscaler'],
  'apis/autoscaling/v2': ['HorizontalPodAutoscaler'],
  'apis/node.k8s.io/v1': ['RuntimeClass'],
  'apis/coordination.k8s.io/v1': ['Lease'],
  'apis/storage.k8s.io/v1': ['StorageClass', 'CSINode', 'VolumeAttachment', 'CSIDriver'],
  'apis/events.k8s.io/v1': ['Event'],
  'apis/scheduling.k8s.io/v1': ['PriorityClass'],
  'apis/rbac.authorization.k8s.io/v1': ['Role', 'RoleBinding', 'ClusterRole', 'ClusterRoleBinding'],
  'apis/apiextensions.k8s.io/v1': ['CustomResourceDefinition'],
  'apis/networking.k8s.io/v1': ['NetworkPolicy', 'Ingress'],
};

const copied = ['type', 'format', 'required', 'default', 'enum'];
const renamed: readonly (readonly [string, string])[] = [
  ['x-kubernetes-list-type', 'listType'],
  ['x-kubernetes-list-map-keys', 'listMapKeys'],
  ['x-kubernetes-patch-merge-key', 'patchMergeKey'],
  ['x-kubernetes-patch-strategy', 'patchStrategy'],
  ['x-kubernetes-map-type', 'mapType'],
];

const refPrefix = '#/components/schemas/';

const short = (name: string): string =>
  name.replace(
    /^io\.k8s\.(apimachinery\.pkg\.apis|apimachinery\.pkg|apiextensions-apiserver\.pkg\.apis|api)\./,
    '',
  );

/** The schema that this one refers to, directly or as the first of `allOf`. */
function refOf(schema: OpenApi): string | undefined {
  const [first] = (schema['allOf'] ?? []) as readonly OpenApi[];
  const ref = (schema['$ref'] ?? first?.['$ref']) as string | undefined;
  return ref === undefined ? undefined : short(ref.replace(refPrefix, ''));
}

/** A schema in the form that the twin reads. */
function compact(schema: OpenApi): OpenApi {
  const out: Record<string, unknown> = {};
  for (const field of copied) if (schema[field] !== undefined) out[field] = schema[field];
  const ref = refOf(schema);
  if (ref !== undefined) {
    out['ref'] = ref;
    delete out['default'];
  }
  if (schema['oneOf'] !== undefined) out['format'] = 'int-or-string';
  if (schema['properties'] !== undefined)
    out['properties'] = Object.fromEntries(
      Object.entries(schema['properties'] as OpenApi).map(([name, inner]) => [
        name,
        compact(inner as OpenApi),
      ]),
    );
  for (const field of ['items', 'additionalProperties'])
    if (schema[field] !== undefined && schema[field] !== false)
      out[field] = compact(schema[field] as OpenApi);
  for (const [from, to] of renamed) if (schema[from] !== undefined) out[to] = schema[from];
  return out;
}

type Schemas = Readonly<Record<string, OpenApi>>;

/** Adds a schema and all that it refers to. */
function visit(definitions: Record<string, OpenApi>, schemas: Schemas, name: string): void {
  const schema = schemas[name];
  if (schema === undefined || definitions[short(name)] !== undefined) return;
  definitions[short(name)] = compact(schema);
  JSON.stringify(schema, (key, value: unknown) => {
    if (key === '$ref' && typeof value === 'string')
      visit(definitions, schemas, value.replace(refPrefix, ''));
    return value;
  });
}

function schemasAt(path: string): Schemas {
  const text = execFileSync('kubectl', ['get', '--raw', `/openapi/v3/${path}`], {
    maxBuffer: 2 ** 28,
    encoding: 'utf8',
  });
  return (JSON.parse(text) as { components: { schemas: Schemas } }).components.schemas;
}

const sorted = (values: Readonly<Record<string, unknown>>): object =>
  Object.fromEntries(Object.entries(values).sort(([left], [right]) => compareText(left, right)));

function main(): void {
  const definitions: Record<string, OpenApi> = {};
  const roots: Record<string, string> = {};
  for (const [path, kinds] of Object.entries(served)) {
    const schemas = schemasAt(path);
    const [group, version] = path === 'api/v1' ? ['', 'v1'] : path.split('/').slice(1);
    for (const [name, schema] of Object.entries(schemas)) {
      const named = (schema['x-kubernetes-group-version-kind'] ??
        []) as readonly GroupVersionKind[];
      for (const gvk of named) {
        if (gvk.group !== group || gvk.version !== version || !kinds.includes(gvk.kind)) continue;
        roots[`${gvk.group}/${gvk.version}/${gvk.kind}`] = short(name);
        visit(definitions, schemas, name);
      }
    }
  }
  const text = JSON.stringify({ roots: sorted(roots), definitions: sorted(definitions) });
  const literal = JSON.stringify(text)
    .replaceAll("'", '\\u0027')
    .replace(/^"|"$/g, "'")
    .replaceAll('\\"', '"');
  writeFileSync(
    new URL('../src/schema/builtin-schemas.ts', import.meta.url),
    `// Written by tools/builtin-schemas.ts from kube-apiserver 1.34's OpenAPI v3 documents; do not edit.
/** Shapes of the built-in kinds as JSON text: roots by "group/version/kind", and definitions. */
export const builtinSchemasJson: string =
  ${literal};
`,
  );
  process.stdout.write(
    `${Object.keys(definitions).length} definitions, ${text.length} characters\n`,
  );
}

main();
