import { type Cluster, snapshotObjects } from '@dovetail/core-cluster';
import {
  compareText,
  isActive,
  isDaemonPod,
  isRecord,
  isStaticPod,
  isTerminal,
  type Parsed,
  type Pod,
  podOf,
  type Raw,
} from '@dovetail/core-kube-model';
import type { Snapshot } from '@dovetail/core-scheduling';

import { type Admission, admissionOf } from './admission.js';
import type { Catalog } from './catalog.js';
import { all, clusterOf, roomOf } from './cluster.js';
import type { Inventory } from './kinds.js';
import { poolsOf } from './pools.js';
import { workloadPods } from './workloads.js';

/** The planner's input: the state, the pods to place, and notes for the user about the reading. */
export type PlanningInput = {
  readonly snapshot: Snapshot;
  readonly pods: readonly Pod[];
  readonly notes: readonly string[];
};

const identity = new Set(['name', 'namespace', 'uid', 'labels']);

/** The parts that pods share when only their names differ; undefined when more differs. */
function sharedText(object: Raw): string | undefined {
  const { metadata, spec, status } = object;
  if (
    !isRecord(metadata) ||
    !isRecord(spec) ||
    status !== undefined ||
    spec['volumes'] !== undefined
  )
    return undefined;
  return Object.keys(metadata).every((key) => identity.has(key))
    ? JSON.stringify([spec, metadata['labels']])
    : undefined;
}

/**
 * Reads pods as the API server would admit them. Most of thousands of pods are copies, so each
 * distinct one is read once.
 */
function podReader(admit: Admission): (raw: unknown) => Parsed<Pod> {
  const remembered = new Map<string, Pod>();
  return (raw) => {
    const object = raw as Raw;
    const text = sharedText(object);
    const known = text === undefined ? undefined : remembered.get(text);
    if (known !== undefined) {
      const { name, namespace, uid } = object['metadata'] as {
        readonly name: string;
        readonly namespace: string;
        readonly uid: string;
      };
      return { ok: true, value: { ...known, name, namespace, uid } };
    }
    const parsed = podOf(
      isRecord(object['spec']) ? { ...object, spec: admit(object['spec']) } : object,
    );
    if (parsed.ok && text !== undefined) remembered.set(text, parsed.value);
    return parsed;
  };
}

const plural = (count: number, word: string): string => `${count} ${word}${count === 1 ? '' : 's'}`;

function notesOf(
  inventory: Inventory,
  facts: { readonly strangers: number; readonly assumedClasses: readonly string[] },
): readonly string[] {
  const ignored = [...inventory.ignored]
    .sort(([a], [b]) => compareText(a, b))
    .map(([kind, count]) => `${kind} (${count})`);
  return [
    ...(ignored.length === 0
      ? []
      : [`these kinds play no part in planning: ${ignored.join(', ')}`]),
    ...inventory.replaced.map((name) => `${name} is given more than once: the last one counts`),
    ...(facts.strangers === 0
      ? []
      : [`${plural(facts.strangers, 'pod')} on nodes that are not in the manifests: left aside`]),
    ...facts.assumedClasses.map(
      (name) => `${name} is not in the manifests: AL2023 with its standard settings stands for it`,
    ),
  ];
}

/** Pods on nodes that the manifests lack. They take no room and are not planned. */
const strangersIn = (cluster: Cluster): number =>
  [...cluster.pods.values()].filter(
    (pod) =>
      pod.nodeName !== undefined &&
      !isTerminal(pod) &&
      cluster.nodes.one('name', pod.nodeName) === undefined,
  ).length;

/**
 * Reads everything that planning needs. Throws InputError with file, line and field for unusable
 * input.
 */
export async function planningInputOf(
  inventory: Inventory,
  catalog: Catalog,
): Promise<PlanningInput> {
  const admit = admissionOf(inventory);
  const given = await all(inventory, 'Pod', podReader(admit));
  const asked = await workloadPods(inventory, given, admit);
  const unbound = given.filter(
    (pod) => pod.nodeName === undefined && isActive(pod) && !isDaemonPod(pod) && !isStaticPod(pod),
  );
  const cluster = await clusterOf(inventory, catalog, { given, asked });
  const { pools, assumedClasses } = await poolsOf(inventory, catalog);
  const snapshot: Snapshot = {
    stateSequence: 0,
    catalogRevision: catalog.name,
    admissionHead: '',
    pools,
    nodes: roomOf(cluster, pools),
    ...snapshotObjects(cluster),
  };
  return {
    snapshot,
    pods: [...unbound, ...asked],
    notes: notesOf(inventory, { strangers: strangersIn(cluster), assumedClasses }),
  };
}
