import { lookUp } from '@dovetail/core-invariant';

import type { Pod, WeightedPodTerm } from '../model/objects.js';
import type { KubeStore } from '../store/store.js';
import type { NodeInfo } from './cache.js';
import type { PodState } from './filters.js';
import { termMatches, tolerates } from './matching.js';
import { termTest } from './pod-affinity.js';
import { countSpread } from './spread.js';

// kube-scheduler assumes these requests where there are none, so that such pods are spread too
// (thousandths).
const assumedCpu = 100;
const assumedMemory = 200 * 2 ** 20 * 1000;

type Scores = readonly number[];

/** Stretches raw scores to 0..100; all equal gives all 0. `lowest` turns them round. */
function normalized(raw: Scores, best: 'highest' | 'lowest'): Scores {
  const max = Math.max(...raw);
  const min = Math.min(...raw);
  if (max === min) return raw.map(() => 0);
  return raw.map((value) => (100 * (best === 'highest' ? value - min : max - value)) / (max - min));
}

/** Most room left after the pod, by share of CPU and memory. */
function leastAllocated(state: PodState, nodes: readonly NodeInfo[]): Scores {
  const cpu = state.requests['cpu'] || assumedCpu;
  const memory = state.requests['memory'] || assumedMemory;
  const share = (node: NodeInfo, name: string, amount: number): number => {
    const total = lookUp(node.allocatable, name) ?? 0;
    return total === 0
      ? 0
      : Math.max(0, (100 * (total - (lookUp(node.requested, name) ?? 0) - amount)) / total);
  };
  return nodes.map((node) => (share(node, 'cpu', cpu) + share(node, 'memory', memory)) / 2);
}

function preferredNodes(pod: Pod, nodes: readonly NodeInfo[]): Scores {
  const terms =
    pod.spec.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  if (terms.length === 0) return nodes.map(() => 0);
  return normalized(
    nodes.map((node) =>
      terms.reduce(
        (sum, { weight, preference }) => sum + (termMatches(preference, node) ? weight : 0),
        0,
      ),
    ),
    'highest',
  );
}

function softTaints(pod: Pod, nodes: readonly NodeInfo[]): Scores {
  const count = (node: NodeInfo): number =>
    node.taints.filter(
      (taint) =>
        taint.effect === 'PreferNoSchedule' &&
        !(pod.spec.tolerations ?? []).some((toleration) => tolerates(toleration, taint)),
    ).length;
  return normalized(nodes.map(count), 'lowest');
}

function softSpread(pod: Pod, nodes: readonly NodeInfo[], all: readonly NodeInfo[]): Scores {
  const spreads = countSpread(pod, all, 'ScheduleAnyway');
  if (spreads.length === 0) return ownerSpread(pod, nodes);
  return normalized(
    nodes.map((node) =>
      spreads.reduce(
        (sum, { spec, counts }) =>
          sum + (counts.get(lookUp(node.labels, spec.topologyKey) ?? '') ?? 0),
        0,
      ),
    ),
    'lowest',
  );
}

/** Without constraints of their own, pods of one owner are spread over hosts a little. */
function ownerSpread(pod: Pod, nodes: readonly NodeInfo[]): Scores {
  const owner = pod.metadata.ownerReferences?.[0]?.uid;
  if (owner === undefined) return nodes.map(() => 0);
  const siblings = (node: NodeInfo): number => {
    let count = 0;
    for (const other of node.pods.values())
      if (other.metadata.ownerReferences?.[0]?.uid === owner) count += 1;
    return count;
  };
  return normalized(nodes.map(siblings), 'lowest');
}

function preferredPods(
  store: KubeStore,
  pod: Pod,
  nodes: readonly NodeInfo[],
  all: readonly NodeInfo[],
): Scores {
  const { podAffinity, podAntiAffinity } = pod.spec.affinity ?? {};
  const signed = (terms: readonly WeightedPodTerm[] | undefined, sign: number) =>
    (terms ?? []).map(({ weight, podAffinityTerm }) => ({
      weight: weight * sign,
      test: termTest(store, podAffinityTerm, pod),
    }));
  const terms = [
    ...signed(podAffinity?.preferredDuringSchedulingIgnoredDuringExecution, 1),
    ...signed(podAntiAffinity?.preferredDuringSchedulingIgnoredDuringExecution, -1),
  ];
  if (terms.length === 0) return nodes.map(() => 0);
  const raw = nodes.map((node) =>
    terms.reduce((sum, { weight, test }) => {
      const domain = lookUp(node.labels, test.topologyKey);
      const matching = all
        .filter(
          (other) => domain !== undefined && lookUp(other.labels, test.topologyKey) === domain,
        )
        .reduce(
          (count, other) =>
            count + [...other.pods.values()].filter((one) => test.matches(one)).length,
          0,
        );
      return sum + weight * matching;
    }, 0),
  );
  return normalized(raw, 'highest');
}

/**
 * The best of the nodes that passed the filters. The seed breaks ties. The weights are
 * kube-scheduler's.
 */
export function bestNode(
  context: { readonly store: KubeStore; readonly random: () => number },
  state: PodState,
  nodes: readonly NodeInfo[],
  all: readonly NodeInfo[],
): NodeInfo {
  const { pod } = state;
  const parts: readonly (readonly [number, Scores])[] = [
    [1, leastAllocated(state, nodes)],
    [2, preferredNodes(pod, nodes)],
    [3, softTaints(pod, nodes)],
    [2, softSpread(pod, nodes, all)],
    [2, preferredPods(context.store, pod, nodes, all)],
  ];
  const totals = nodes.map((_, index) =>
    parts.reduce((sum, [weight, scores]) => sum + weight * (scores[index] ?? 0), 0),
  );
  const best = Math.max(...totals);
  const tied = nodes.filter((_, index) => (totals[index] ?? 0) === best);
  return tied[Math.floor(context.random() * tied.length)] as NodeInfo;
}
