import { labels } from '@dovetail/core-api';
import {
  compareText,
  type CsiNode,
  type HostPort,
  intersectRequirements,
  isCompatible,
  type Pod,
  type Requirements,
  requirementsFromLabels,
  type Resources,
  sumResources,
} from '@dovetail/core-kube-model';

import type { ExistingNode, Snapshot } from '../snapshot.js';
import type { Daemon } from './daemons.js';
import { intersects } from './daemons.js';
import { addTo, type Dimensions, vectorOf } from './dimensions.js';
import { attachmentsOf, type VolumeIndex } from './volumes.js';

/** An existing node, or one in flight, as a place for pods. */
export type NodeRoom = {
  readonly index: number;
  readonly node: ExistingNode;
  /** The node's labels. For a claim in flight, also the values that are still open. */
  readonly requirements: Requirements;
  readonly free: Float64Array;
  readonly hostPorts: readonly HostPort[];
  /** Volume limits and attached volumes by CSI driver. Drivers without a limit are left out. */
  readonly volumeRoom: ReadonlyMap<
    string,
    { readonly limit: number; readonly attached: ReadonlySet<string> }
  >;
};

/** Nodes that are read in one step, which takes about a millisecond. */
export const nodesPerStep = 64;

/** The tables of the snapshot that existing nodes are read with. */
export type NodeTables = {
  readonly dimensions: Dimensions;
  readonly daemons: readonly Daemon[];
  readonly volumes: VolumeIndex;
  /** The uids of the pods to place. They take no room where they run now. */
  readonly moving: ReadonlySet<string>;
  /** See `PlanOptions`. It is called from time to time among the nodes. */
  readonly giveWay?: (() => void) | undefined;
};

/** Orders nodes as Karpenter does: initialised nodes first, then by name. */
export function readyFirst(a: ExistingNode, b: ExistingNode): number {
  const rank = (node: ExistingNode): number => (node.state === 'ready' ? 0 : 1);
  return rank(a) - rank(b) || compareText(a.name, b.name);
}

/** Whether a pod takes room: it has not finished and is not among the pods to place. */
export const holdsRoom = (pod: Pod, moving: ReadonlySet<string>): boolean =>
  pod.phase !== 'Succeeded' && pod.phase !== 'Failed' && !moving.has(pod.uid);

/** The parts of nodes that every plan reads. Solvers keep nodes from plan to plan. */
const requirementsKnown = new WeakMap<ExistingNode, Requirements>();
const heldKnown = new WeakMap<ExistingNode, Held>();

/** Returns a node's labels as requirements. A node without a hostname label uses its name. */
export function nodeRequirements(node: ExistingNode): Requirements {
  const known = requirementsKnown.get(node) ?? requirementsOfLabels(node);
  requirementsKnown.set(node, known);
  return known;
}

function requirementsOfLabels(node: ExistingNode): Requirements {
  const own = requirementsFromLabels({ [labels.hostname]: node.name, ...node.labels });
  return node.requirements.size === 0 ? own : intersectRequirements(node.requirements, own);
}

/** The daemonsets that will run on a node and have no pod for it yet. Their room is kept. */
export function missingDaemons(
  node: ExistingNode,
  requirements: Requirements,
  daemons: readonly Daemon[],
): readonly Daemon[] {
  if (daemons.length === 0) return [];
  const running = new Set(node.pods.map((pod) => pod.owner?.uid));
  const open = new Set(node.requirements.keys());
  return daemons.filter(
    (daemon) =>
      !running.has(daemon.uid) &&
      daemon.toleratesAll(node.taints) &&
      daemon.alternatives.some(
        (wanted) =>
          isCompatible(requirements, wanted, { allowUndefined: open }) &&
          intersects(requirements, wanted),
      ),
  );
}

function volumeRoomOf(
  limits: CsiNode['limits'] | undefined,
  pods: readonly Pod[],
  tables: NodeTables,
): NodeRoom['volumeRoom'] {
  const room = new Map<
    string,
    { readonly limit: number; readonly attached: ReadonlySet<string> }
  >();
  if (limits === undefined) return room;
  const attachments = pods.flatMap((pod) =>
    pod.volumes.length === 0
      ? []
      : attachmentsOf(pod, tables.volumes).map((one) => ({ pod, ...one })),
  );
  for (const [driver, limit] of Object.entries(limits)) {
    const ids = attachments
      .filter((one) => one.driver === driver)
      .map((one) => one.id ?? `pod ${one.pod.uid}`);
    room.set(driver, { limit, attached: new Set(ids) });
  }
  return room;
}

/** The pods that take room on a node, and what they take. */
type Held = {
  readonly pods: readonly Pod[];
  readonly requests: Resources;
  readonly hostPorts: readonly HostPort[];
};

function heldBy(node: ExistingNode, moving: ReadonlySet<string>): Held {
  const pods = [...node.pods, ...node.promisedPods].filter((pod) => holdsRoom(pod, moving));
  return {
    pods,
    requests: sumResources(pods.map(({ requests }) => requests)),
    hostPorts: pods.flatMap((pod) => pod.hostPorts),
  };
}

const nothing: ReadonlySet<string> = new Set();

/** Most nodes have no pod that moves. */
function heldOn(node: ExistingNode, moving: ReadonlySet<string>): Held {
  const isMoving = (pod: Pod): boolean => moving.has(pod.uid);
  if (node.pods.some(isMoving) || node.promisedPods.some(isMoving)) return heldBy(node, moving);
  const known = heldKnown.get(node) ?? heldBy(node, nothing);
  heldKnown.set(node, known);
  return known;
}

function roomOf(
  node: ExistingNode,
  index: number,
  tables: NodeTables & { readonly csi: ReadonlyMap<string, CsiNode['limits']> },
): NodeRoom {
  const requirements = nodeRequirements(node);
  const { pods, requests, hostPorts } = heldOn(node, tables.moving);
  const free = vectorOf(tables.dimensions, node.allocatable);
  addTo(free, vectorOf(tables.dimensions, requests), -1);
  addTo(free, vectorOf(tables.dimensions, node.reserved), -1);
  const missing = missingDaemons(node, requirements, tables.daemons);
  for (const daemon of missing) addTo(free, daemon.requests, -1);
  return {
    index,
    node,
    requirements,
    free,
    hostPorts: [...hostPorts, ...missing.flatMap((daemon) => daemon.hostPorts)],
    volumeRoom: volumeRoomOf(tables.csi.get(node.name), pods, tables),
  };
}

/**
 * Returns the nodes that can take pods, in the order in which they are tried. Cordoned and leaving
 * nodes are left out.
 */
export function nodeRoomsOf(snapshot: Snapshot, tables: NodeTables): readonly NodeRoom[] {
  const csi = new Map(snapshot.csiNodes.map((one) => [one.name, one.limits]));
  return snapshot.nodes
    .filter((node) => !node.cordoned && node.state !== 'deleting')
    .sort(readyFirst)
    .map((node, index) => {
      if (index % nodesPerStep === 0) tables.giveWay?.();
      return roomOf(node, index, { ...tables, csi });
    });
}
