import { errorAt, type Source } from '../manifests/objects.js';

/** The kinds that a simulation reads, each in one version of its API. */
const readVersions: ReadonlyMap<string, string> = new Map([
  ['Pod', 'v1'],
  ['Deployment', 'apps/v1'],
  ['ReplicaSet', 'apps/v1'],
  ['StatefulSet', 'apps/v1'],
  ['ReplicationController', 'v1'],
  ['Job', 'batch/v1'],
  ['CronJob', 'batch/v1'],
  ['DaemonSet', 'apps/v1'],
  ['Node', 'v1'],
  ['Namespace', 'v1'],
  ['NodePool', 'karpenter.sh/v1'],
  ['NodeClaim', 'karpenter.sh/v1'],
  ['Provisioner', 'karpenter.sh/v1alpha5'],
  ['EC2NodeClass', 'karpenter.k8s.aws/v1'],
  ['AWSNodeTemplate', 'karpenter.k8s.aws/v1alpha1'],
  ['PersistentVolume', 'v1'],
  ['PersistentVolumeClaim', 'v1'],
  ['StorageClass', 'storage.k8s.io/v1'],
  ['CSINode', 'storage.k8s.io/v1'],
  ['PodDisruptionBudget', 'policy/v1'],
  ['PriorityClass', 'scheduling.k8s.io/v1'],
  ['RuntimeClass', 'node.k8s.io/v1'],
]);
const namespaced = new Set([
  'Pod',
  'Deployment',
  'ReplicaSet',
  'StatefulSet',
  'ReplicationController',
  'Job',
  'CronJob',
  'DaemonSet',
  'PersistentVolumeClaim',
  'PodDisruptionBudget',
]);

const groupOf = (apiVersion: string): string =>
  apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : '';

/** Gives an object its identity: a namespace and a UID, if the manifest has none. */
export type Item = Source & {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
};

/** Objects by kind, in the order of their manifests, and those left aside. */
export type Inventory = {
  of(kind: string): readonly Item[];
  /** The number of objects of each kind that play no part in planning. */
  readonly ignored: ReadonlyMap<string, number>;
  /**
   * `Deployment default/web`, if given more than once. As with kubectl apply, the last one counts.
   */
  readonly replaced: readonly string[];
};

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

async function itemOf(source: Source, serial: number): Promise<Item> {
  const metadata = (
    typeof source.object['metadata'] === 'object' ? (source.object['metadata'] ?? {}) : {}
  ) as Readonly<Record<string, unknown>>;
  const generated = textOf(metadata['generateName']);
  const name = textOf(metadata['name']) || (generated === '' ? '' : `${generated}${serial}`);
  if (name === '')
    throw await errorAt(source, {
      field: 'metadata.name',
      value: JSON.stringify(metadata['name']) ?? '(absent)',
      remedy: 'this field is required: write a name, in quotes if it looks like a number',
    });
  const namespace = namespaced.has(source.kind) ? textOf(metadata['namespace']) || 'default' : '';
  const uid = textOf(metadata['uid']) || `${source.kind}/${namespace}/${name}`;
  const object = {
    ...source.object,
    metadata: { ...metadata, name, uid, ...(namespace === '' ? {} : { namespace }) },
  };
  return { ...source, object, name, namespace, uid };
}

/** Sorts objects by kind. Throws InputError for a known kind in another version. */
export async function inventoryOf(sources: readonly Source[]): Promise<Inventory> {
  const byKind = new Map<string, Map<string, Item>>();
  const ignored = new Map<string, number>();
  const replaced: string[] = [];
  for (const [serial, source] of sources.entries()) {
    const version = readVersions.get(source.kind);
    if (version === undefined || groupOf(version) !== groupOf(source.apiVersion)) {
      ignored.set(source.kind, (ignored.get(source.kind) ?? 0) + 1);
      continue;
    }
    if (version !== source.apiVersion)
      throw await errorAt(source, {
        field: 'apiVersion',
        value: JSON.stringify(source.apiVersion),
        remedy: `write ${source.kind} in ${version}`,
      });
    const item = await itemOf(source, serial);
    const known = byKind.get(source.kind) ?? new Map<string, Item>();
    byKind.set(source.kind, known);
    const identity = `${item.namespace}/${item.name}`;
    if (known.delete(identity))
      replaced.push(`${source.kind} ${item.namespace === '' ? item.name : identity}`);
    known.set(identity, item);
  }
  return { of: (kind) => [...(byKind.get(kind)?.values() ?? [])], ignored, replaced };
}
