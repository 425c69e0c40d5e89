import { budgetProblemsOf, poolKey } from '@dovetail/core-api';
import { type Cluster, isRetiring, snapshotObjects } from '@dovetail/core-cluster';
import {
  compareText,
  isActive,
  isDaemonPod,
  isRecord,
  isReschedulable,
  isStaticPod,
  isTerminal,
  type Parsed,
  type Pod,
  type Raw,
  uprooted,
} from '@dovetail/core-kube-model';
import type { PoolOptions, Snapshot } from '@dovetail/core-scheduling';

import type { Problems } from '../manifests/problems.js';
import { type Admission, admissionOf, admittedPod } from './admission.js';
import { withBoundClaims } from './binder.js';
import type { Catalog } from './catalog.js';
import { clusterOf, roomOf } from './cluster.js';
import { claimsOfStartingNodes } from './joining.js';
import type { Inventory } from './kinds.js';
import { poolsOf } from './pools.js';
import { ofOneProvider } from './providers.js';
import { all } from './readable.js';
import { assumedStorageClasses } from './storage-classes.js';
import { workloadPods } from './workloads.js';

/** The planner's input: the state, the pods to place, and notes for the user about the reading. */
export type PlanningInput = {
  /** The objects that the snapshot stands for. */
  readonly cluster: Cluster;
  readonly snapshot: Snapshot;
  readonly pods: readonly Pod[];
  readonly notes: readonly string[];
  /** The zones that classes without subnets got; empty if there is none. */
  readonly assumedZones: readonly string[];
  readonly problems: Problems;
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
    ? JSON.stringify([spec, metadata['labels'], metadata['namespace']])
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
    const parsed = admittedPod(object, admit);
    if (parsed.ok && text !== undefined) remembered.set(text, parsed.value);
    return parsed;
  };
}

const plural = (count: number, word: string): string => `${count} ${word}${count === 1 ? '' : 's'}`;

type Facts = {
  readonly strangers: number;
  readonly preempting: number;
  readonly moving: number;
  readonly starting: number;
  /** Notes about workloads of another size than written, and about missing storage classes. */
  readonly assumed: readonly string[];
  readonly assumedClasses: readonly string[];
  readonly missingClasses: readonly string[];
  readonly closedBudgets: readonly string[];
};

/** A note about so many things; none about no things. */
const counted = (count: number, word: string, text: string): readonly string[] =>
  count === 0 ? [] : [`${plural(count, word)} ${text}`];

function notesOf(inventory: Inventory, facts: Facts): readonly string[] {
  const ignored = [...inventory.ignored]
    .sort(([a], [b]) => compareText(a, b))
    .map(([kind, count]) => `${kind} (${count})`);
  return [
    ...(ignored.length === 0
      ? []
      : [`these kinds play no part in planning: ${ignored.join(', ')}`]),
    ...inventory.notes,
    ...facts.assumed,
    ...counted(facts.strangers, 'pod', 'on nodes that are not in the manifests: left aside'),
    ...counted(
      facts.preempting,
      'pod',
      'with a nominated node, where others make room: left aside',
    ),
    ...counted(facts.moving, 'pod', 'on nodes that are leaving: planned for the time after'),
    ...counted(facts.starting, 'node', 'starting without a NodeClaim: the pool stands for it'),
    ...facts.assumedClasses.map(
      (name) => `${name} is not in the manifests: AL2023 with its standard settings stands for it`,
    ),
    ...facts.missingClasses.map((name) => `${name} is not in the manifests: it changes nothing`),
    ...facts.closedBudgets,
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
 * The pods of leaving nodes, which will need a place. A pod that a stateful set is about to replace
 * is among the pods that the set asks for.
 */
function movingIn(cluster: Cluster, asked: readonly Pod[]): readonly Pod[] {
  const names = new Set(asked.map((pod) => `${pod.namespace}/${pod.name}`));
  return [...cluster.nodes.values()]
    .filter((node) => isRetiring(node, cluster.claimOfNode(node)))
    .flatMap((node) => cluster.pods.by('node', node.name))
    .filter((pod) => isReschedulable(pod) && !names.has(`${pod.namespace}/${pod.name}`))
    .map(uprooted);
}

const closedBudgetsOf = ({ pool }: PoolOptions): readonly string[] => {
  const problems = budgetProblemsOf(pool);
  return problems === '' ? [] : [`${poolKey(pool.identity)} lets no node go: ${problems}`];
};

const mayBePlanned = (pod: Pod): boolean =>
  pod.nodeName === undefined && isActive(pod) && !isDaemonPod(pod) && !isStaticPod(pod);

/** Adds claims of nodes that are starting. Returns their number. */
function addStartingClaims(cluster: Cluster, pools: Snapshot['pools']): number {
  const claims = claimsOfStartingNodes(cluster, pools);
  for (const claim of claims) cluster.set('claim', claim);
  return claims.length;
}

/** Adds the storage classes that are assumed. Returns the notes about them. */
function addStorageClasses(cluster: Cluster, pods: readonly Pod[]): readonly string[] {
  const { classes, notes } = assumedStorageClasses(
    pods,
    [...cluster.persistentVolumeClaims.values()],
    [...cluster.storageClasses.values()],
  );
  for (const one of classes) cluster.set('storageclass', one);
  return notes;
}

/** The pods to plan, and how many have a nominated node, where others make room for them. */
function waitingIn(given: readonly Pod[]): {
  readonly waiting: readonly Pod[];
  readonly preempting: number;
} {
  const unbound = given.filter(mayBePlanned);
  const waiting = unbound.filter((pod) => pod.nominatedNodeName === undefined);
  return { waiting, preempting: unbound.length - waiting.length };
}

/**
 * Reads everything that planning needs. Objects that cannot be read are left out, and become
 * problems.
 */
export async function planningInputOf(
  everything: Inventory,
  catalog: Catalog,
): Promise<PlanningInput> {
  const inventory = await withBoundClaims(ofOneProvider(everything, catalog.kind === 'file'));
  const { admit, missing } = admissionOf(inventory);
  const given = await all(inventory, 'Pod', podReader(admit));
  const { pods: asked, notes: scaled } = await workloadPods(inventory, given, admit);
  const { waiting, preempting } = waitingIn(given);
  const cluster = await clusterOf(inventory, catalog, { given, asked });
  const assumed = [...scaled, ...addStorageClasses(cluster, [...given, ...asked])];
  const { pools, assumedClasses, assumedSubnets } = await poolsOf(inventory, catalog);
  const starting = addStartingClaims(cluster, pools);
  const moving = movingIn(cluster, asked);
  const snapshot: Snapshot = {
    stateSequence: 0,
    catalogRevision: catalog.name,
    admissionHead: '',
    pools,
    nodes: roomOf(cluster, pools, new Set(moving.map((pod) => pod.uid))),
    ...snapshotObjects(cluster),
  };
  return {
    cluster,
    snapshot,
    pods: [...waiting, ...moving, ...asked],
    problems: inventory.problems,
    assumedZones: assumedSubnets ? catalog.zones : [],
    notes: notesOf(inventory, {
      strangers: strangersIn(cluster),
      preempting,
      moving: moving.length,
      starting,
      assumed,
      assumedClasses,
      missingClasses: [...missing].sort(compareText),
      closedBudgets: pools.flatMap(closedBudgetsOf),
    }),
  };
}
