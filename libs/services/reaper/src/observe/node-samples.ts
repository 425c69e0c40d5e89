import type { Cluster } from '@dovetail/core-cluster';
import { lookUp, put } from '@dovetail/core-invariant';
import {
  isDaemonPod,
  isTerminal,
  type Node,
  type Resources,
  subtractResources,
} from '@dovetail/core-kube-model';
import type { MetricSamples } from '@dovetail/core-ports';
import { measuredResources } from '@dovetail/service-kit';

import { metricLabelsOf } from './node-labels.js';

/** The tables that metrics of nodes and pods read. */
export type Observed = Pick<
  Cluster,
  'nodes' | 'claims' | 'pods' | 'claimOfNode' | 'nodeOfClaim' | 'nodesOfClaim'
>;

type Labels = Readonly<Record<string, string>>;
/** Gives one object for the labels of a node, as long as neither it nor its claim changes. */
type LabelsOf = (node: Node) => Labels;

/** Nodes that are looked at in one turn of the event loop: some 15 ms, with ten pods each. */
const nodesPerTurn = 500;

type Sum = Record<string, number>;

function add(sum: Sum, amounts: Resources): void {
  for (const name of Object.keys(amounts))
    put(sum, name, (lookUp(sum, name) ?? 0) + (lookUp(amounts, name) ?? 0));
}

/** Adds the requests of the pods of a node that have not ended. */
function addRequests({ pods }: Observed, node: Node, sum: Sum, daemonsOnly = false): Sum {
  for (const pod of pods.by('node', node.name))
    if (!isTerminal(pod) && (!daemonsOnly || isDaemonPod(pod))) add(sum, pod.requests);
  return sum;
}

/** All nodes, with a pause after some of them. */
function* inTurns({ nodes }: Observed): Iterable<Node | undefined> {
  let seen = 0;
  for (const node of nodes.values()) {
    yield node;
    seen += 1;
    if (seen % nodesPerTurn === 0) yield undefined;
  }
}

/** Labels that are kept as long as the reading of a node is the newest one. */
export function keptLabels(cluster: Pick<Observed, 'claimOfNode'>): LabelsOf {
  const kept = new WeakMap<Node, { readonly isManaged: boolean; readonly labels: Labels }>();
  return (node) => {
    const isManaged = cluster.claimOfNode(node) !== undefined;
    const known = kept.get(node);
    if (known?.isManaged === isManaged) return known.labels;
    const labels = metricLabelsOf(node, isManaged);
    kept.set(node, { isManaged, labels });
    return labels;
  };
}

/** A sample for each resource of each node. */
function* eachResource(
  cluster: Observed,
  labelsOf: LabelsOf,
  resourcesOf: (node: Node) => Resources,
): MetricSamples {
  for (const node of inTurns(cluster)) {
    if (node === undefined) {
      yield undefined;
      continue;
    }
    const labels = labelsOf(node);
    for (const [resource_type, value] of measuredResources(resourcesOf(node)))
      yield { value, labels, more: { resource_type } };
  }
}

function* ages(cluster: Observed, labelsOf: LabelsOf, nowMs: number): MetricSamples {
  for (const node of cluster.nodes.values())
    yield { value: (nowMs - node.createdMs) / 1_000, labels: labelsOf(node) };
}

/** Karpenter counts instances, too, whose node has not joined. */
function nodeCount(cluster: Observed): number {
  let coming = 0;
  for (const claim of cluster.claims.values())
    if (claim.providerId !== undefined && cluster.nodeOfClaim(claim) === undefined) coming += 1;
  return cluster.nodes.size + coming;
}

/** The Nodes of claims that have more than one. */
function duplicateCount(cluster: Observed): number {
  let found = 0;
  for (const claim of cluster.claims.values()) {
    const nodes = cluster.nodesOfClaim(claim).length;
    if (nodes > 1) found += nodes;
  }
  return found;
}

/** How much of what nodes have their pods request, by resource, in percent. */
export function* utilization(cluster: Observed): MetricSamples {
  const allocatable: Sum = {};
  const requested: Sum = {};
  for (const node of inTurns(cluster)) {
    if (node === undefined) {
      yield undefined;
      continue;
    }
    add(allocatable, node.allocatable);
    addRequests(cluster, node, requested);
  }
  for (const [name, amount] of Object.entries(allocatable)) {
    if (amount === 0) continue;
    const [[resource_type = name] = []] = measuredResources({ [name]: amount });
    yield { value: (100 * (lookUp(requested, name) ?? 0)) / amount, labels: { resource_type } };
  }
}

/** The samples of each metric of nodes and of the cluster, by its name. */
export function nodeSamples(
  cluster: Observed,
  nowMs: () => number,
): Readonly<Record<string, () => MetricSamples>> {
  const labelsOf = keptLabels(cluster);
  const each = (resourcesOf: (node: Node) => Resources) => () =>
    eachResource(cluster, labelsOf, resourcesOf);
  return {
    karpenter_cluster_state_node_count: () => [{ value: nodeCount(cluster) }],
    dovetail_duplicate_nodes: () => [{ value: duplicateCount(cluster) }],
    karpenter_cluster_utilization_percent: () => utilization(cluster),
    karpenter_nodes_allocatable: each(({ allocatable }) => allocatable),
    karpenter_nodes_system_overhead: each(({ capacity, allocatable }) =>
      subtractResources(capacity, allocatable),
    ),
    karpenter_nodes_total_pod_requests: each((node) => addRequests(cluster, node, {})),
    karpenter_nodes_total_daemon_requests: each((node) => addRequests(cluster, node, {}, true)),
    karpenter_nodes_current_lifetime_seconds: () => ages(cluster, labelsOf, nowMs()),
  };
}
