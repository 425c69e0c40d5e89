// Writes src/schema/builtin-protobuf.ts: field numbers of the built-in kinds that clients may send as protobuf, read from the
// .proto files of the Go modules k8s.io/api and k8s.io/apimachinery. Run: node libs/sim/kube/tools/builtin-protobuf.mjs <module cache>/k8s.io v0.34.3
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const [root, version] = process.argv.slice(2);
const files = {
  'k8s.io.api.core.v1': `api@${version}/core/v1`, 'k8s.io.api.apps.v1': `api@${version}/apps/v1`, 'k8s.io.api.batch.v1': `api@${version}/batch/v1`, 'k8s.io.api.policy.v1': `api@${version}/policy/v1`,
  'k8s.io.api.coordination.v1': `api@${version}/coordination/v1`, 'k8s.io.api.scheduling.v1': `api@${version}/scheduling/v1`, 'k8s.io.api.storage.v1': `api@${version}/storage/v1`, 'k8s.io.api.rbac.v1': `api@${version}/rbac/v1`,
  'k8s.io.api.events.v1': `api@${version}/events/v1`, 'k8s.io.api.autoscaling.v1': `api@${version}/autoscaling/v1`, 'k8s.io.apimachinery.pkg.apis.meta.v1': `apimachinery@${version}/pkg/apis/meta/v1`,
};
const wanted = {
  'k8s.io.api.core.v1': ['Pod', 'Node', 'Namespace', 'Event', 'Service', 'ConfigMap', 'Secret', 'ServiceAccount', 'PersistentVolume', 'PersistentVolumeClaim', 'ResourceQuota', 'Binding'],
  'k8s.io.api.apps.v1': ['Deployment', 'ReplicaSet', 'DaemonSet', 'StatefulSet'], 'k8s.io.api.batch.v1': ['Job'], 'k8s.io.api.policy.v1': ['PodDisruptionBudget', 'Eviction'],
  'k8s.io.api.coordination.v1': ['Lease'], 'k8s.io.api.scheduling.v1': ['PriorityClass'], 'k8s.io.api.storage.v1': ['StorageClass', 'CSINode', 'VolumeAttachment'], 'k8s.io.api.events.v1': ['Event'],
  'k8s.io.api.rbac.v1': ['Role', 'RoleBinding', 'ClusterRole', 'ClusterRoleBinding'], 'k8s.io.api.autoscaling.v1': ['Scale'], 'k8s.io.apimachinery.pkg.apis.meta.v1': ['DeleteOptions'],
};
const all = {};
for (const [pkg, path] of Object.entries(files)) {
  const text = readFileSync(join(root, path, 'generated.proto'), 'utf8').replace(/^\s*\/\/.*$/gm, '');
  for (const [, name, body] of text.matchAll(/^message (\w+) \{([\s\S]*?)^\}/gm)) {
    const fields = {};
    for (const [, label, type, field, number] of body.matchAll(/^\s*(optional|repeated|map<[^>]+>)\s*([\w.]+)?\s+(\w+) = (\d+);/gm)) {
      const full = (t) => (/^(string|bool|bytes|double|float|u?int\d+)$/.test(t) ? t : t.replace(/^\./, '').includes('.') ? t.replace(/^\./, '') : `${pkg}.${t}`);
      const map = /^map<string, (.+)>$/.exec(label);
      fields[number] = map ? [field, full(map[1]), 'map'] : [field, full(type), ...(label === 'repeated' ? ['list'] : [])];
    }
    // Maps have their type in the label and no separate type word.
    for (const [, type, field, number] of body.matchAll(/^\s*map<string, ([\w.]+)>\s+(\w+) = (\d+);/gm)) {
      const t = /^(string|bytes)$/.test(type) ? type : type.replace(/^\./, '').includes('.') ? type.replace(/^\./, '') : `${pkg}.${type}`;
      fields[number] = [field, t, 'map'];
    }
    all[`${pkg}.${name}`] = fields;
  }
}
const messages = {};
const visit = (name) => {
  if (messages[name] !== undefined || all[name] === undefined) return;
  messages[name] = all[name];
  for (const [, type] of Object.values(all[name])) visit(type);
};
const roots = {};
const groups = { core: '', apps: 'apps', batch: 'batch', policy: 'policy', coordination: 'coordination.k8s.io', scheduling: 'scheduling.k8s.io', storage: 'storage.k8s.io', rbac: 'rbac.authorization.k8s.io', events: 'events.k8s.io', autoscaling: 'autoscaling', meta: 'meta' };
for (const [pkg, kinds] of Object.entries(wanted)) {
  for (const kind of kinds) {
    const group = groups[pkg.split('.').at(-2)];
    roots[group === 'meta' ? kind : `${group === '' ? 'v1' : `${group}/v1`}/${kind}`] = `${pkg}.${kind}`;
    visit(`${pkg}.${kind}`);
  }
}
const short = (name) => name.replace(/^k8s\.io\.(apimachinery\.pkg\.apis\.|apimachinery\.pkg\.|api\.)/, '');
const shortened = Object.fromEntries(Object.entries(messages).map(([name, fields]) => [short(name), Object.fromEntries(Object.entries(fields).map(([n, [f, t, ...r]]) => [n, [f, short(t), ...r]]))]));
const text = JSON.stringify({ roots: Object.fromEntries(Object.entries(roots).map(([k, v]) => [k, short(v)])), messages: shortened });
writeFileSync(new URL('../src/schema/builtin-protobuf.ts', import.meta.url), `// Written by tools/builtin-protobuf.mjs from the .proto files of k8s.io/api and k8s.io/apimachinery v0.34.3; do not edit.
/** Field numbers of the built-in kinds as JSON text: messages by name, and which message is which kind. */
export const builtinProtobufJson: string =
  '${text}';
`);
console.log(Object.keys(shortened).length, text.length);
