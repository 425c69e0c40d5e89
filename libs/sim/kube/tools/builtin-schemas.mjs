// Writes src/schema/builtin-schemas.ts: the shapes of the built-in kinds, as a real kube-apiserver publishes them in its
// OpenAPI v3 documents, without descriptions. Run: KUBECONFIG=<a real one> node libs/sim/kube/tools/builtin-schemas.mjs
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';

const served = {
  'api/v1': ['Pod', 'Node', 'Namespace', 'Event', 'Service', 'ConfigMap', 'Secret', 'ServiceAccount', 'PersistentVolume', 'PersistentVolumeClaim', 'ResourceQuota', 'Binding', 'Endpoints', 'LimitRange', 'ReplicationController', 'PodTemplate'],
  'apis/apps/v1': ['Deployment', 'ReplicaSet', 'DaemonSet', 'StatefulSet', 'ControllerRevision'],
  'apis/batch/v1': ['Job', 'CronJob'],
  'apis/policy/v1': ['PodDisruptionBudget', 'Eviction'],
  'apis/autoscaling/v1': ['Scale'],
  'apis/coordination.k8s.io/v1': ['Lease'],
  'apis/storage.k8s.io/v1': ['StorageClass', 'CSINode', 'VolumeAttachment', 'CSIDriver'],
  'apis/events.k8s.io/v1': ['Event'],
  'apis/scheduling.k8s.io/v1': ['PriorityClass'],
  'apis/rbac.authorization.k8s.io/v1': ['Role', 'RoleBinding', 'ClusterRole', 'ClusterRoleBinding'],
  'apis/apiextensions.k8s.io/v1': ['CustomResourceDefinition'],
  'apis/networking.k8s.io/v1': ['NetworkPolicy'],
};
const short = (name) => name.replace(/^io\.k8s\.(apimachinery\.pkg\.apis|apimachinery\.pkg|apiextensions-apiserver\.pkg\.apis|api)\./, '');
const definitions = {};
const keep = { type: 1, format: 1, required: 1, default: 1, enum: 1 };

function compact(schema) {
  const out = {};
  for (const key of Object.keys(keep)) if (schema[key] !== undefined) out[key] = schema[key];
  const ref = schema.$ref ?? schema.allOf?.[0]?.$ref;
  if (ref !== undefined) {
    out.ref = short(ref.replace('#/components/schemas/', ''));
    delete out.default;
  }
  if (schema.oneOf !== undefined) out.format = 'int-or-string';
  if (schema.properties) out.properties = Object.fromEntries(Object.entries(schema.properties).map(([k, v]) => [k, compact(v)]));
  if (schema.items) out.items = compact(schema.items);
  if (schema.additionalProperties) out.additionalProperties = compact(schema.additionalProperties);
  if (schema['x-kubernetes-list-type']) out.listType = schema['x-kubernetes-list-type'];
  if (schema['x-kubernetes-list-map-keys']) out.listMapKeys = schema['x-kubernetes-list-map-keys'];
  if (schema['x-kubernetes-patch-merge-key']) out.patchMergeKey = schema['x-kubernetes-patch-merge-key'];
  if (schema['x-kubernetes-patch-strategy']) out.patchStrategy = schema['x-kubernetes-patch-strategy'];
  if (schema['x-kubernetes-map-type']) out.mapType = schema['x-kubernetes-map-type'];
  return out;
}
function visit(schemas, name) {
  if (definitions[short(name)] !== undefined) return;
  const out = compact(schemas[name]);
  definitions[short(name)] = out;
  JSON.stringify(schemas[name], (key, value) => {
    if (key === '$ref' && typeof value === 'string') visit(schemas, value.replace('#/components/schemas/', ''));
    return value;
  });
}
const roots = {};
for (const [path, kinds] of Object.entries(served)) {
  const doc = JSON.parse(execFileSync('kubectl', ['get', '--raw', `/openapi/v3/${path}`], { maxBuffer: 1 << 28 }).toString());
  for (const [name, schema] of Object.entries(doc.components.schemas)) {
    for (const gvk of schema['x-kubernetes-group-version-kind'] ?? []) {
      const [group, version] = path === 'api/v1' ? ['', 'v1'] : path.split('/').slice(1);
      if (gvk.group !== group || gvk.version !== version || !kinds.includes(gvk.kind)) continue;
      roots[`${group}/${version}/${gvk.kind}`] = short(name);
      visit(doc.components.schemas, name);
    }
  }
}
const sorted = (o) => Object.fromEntries(Object.entries(o).sort(([a], [b]) => (a < b ? -1 : 1)));
const text = JSON.stringify({ roots: sorted(roots), definitions: sorted(definitions) });
const out = `// Written by tools/builtin-schemas.mjs from kube-apiserver 1.34's OpenAPI v3 documents; do not edit.
/** The shapes of the built-in kinds as JSON text: roots by "group/version/kind", and the definitions they refer to. */
export const builtinSchemasJson: string =
  ${JSON.stringify(text).replaceAll("'", "\\u0027").replace(/^"|"$/g, "'").replaceAll('\\"', '"')};
`;
writeFileSync(new URL('../src/schema/builtin-schemas.ts', import.meta.url), out);
console.log(Object.keys(definitions).length, text.length);
