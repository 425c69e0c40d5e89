import { compareText, isRecord, recordOf } from '@dovetail/core-kube-model';
import { parse } from 'yaml';

import { crdFiles } from '../crds/files.js';

/**
 * The fields of a value: a shape by name, any value (0), a list or a map of a shape (in brackets),
 * or the fields of an object.
 */
type Shape = string | 0 | readonly [Shape] | { readonly [field: string]: Shape };

/** The kinds of Kubernetes that `dovetail simulate` reads, by group and version. */
const builtinRoots = [
  ['v1', 'Pod', 'Node', 'Namespace', 'PersistentVolume', 'PersistentVolumeClaim', 'LimitRange'],
  ['v1', 'ReplicationController'],
  ['apps/v1', 'Deployment', 'ReplicaSet', 'StatefulSet', 'DaemonSet'],
  ['batch/v1', 'Job', 'CronJob'],
  ['autoscaling/v1', 'HorizontalPodAutoscaler'],
  ['autoscaling/v2', 'HorizontalPodAutoscaler'],
  ['policy/v1', 'PodDisruptionBudget'],
  ['storage.k8s.io/v1', 'StorageClass', 'CSINode'],
  ['scheduling.k8s.io/v1', 'PriorityClass'],
  ['node.k8s.io/v1', 'RuntimeClass'],
].flatMap(([version, ...kinds]) => kinds.map((kind) => `${String(version)}/${kind}`));

const intOrString = 'x-kubernetes-int-or-string';
/** The shape of amounts. A map of them has resources as keys. */
const quantity = 'api.resource.Quantity';
/** The metadata of every object. */
const metadata = 'meta.v1.ObjectMeta';

/** A schema's fields. A value without fields of its own may be anything. */
function shapeOf(raw: unknown): Shape {
  const schema = recordOf(raw);
  const { ref, properties, items, additionalProperties } = schema;
  if (typeof ref === 'string') return ref;
  if (schema['x-kubernetes-preserve-unknown-fields'] === true) return 0;
  if (isRecord(properties))
    return Object.fromEntries(
      Object.entries(properties).map(([name, field]) => [name, shapeOf(field)]),
    );
  const inner = isRecord(items) ? items : additionalProperties;
  const isQuantity =
    inner === additionalProperties && isRecord(inner) && inner[intOrString] === true;
  const shape = isQuantity ? quantity : isRecord(inner) ? shapeOf(inner) : 0;
  return shape === 0 ? 0 : [shape];
}

type Shapes = Record<string, Shape>;

/** Adds a shape and those that it names. */
function add(shapes: Shapes, name: string, definitions: Readonly<Record<string, unknown>>): void {
  if (shapes[name] !== undefined) return;
  const shape = shapeOf(definitions[name]);
  shapes[name] = shape;
  JSON.stringify(shape, (_key, value: unknown) => {
    if (typeof value === 'string') add(shapes, value, definitions);
    return value;
  });
}

/** The shapes of our own kinds, as deploy/crds defines them. */
function customShapes(): ReadonlyMap<string, Shape> {
  const crds = [...crdFiles().values()].map((text) => recordOf(recordOf(parse(text))['spec']));
  return new Map(
    crds.flatMap(({ group, names, versions }) =>
      (versions as readonly unknown[]).map((one): [string, Shape] => {
        const { name, schema } = recordOf(one);
        const shape = shapeOf(recordOf(schema)['openAPIV3Schema']);
        return [
          `${String(group)}/${String(name)}/${String(recordOf(names)['kind'])}`,
          { apiVersion: 0, kind: 0, ...(shape as object), metadata },
        ];
      }),
    ),
  );
}

const sorted = (values: Readonly<Record<string, unknown>>): object =>
  Object.fromEntries(Object.entries(values).sort(([a], [b]) => compareText(a, b)));

/**
 * The module of the command that knows which fields the kinds have that it reads. `builtin` is the
 * text of the module with the schemas of Kubernetes' own kinds.
 */
export function knownFieldsModule(builtin: string): string {
  const json = builtin.slice(builtin.indexOf("'{") + 1, builtin.lastIndexOf("}'") + 1);
  const { roots, definitions } = JSON.parse(json) as {
    readonly roots: Readonly<Record<string, string>>;
    readonly definitions: Readonly<Record<string, unknown>>;
  };
  const shapes: Shapes = {};
  const kinds: Record<string, Shape> = {};
  for (const root of builtinRoots) {
    const name = roots[root.startsWith('v1/') ? `/${root}` : root];
    if (name === undefined) throw new Error(`no schema of ${root}`);
    kinds[root] = name;
    add(shapes, name, definitions);
  }
  // The fields have not changed since.
  kinds['policy/v1beta1/PodDisruptionBudget'] = kinds['policy/v1/PodDisruptionBudget'] ?? 0;
  for (const [root, shape] of customShapes()) kinds[root] = shape;
  const text = JSON.stringify({ kinds: sorted(kinds), shapes: sorted(shapes) });
  return `// Written by \`npm run reference\` from Kubernetes 1.34 and deploy/crds; do not edit.
/** The fields of the kinds that the command reads, as JSON text (see unknown-fields.ts). */
export const knownFieldsJson: string =
  '${text}';
`;
}
