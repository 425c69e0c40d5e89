import { lookUp } from '@dovetail/core-invariant';

import type { Pod } from '../model/objects.js';
import { podRequests } from '../model/pod-requests.js';
import type { Amounts } from '../model/quantity.js';
import type { KubeStore } from '../store/store.js';
import { hostPortsOf, type HostPortUse, type NodeInfo } from './cache.js';
import { nodeAffinityAllows, tolerates, untolerated } from './matching.js';
import { affinityProblem, type AffinityState, affinityState } from './pod-affinity.js';
import { type CountedSpread, countSpread, spreadProblem } from './spread.js';
import { volumeProblem, type VolumeState, volumeState } from './volumes.js';

/** Everything about one pod that the filters need, computed once. */
export type PodState = {
  readonly pod: Pod;
  readonly requests: Amounts;
  readonly ports: readonly HostPortUse[];
  readonly spreads: readonly CountedSpread[];
  readonly affinity: AffinityState;
  readonly volumes: VolumeState;
};

/** Why a node was filtered out; `resolvable` when ending other pods could change it. */
export type Refusal = { readonly reasons: readonly string[]; readonly resolvable: boolean };

const refusal = (reason: string, resolvable: boolean): Refusal => ({
  reasons: [reason],
  resolvable,
});

/** The facts about a pod that every filter needs, computed once for all nodes. */
export function podState(store: KubeStore, pod: Pod, nodes: readonly NodeInfo[]): PodState {
  return {
    pod,
    requests: podRequests(pod),
    ports: hostPortsOf(pod),
    spreads: countSpread(pod, nodes, 'DoNotSchedule'),
    affinity: affinityState(store, pod, nodes),
    volumes: volumeState(store, pod),
  };
}

const cordonTaint = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };

function cordoned({ pod }: PodState, node: NodeInfo): Refusal | undefined {
  if (node.node.spec?.unschedulable !== true) return undefined;
  return (pod.spec.tolerations ?? []).some((toleration) => tolerates(toleration, cordonTaint))
    ? undefined
    : refusal('node(s) were unschedulable', false);
}

function tainted({ pod }: PodState, node: NodeInfo): Refusal | undefined {
  const taint = untolerated(pod.spec.tolerations, node.taints, ['NoSchedule', 'NoExecute']);
  return taint === undefined
    ? undefined
    : refusal(`node(s) had untolerated taint {${taint.key}: ${taint.value ?? ''}}`, false);
}

function unselected({ pod }: PodState, node: NodeInfo): Refusal | undefined {
  return nodeAffinityAllows(pod, node)
    ? undefined
    : refusal("node(s) didn't match Pod's node affinity/selector", false);
}

const clash = (left: HostPortUse, right: HostPortUse): boolean =>
  left.port === right.port &&
  left.protocol === right.protocol &&
  (left.ip === right.ip || left.ip === '0.0.0.0' || right.ip === '0.0.0.0');

function portTaken({ ports }: PodState, node: NodeInfo): Refusal | undefined {
  if (ports.length === 0) return undefined;
  const taken = [...node.pods.values()].flatMap(hostPortsOf);
  return taken.some((one) => ports.some((port) => clash(one, port)))
    ? refusal("node(s) didn't have free ports for the requested pod ports", true)
    : undefined;
}

function tooSmall({ requests }: PodState, node: NodeInfo): Refusal | undefined {
  const reasons: string[] = [];
  let resolvable = true;
  if ((node.requested['pods'] ?? 0) + 1000 > (node.allocatable['pods'] ?? 0))
    reasons.push('Too many pods');
  for (const [name, amount] of Object.entries(requests)) {
    if (amount === 0) continue;
    const allocatable = lookUp(node.allocatable, name) ?? 0;
    if (amount <= allocatable - (lookUp(node.requested, name) ?? 0)) continue;
    reasons.push(`Insufficient ${name}`);
    if (amount > allocatable) resolvable = false;
  }
  return reasons.length === 0 ? undefined : { reasons, resolvable };
}

function outOfReach({ volumes }: PodState, node: NodeInfo): Refusal | undefined {
  const problem = volumeProblem(volumes, node);
  return problem === undefined ? undefined : refusal(problem, false);
}

/** No node of the twin has devices. */
const withoutDevice = ({ pod }: PodState): Refusal | undefined =>
  (pod.spec.resourceClaims ?? []).length === 0
    ? undefined
    : refusal('cannot allocate all claims', false);

/**
 * Whether a ResourceClaimTemplate of the pod does not exist: the twin has none. No claim is made
 * then, and the scheduler waits for it before it tries the pod.
 */
export const lacksTemplate = ({ spec }: Pod): boolean =>
  (spec.resourceClaims ?? []).some(
    ({ resourceClaimTemplateName = '' }) => resourceClaimTemplateName !== '',
  );

function uneven({ spreads }: PodState, node: NodeInfo): Refusal | undefined {
  switch (spreadProblem(spreads, node)) {
    case undefined:
      return undefined;
    case 'missing-label':
      return refusal(
        "node(s) didn't match pod topology spread constraints (missing required label)",
        false,
      );
    case 'skew':
      return refusal("node(s) didn't match pod topology spread constraints", true);
  }
}

function disliked({ affinity }: PodState, node: NodeInfo): Refusal | undefined {
  switch (affinityProblem(affinity, node)) {
    case undefined:
      return undefined;
    case 'affinity':
      return refusal("node(s) didn't match pod affinity rules", false);
    case 'anti-affinity':
      return refusal("node(s) didn't match pod anti-affinity rules", true);
    case 'repelled':
      return refusal("node(s) didn't satisfy existing pods anti-affinity rules", true);
  }
}

// kube-scheduler's order: the first filter that refuses names the reason.
const filters = [
  cordoned,
  tainted,
  unselected,
  portTaken,
  tooSmall,
  outOfReach,
  withoutDevice,
  uneven,
  disliked,
] as const;

/** Why the pod may not go to the node; undefined when it may. */
export function refusalOf(state: PodState, node: NodeInfo): Refusal | undefined {
  for (const filter of filters) {
    const refused = filter(state, node);
    if (refused !== undefined) return refused;
  }
  return undefined;
}

/**
 * Whether this node alone does not rule the pod out. Only then is its change worth another attempt.
 */
export function mayHelp(pod: Pod, node: NodeInfo): boolean {
  const state: PodState = {
    pod,
    requests: podRequests(pod),
    ports: [],
    spreads: [],
    affinity: { affinity: [], first: true, antiAffinity: [], repelled: new Set() },
    volumes: { bound: [], waiting: [] },
  };
  return [cordoned, tainted, unselected, tooSmall].every(
    (filter) => filter(state, node) === undefined,
  );
}

/** kube-scheduler's sentence for a pod that fits nowhere. */
export function unschedulableMessage(refusals: readonly Refusal[]): string {
  const total = refusals.length;
  if (total === 0) return 'no nodes available to schedule pods';
  const listed = (texts: readonly string[]): string => {
    const counts = new Map<string, number>();
    for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
    return [...counts]
      .map(([text, count]) => `${count} ${text}`)
      .sort()
      .join(', ');
  };
  const preemption = refusals.map((one) =>
    one.resolvable
      ? 'No preemption victims found for incoming pod'
      : 'Preemption is not helpful for scheduling',
  );
  return `0/${total} nodes are available: ${listed(refusals.flatMap((one) => one.reasons))}. no new claims to deallocate, preemption: 0/${total} nodes are available: ${listed(preemption)}.`;
}
