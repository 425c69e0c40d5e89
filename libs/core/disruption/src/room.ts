import { isRetiring } from '@dovetail/core-cluster';
import { present } from '@dovetail/core-invariant';
import {
  compareText,
  firstUntolerated,
  fits,
  type Node,
  type NodeSelectorTerm,
  type Pod,
  type RequirementSpec,
  type Resources,
  subtractResources,
  sumResources,
} from '@dovetail/core-kube-model';

/** A node that could take pods, and the pods that are bound to it. */
export type Host = { readonly node: Node; readonly pods: readonly Pod[] };

function expressionMatches(
  { key, operator, values }: RequirementSpec,
  labels: Readonly<Record<string, string>>,
): boolean {
  const value = labels[key];
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    // Comparisons are left to the planner. Here a doubtful node is not counted.
    case 'Gt':
    case 'Gte':
    case 'Lt':
    case 'Lte':
      return false;
  }
}

const termMatches = (term: NodeSelectorTerm, labels: Readonly<Record<string, string>>): boolean =>
  term.matchFields.length === 0 &&
  term.matchExpressions.length > 0 &&
  term.matchExpressions.every((expression) => expressionMatches(expression, labels));

/**
 * Whether resources, labels and taints alone decide the pod's place. Other pods need the planner.
 */
const isSimple = (pod: Pod): boolean =>
  pod.requiredPodAffinity.length === 0 &&
  pod.requiredPodAntiAffinity.length === 0 &&
  pod.hostPorts.length === 0 &&
  pod.volumes.length === 0 &&
  pod.resourceClaims.length === 0 &&
  pod.topologySpread.every((spread) => spread.whenUnsatisfiable === 'ScheduleAnyway');

function accepts(host: Host, pod: Pod): boolean {
  const { node } = host;
  if (!node.ready || node.cordoned || isRetiring(node)) return false;
  if (firstUntolerated(node.taints, pod.tolerations) !== undefined) return false;
  if (host.pods.some((other) => other.requiredPodAntiAffinity.length > 0)) return false;
  if (Object.entries(pod.nodeSelector).some(([key, value]) => node.labels[key] !== value))
    return false;
  return (
    pod.requiredNodeAffinity === undefined ||
    pod.requiredNodeAffinity.some((term) => termMatches(term, node.labels))
  );
}

const everyHostIsFree = 'every host has an entry of free room';

const largestFirst = (a: Pod, b: Pod): number =>
  (b.requests['cpu'] ?? 0) - (a.requests['cpu'] ?? 0) ||
  (b.requests['memory'] ?? 0) - (a.requests['memory'] ?? 0) ||
  compareText(a.uid, b.uid);

/**
 * Whether these pods surely fit on existing nodes. It is judged without the planner and on the safe
 * side: a true answer is certain, a false one is not. So a node can expire while no solver answers,
 * unless its pods need more than resources.
 */
export function surelyFitsElsewhere(pods: readonly Pod[], hosts: readonly Host[]): boolean {
  if (!pods.every(isSimple)) return false;
  const ordered = hosts.toSorted((a, b) => compareText(a.node.name, b.node.name));
  const free = new Map<string, Resources>(
    ordered.map(({ node, pods: bound }) => [
      node.uid,
      subtractResources(node.allocatable, sumResources(bound.map((pod) => pod.requests))),
    ]),
  );
  for (const pod of pods.toSorted(largestFirst)) {
    const host = ordered.find(
      (one) =>
        accepts(one, pod) && fits(pod.requests, present(free.get(one.node.uid), everyHostIsFree)),
    );
    if (host === undefined) return false;
    free.set(
      host.node.uid,
      subtractResources(present(free.get(host.node.uid), everyHostIsFree), pod.requests),
    );
  }
  return true;
}
