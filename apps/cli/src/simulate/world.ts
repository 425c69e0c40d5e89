import { labels, poolKey, taints } from '@dovetail/core-api';
import {
  csiNodeOf, daemonSetOf, isActive, isDaemonPod, isEphemeralTaint, isStaticPod, isTerminal, namespaceOf, nodeOf, pdbOf, podOf, pvOf, pvcOf, storageClassOf,
  type Namespace, type Node, type Parsed, type Pod,
} from '@dovetail/core-kube-model';
import type { ExistingNode, Snapshot } from '@dovetail/core-scheduling';
import { valueOf } from '../manifests/objects.js';
import { admissionOf, type Admission } from './admission.js';
import type { Catalog } from './catalog.js';
import type { Inventory } from './kinds.js';
import { poolsOf } from './pools.js';
import { workloadPods } from './workloads.js';

/** What is planned: the state, the pods to place, and what the user should know about how it was read. */
export type World = { readonly snapshot: Snapshot; readonly pods: readonly Pod[]; readonly notes: readonly string[] };

async function all<T>(inventory: Inventory, kind: string, parse: (raw: unknown) => Parsed<T>): Promise<readonly T[]> {
  const values: T[] = [];
  for (const item of inventory.of(kind)) values.push(await valueOf(item, parse(item.object)));
  return values;
}

type Raw = Readonly<Record<string, unknown>>;
const isRecord = (value: unknown): value is Raw => typeof value === 'object' && value !== null && !Array.isArray(value);

const identity = new Set(['name', 'namespace', 'uid', 'labels']);

/** What pods that differ only in name share; undefined where more than the name tells them apart. */
function sharedText(object: Raw): string | undefined {
  const { metadata, spec, status } = object;
  if (!isRecord(metadata) || !isRecord(spec) || status !== undefined || spec['volumes'] !== undefined) return undefined;
  return Object.keys(metadata).every((key) => identity.has(key)) ? JSON.stringify([spec, metadata['labels']]) : undefined;
}

/** Reads pods as the API server would admit them. Thousands of pods are mostly copies: each distinct one is read once. */
function podReader(admit: Admission): (raw: unknown) => Parsed<Pod> {
  const remembered = new Map<string, Pod>();
  return (raw) => {
    const object = raw as Raw;
    const text = sharedText(object);
    const known = text === undefined ? undefined : remembered.get(text);
    if (known !== undefined) {
      const { name, namespace, uid } = object['metadata'] as { readonly name: string; readonly namespace: string; readonly uid: string };
      return { ok: true, value: { ...known, name, namespace, uid } };
    }
    const parsed = podOf(isRecord(object['spec']) ? { ...object, spec: admit(object['spec']) } : object);
    if (parsed.ok && text !== undefined) remembered.set(text, parsed.value);
    return parsed;
  };
}

function poolKeyOf(node: Node): string | undefined {
  const nodePool = node.labels[labels.nodePool];
  if (nodePool !== undefined) return poolKey({ kind: 'NodePool', name: nodePool });
  const provisioner = node.labels[labels.provisioner];
  return provisioner === undefined ? undefined : poolKey({ kind: 'Provisioner', name: provisioner });
}

/** A node that a manifest describes. A managed one that says it is not initialised keeps only the taints that will stay. */
function existingNode(node: Node, pods: readonly Pod[]): ExistingNode {
  const pool = poolKeyOf(node);
  const starting = pool !== undefined && node.labels[labels.registered] === 'true' && node.labels[labels.initialized] !== 'true';
  const leaving = node.deletionMs !== undefined || node.taints.some((taint) => taint.key === taints.disrupted.key);
  const type = node.labels[labels.instanceType];
  return {
    name: node.name, uid: node.uid, ...(pool === undefined ? {} : { poolKey: pool }),
    state: leaving ? 'deleting' : starting ? 'uninitialized' : 'ready',
    labels: node.labels, requirements: new Map(), taints: starting ? node.taints.filter((taint) => !isEphemeralTaint(taint)) : node.taints, cordoned: node.cordoned,
    capacity: node.capacity, allocatable: node.allocatable, ...(type === undefined ? {} : { instanceType: type }), pods, promisedPods: [], reserved: {},
  };
}

/** Namespaces carry their own name as a label, as the API server makes sure; those that are only used are there too. */
function namespacesOf(given: readonly Namespace[], pods: readonly Pod[]): readonly Namespace[] {
  const named = new Map(given.map((one) => [one.name, one]));
  const used = [...new Set(pods.map((pod) => pod.namespace))].filter((name) => !named.has(name)).sort();
  const implied = used.map((name): Namespace => ({ uid: `Namespace//${name}`, name, resourceVersion: '', labels: {} }));
  return [...named.values(), ...implied].map((one) => ({ ...one, labels: { 'kubernetes.io/metadata.name': one.name, ...one.labels } }));
}

function boundTo(nodes: readonly Node[], pods: readonly Pod[]): { readonly existing: readonly ExistingNode[]; readonly strangers: number } {
  const byNode = new Map<string, Pod[]>(nodes.map((node) => [node.name, []]));
  let strangers = 0;
  for (const pod of pods) {
    if (pod.nodeName === undefined || isTerminal(pod)) continue;
    const there = byNode.get(pod.nodeName);
    if (there === undefined) strangers += 1;
    else there.push(pod);
  }
  return { existing: nodes.map((node) => existingNode(node, byNode.get(node.name) ?? [])), strangers };
}

const plural = (count: number, word: string): string => `${count} ${word}${count === 1 ? '' : 's'}`;

function notesOf(inventory: Inventory, facts: { readonly strangers: number; readonly assumedClasses: readonly string[] }): readonly string[] {
  const ignored = [...inventory.ignored].sort(([a], [b]) => (a < b ? -1 : 1)).map(([kind, count]) => `${kind} (${count})`);
  return [
    ...(ignored.length === 0 ? [] : [`these kinds play no part in planning: ${ignored.join(', ')}`]),
    ...inventory.replaced.map((name) => `${name} is given more than once: the last one counts`),
    ...(facts.strangers === 0 ? [] : [`${plural(facts.strangers, 'pod')} on nodes that are not in the manifests: left aside`]),
    ...facts.assumedClasses.map((name) => `${name} is not in the manifests: AL2023 with its standard settings stands for it`),
  ];
}

/** Reads everything that planning needs. Throws InputError with file, line and field for what cannot be used. */
export async function worldOf(inventory: Inventory, catalog: Catalog): Promise<World> {
  const admit = admissionOf(inventory);
  const given = await all(inventory, 'Pod', podReader(admit));
  const asked = await workloadPods(inventory, given, admit);
  const unbound = given.filter((pod) => pod.nodeName === undefined && isActive(pod) && !isDaemonPod(pod) && !isStaticPod(pod));
  const nodes = await all(inventory, 'Node', nodeOf);
  const { existing, strangers } = boundTo(nodes, given);
  const { pools, assumedClasses } = await poolsOf(inventory, catalog);
  await all(inventory, 'PodDisruptionBudget', pdbOf);
  const snapshot: Snapshot = {
    stateSequence: 0, catalogRevision: catalog.name, admissionHead: '', pools, nodes: existing,
    daemonSets: await all(inventory, 'DaemonSet', daemonSetOf),
    namespaces: namespacesOf(await all(inventory, 'Namespace', namespaceOf), [...given, ...asked]),
    persistentVolumes: await all(inventory, 'PersistentVolume', pvOf),
    persistentVolumeClaims: await all(inventory, 'PersistentVolumeClaim', pvcOf),
    storageClasses: await all(inventory, 'StorageClass', storageClassOf),
    csiNodes: await all(inventory, 'CSINode', csiNodeOf),
  };
  return { snapshot, pods: [...unbound, ...asked], notes: notesOf(inventory, { strangers, assumedClasses }) };
}
