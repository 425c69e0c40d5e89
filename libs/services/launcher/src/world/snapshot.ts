import { annotations, labels, poolKey, taints, type NodeClaim } from '@dovetail/core-api';
import type { InstanceType } from '@dovetail/core-ec2-model';
import { isEphemeralTaint, isTerminal, requirementsOf, type Node, type Pod, type Requirements, type Resources, type Taint } from '@dovetail/core-kube-model';
import type { ExistingNode, Snapshot } from '@dovetail/core-scheduling';
import { leastOf, typesNamedBy, typesOfClaim, typesOfPool, type CatalogView } from './catalog-view.js';
import { livePromise } from './promises.js';
import type { World } from './world.js';

/** Everything the independent checker reads, from the launcher's own watches, as it is at `nowMs`. */
export const snapshotOf = (world: World, catalog: CatalogView, nowMs: number): Snapshot => ({ ...snapshotWithoutNodes(world, catalog), nodes: existingNodes(world, catalog, nowMs) });

/** The same for whoever knows better which nodes there are. */
export function snapshotWithoutNodes(world: World, catalog: CatalogView): Snapshot {
  return {
    stateSequence: 0,
    catalogRevision: catalog.revision,
    admissionHead: '',
    pools: [...world.pools.values()].map((pool) => ({ pool, instanceTypes: [...typesOfPool(catalog, pool).values()] })),
    nodes: [],
    daemonSets: [...world.daemonSets.values()],
    namespaces: [...world.namespaces.values()],
    persistentVolumes: [...world.persistentVolumes.values()],
    persistentVolumeClaims: [...world.persistentVolumeClaims.values()],
    storageClasses: [...world.storageClasses.values()],
    csiNodes: [...world.csiNodes.values()],
  };
}

/** Nodes, and claims whose node has not joined yet, by name. */
export function existingNodes(world: World, catalog: CatalogView, nowMs: number): readonly ExistingNode[] {
  const joined = [...world.nodes.values()].map((node) => existingNode(world, node, nowMs));
  const inFlight = [...world.claims.values()].filter((claim) => world.nodeOfClaim(claim) === undefined)
    .map((claim) => claimInFlight(world, claim, typesOfClaim(catalog, world, claim), nowMs));
  return [...joined, ...inFlight].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : a.uid < b.uid ? -1 : 1));
}

/** True when the node is being taken out of service: nothing more may be promised on it. */
export function isRetiring(node: Node, claim: NodeClaim | undefined): boolean {
  return node.deletionMs !== undefined || claim?.deletionMs !== undefined || node.annotations[annotations.retirement] !== undefined
    || node.taints.some((taint) => taint.key === taints.disrupted.key);
}

/** Kubernetes' own echo of `spec.unschedulable`, which `cordoned` says already; on nodes that we closed it ends with our cordon. */
const unschedulableTaint = 'node.kubernetes.io/unschedulable';

function existingNode(world: World, node: Node, nowMs: number): ExistingNode {
  const claim = world.claimOfNode(node);
  const starting = claim !== undefined && node.labels[labels.initialized] !== 'true';
  const type = node.labels[labels.instanceType];
  return {
    name: node.name, uid: node.uid,
    ...(claim === undefined ? {} : { claimName: claim.name, poolKey: poolKey(claim.pool) }),
    state: isRetiring(node, claim) ? 'deleting' : starting ? 'uninitialized' : 'ready',
    labels: node.labels,
    requirements: new Map(),
    taints: node.taints.filter((taint) => taint.key !== unschedulableTaint && !(starting && (isEphemeralTaint(taint) || isOneOf(taint, claim.startupTaints)))),
    cordoned: node.cordoned && node.annotations[annotations.placementCordon] === undefined,
    capacity: starting ? filledFrom(node.capacity, claim.capacity) : node.capacity,
    allocatable: starting ? filledFrom(node.allocatable, claim.allocatable) : node.allocatable,
    ...(type === undefined ? {} : { instanceType: type }),
    pods: world.pods.by('node', node.name).filter((pod) => !isTerminal(pod)),
    ...promisedRoom(world, claim === undefined ? [node.uid] : [node.uid, claim.uid], nowMs),
  };
}

function claimInFlight(world: World, claim: NodeClaim, types: ReadonlyMap<string, InstanceType>, nowMs: number): ExistingNode {
  const requirements = requirementsOf(claim.requirements);
  const options = typesNamedBy(claim.requirements, types);
  const launched = Object.keys(claim.allocatable).length > 0;
  return {
    name: claim.name, uid: claim.uid, claimName: claim.name, poolKey: poolKey(claim.pool),
    state: claim.deletionMs === undefined ? 'in-flight' : 'deleting',
    labels: { ...decidedLabels(requirements), ...claim.labels },
    requirements: openRequirements(requirements, claim.labels),
    taints: claim.taints,
    cordoned: false,
    capacity: launched ? claim.capacity : leastOf(options.map((type) => type.capacity)),
    allocatable: launched ? claim.allocatable : leastOf(options.map((type) => type.allocatable)),
    pods: [],
    ...promisedRoom(world, [claim.uid], nowMs),
  };
}

/** What promises keep on a node: the pods that are still waited for, and room that is kept by amount. */
function promisedRoom(world: World, holderUids: readonly string[], nowMs: number): { readonly promisedPods: readonly Pod[]; readonly reserved: Resources } {
  const pods = new Map<string, Pod>();
  let reserved: Resources = {};
  for (const uid of holderUids) {
    const live = livePromise(world, uid, nowMs);
    if (live === undefined) continue;
    for (const pod of live.waiting) pods.set(pod.uid, pod);
    if (live.promise.reserved !== undefined) reserved = live.promise.reserved;
  }
  return { promisedPods: [...pods.values()], reserved };
}

const isOneOf = (taint: Taint, among: readonly Taint[]): boolean => among.some((other) => other.key === taint.key && other.effect === taint.effect);

/** Kubelets report some resources late; until the node is initialised, the claim's figure stands where the node says nothing or zero. */
function filledFrom(reported: Resources, expected: Resources): Resources {
  const filled: Record<string, number> = { ...reported };
  for (const [name, amount] of Object.entries(expected)) if ((filled[name] ?? 0) === 0) filled[name] = amount;
  return filled;
}

/** Labels that a claim's node is sure to carry: requirements that leave one value. */
export function decidedLabels(requirements: Requirements): Readonly<Record<string, string>> {
  const decided: Record<string, string> = {};
  for (const [key, set] of requirements) {
    const [only, ...others] = set.values;
    if (set.kind === 'in' && only !== undefined && others.length === 0) decided[key] = only;
  }
  return decided;
}

/** What a claim leaves open: its requirements without the keys that are decided. */
export function openRequirements(requirements: Requirements, known: Readonly<Record<string, string>>): Requirements {
  return new Map([...requirements].filter(([key, set]) => known[key] === undefined && !(set.kind === 'in' && set.values.size <= 1)));
}
