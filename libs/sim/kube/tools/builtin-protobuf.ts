/**
 * Writes src/schema/builtin-protobuf.ts: the field numbers of the built-in kinds that clients may
 * send as protobuf, from the .proto files of the Go modules k8s.io/api and k8s.io/apimachinery.
 * Run: npx tsx libs/sim/kube/tools/builtin-protobuf.ts <module cache>/k8s.io v0.34.3
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A field: its name, the name of its type, and `list` or `map` when it repeats. */
type Field = readonly [name: string, type: string, shape?: 'list' | 'map'];
type Fields = Readonly<Record<string, Field>>;

/**
 * A package of Kubernetes' API: its folder in the module cache, its API group, and the kinds to
 * take.
 */
type ProtoPackage = {
  readonly name: string;
  readonly module: 'api' | 'apimachinery';
  readonly folder: string;
  /** Undefined for kinds that are sent without a group. */
  readonly group: string | undefined;
  readonly version: string;
  readonly kinds: readonly string[];
};

const coreKinds = [
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
];

const apiPackage = (
  name: string,
  group: string,
  kinds: readonly string[],
  version = 'v1',
): ProtoPackage => ({
  name: `k8s.io.api.${name}.${version}`,
  module: 'api',
  folder: `${name}/${version}`,
  group,
  version,
  kinds,
});

const packages: readonly ProtoPackage[] = [
  apiPackage('core', '', coreKinds),
  apiPackage('apps', 'apps', ['Deployment', 'ReplicaSet', 'DaemonSet', 'StatefulSet']),
  apiPackage('batch', 'batch', ['Job', 'CronJob']),
  apiPackage('policy', 'policy', ['PodDisruptionBudget', 'Eviction']),
  apiPackage('coordination', 'coordination.k8s.io', ['Lease']),
  apiPackage('scheduling', 'scheduling.k8s.io', ['PriorityClass']),
  apiPackage('storage', 'storage.k8s.io', ['StorageClass', 'CSINode', 'VolumeAttachment']),
  apiPackage('events', 'events.k8s.io', ['Event']),
  apiPackage('rbac', 'rbac.authorization.k8s.io', [
    'Role',
    'RoleBinding',
    'ClusterRole',
    'ClusterRoleBinding',
  ]),
  apiPackage('autoscaling', 'autoscaling', ['Scale', 'HorizontalPodAutoscaler']),
  apiPackage('autoscaling', 'autoscaling', ['HorizontalPodAutoscaler'], 'v2'),
  {
    name: 'k8s.io.apimachinery.pkg.apis.meta.v1',
    module: 'apimachinery',
    folder: 'pkg/apis/meta/v1',
    group: undefined,
    version: 'v1',
    kinds: ['DeleteOptions'],
  },
];

const isScalar = (type: string): boolean =>
  /^(string|bool|bytes|double|float|u?int\d+)$/.test(type);

/** The full name of a type as a field of this package names it. */
function fullName(type: string, packageName: string): string {
  const name = type.replace(/^\./, '');
  return isScalar(type) || name.includes('.') ? name : `${packageName}.${name}`;
}

function fieldsOf(body: string, packageName: string): Fields {
  const fields: Record<string, Field> = {};
  for (const match of body.matchAll(/^\s*(optional|repeated)\s+([\w.]+)\s+(\w+) = (\d+);/gm)) {
    const [, label, type = '', name = '', number = ''] = match;
    const full = fullName(type, packageName);
    fields[number] = label === 'repeated' ? [name, full, 'list'] : [name, full];
  }
  for (const match of body.matchAll(/^\s*map<string, ([\w.]+)>\s+(\w+) = (\d+);/gm)) {
    const [, type = '', name = '', number = ''] = match;
    fields[number] = [name, fullName(type, packageName), 'map'];
  }
  return fields;
}

/** The messages of one package's generated.proto, by full name. */
function messagesOf(text: string, packageName: string): Readonly<Record<string, Fields>> {
  const withoutComments = text.replace(/^\s*\/\/.*$/gm, '');
  const found = withoutComments.matchAll(/^message (\w+) \{([\s\S]*?)^\}/gm);
  return Object.fromEntries(
    [...found].map(([, name = '', body = '']) => [
      `${packageName}.${name}`,
      fieldsOf(body, packageName),
    ]),
  );
}

/** The messages that the roots reach, in the order of the walk. */
function reached(
  all: Readonly<Record<string, Fields>>,
  roots: readonly string[],
): Readonly<Record<string, Fields>> {
  const messages: Record<string, Fields> = {};
  const visit = (name: string): void => {
    const fields = all[name];
    if (fields === undefined || messages[name] !== undefined) return;
    messages[name] = fields;
    for (const [, type] of Object.values(fields)) visit(type);
  };
  roots.forEach(visit);
  return messages;
}

const short = (name: string): string =>
  name.replace(/^k8s\.io\.(apimachinery\.pkg\.apis\.|apimachinery\.pkg\.|api\.)/, '');

const shortField = ([name, type, shape]: Field): Field =>
  shape === undefined ? [name, short(type)] : [name, short(type), shape];

function rootKey({ group, version }: ProtoPackage, kind: string): string {
  if (group === undefined) return kind;
  return `${group === '' ? version : `${group}/${version}`}/${kind}`;
}

/** Writes the generated module. */
function write(text: string, version: string): void {
  writeFileSync(
    new URL('../src/schema/builtin-protobuf.ts', import.meta.url),
    `// Written by tools/builtin-protobuf.ts from the .proto files of k8s.io/api and
// k8s.io/apimachinery ${version}; do not edit.
/** Field numbers of the built-in kinds as JSON text: messages by name, and the kinds' messages. */
export const builtinProtobufJson: string =
  '${text}';
`,
  );
}

function main([root, version]: readonly string[]): void {
  if (root === undefined || version === undefined)
    throw new Error('give the folder k8s.io of a Go module cache, and a version such as v0.34.3');
  const all = Object.assign(
    {},
    ...packages.map(({ name, module, folder }) =>
      messagesOf(
        readFileSync(join(root, `${module}@${version}`, folder, 'generated.proto'), 'utf8'),
        name,
      ),
    ),
  ) as Record<string, Fields>;
  const roots = packages.flatMap((each) =>
    each.kinds.map((kind) => [rootKey(each, kind), `${each.name}.${kind}`] as const),
  );
  const messages = reached(
    all,
    roots.map(([, name]) => name),
  );
  const text = JSON.stringify({
    roots: Object.fromEntries(roots.map(([key, name]) => [key, short(name)])),
    messages: Object.fromEntries(
      Object.entries(messages).map(([name, fields]) => [
        short(name),
        Object.fromEntries(
          Object.entries(fields).map(([number, field]) => [number, shortField(field)]),
        ),
      ]),
    ),
  });
  write(text, version);
  process.stdout.write(`${Object.keys(messages).length} messages, ${text.length} characters\n`);
}

main(process.argv.slice(2));
