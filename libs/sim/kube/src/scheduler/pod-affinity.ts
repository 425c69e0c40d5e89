import { lookUp } from '@dovetail/core-invariant';

import type { Namespace, Pod, PodAffinityTermSpec } from '../model/objects.js';
import { type LabelTest, selectorTest } from '../model/selectors.js';
import type { KubeStore } from '../store/store.js';
import type { NodeInfo } from './cache.js';

/** One term as a test on other pods. */
export type TermTest = { readonly topologyKey: string; readonly matches: (other: Pod) => boolean };

function labelsOf(term: PodAffinityTermSpec, owner: Pod): LabelTest {
  const labels = owner.metadata.labels ?? {};
  const given = (keys: readonly string[] | undefined, operator: string) =>
    (keys ?? [])
      .filter((key) => lookUp(labels, key) !== undefined)
      .map((key) => ({ key, operator, values: [lookUp(labels, key) as string] }));
  const added = [...given(term.matchLabelKeys, 'In'), ...given(term.mismatchLabelKeys, 'NotIn')];
  if (added.length === 0 || term.labelSelector === undefined)
    return selectorTest(term.labelSelector);
  return selectorTest({
    ...term.labelSelector,
    matchExpressions: [...(term.labelSelector.matchExpressions ?? []), ...added],
  });
}

/**
 * The term of `owner` as a test on pods. Without namespaces and namespaceSelector, it applies to
 * the owner's namespace.
 */
export function termTest(store: KubeStore, term: PodAffinityTermSpec, owner: Pod): TermTest {
  const labels = labelsOf(term, owner);
  const listed = new Set(term.namespaces ?? []);
  const { namespaceSelector } = term;
  if (listed.size === 0 && namespaceSelector === undefined)
    listed.add(owner.metadata.namespace ?? '');
  const inNamespace = (namespace: string): boolean => {
    if (listed.has(namespace)) return true;
    if (namespaceSelector === undefined) return false;
    return selectorTest(namespaceSelector)(
      (store.state.table('namespaces').get(namespace) as Namespace | undefined)?.metadata.labels,
    );
  };
  return {
    topologyKey: term.topologyKey,
    matches: (other) =>
      labels(other.metadata.labels) && inNamespace(other.metadata.namespace ?? ''),
  };
}

/**
 * Everything about other pods that restricts the placement of one pod, counted over the current
 * nodes.
 */
export type AffinityState = {
  readonly affinity: readonly { readonly test: TermTest; readonly domains: ReadonlySet<string> }[];
  /**
   * True when no pod satisfies the affinity but the pod itself would: the first of a group may go
   * anywhere.
   */
  readonly first: boolean;
  readonly antiAffinity: readonly {
    readonly test: TermTest;
    readonly domains: ReadonlySet<string>;
  }[];
  /** Domains (key, value) where a pod already placed wants none like this one. */
  readonly repelled: ReadonlySet<string>;
};

const domainKey = (key: string, value: string): string => `${key}\u0000${value}`;

function domainsOf(test: TermTest, nodes: readonly NodeInfo[]): ReadonlySet<string> {
  const domains = new Set<string>();
  for (const node of nodes) {
    const domain = lookUp(node.labels, test.topologyKey);
    if (domain === undefined || domains.has(domain)) continue;
    for (const other of node.pods.values()) {
      if (!test.matches(other)) continue;
      domains.add(domain);
      break;
    }
  }
  return domains;
}

function repelledDomains(
  store: KubeStore,
  pod: Pod,
  nodes: readonly NodeInfo[],
): ReadonlySet<string> {
  const repelled = new Set<string>();
  for (const node of nodes) {
    for (const other of node.repelling.values()) {
      for (const term of other.spec.affinity?.podAntiAffinity
        ?.requiredDuringSchedulingIgnoredDuringExecution ?? []) {
        const domain = lookUp(node.labels, term.topologyKey);
        if (domain !== undefined && termTest(store, term, other).matches(pod))
          repelled.add(domainKey(term.topologyKey, domain));
      }
    }
  }
  return repelled;
}

/** The pod's terms of affinity and the domains of matching pods, computed once for all nodes. */
export function affinityState(
  store: KubeStore,
  pod: Pod,
  nodes: readonly NodeInfo[],
): AffinityState {
  const tests = (terms: readonly PodAffinityTermSpec[] | undefined): AffinityState['affinity'] =>
    (terms ?? []).map((term) => {
      const test = termTest(store, term, pod);
      return { test, domains: domainsOf(test, nodes) };
    });
  const affinity = tests(
    pod.spec.affinity?.podAffinity?.requiredDuringSchedulingIgnoredDuringExecution,
  );
  return {
    affinity,
    first: affinity.every(({ test, domains }) => domains.size === 0 && test.matches(pod)),
    antiAffinity: tests(
      pod.spec.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution,
    ),
    repelled: repelledDomains(store, pod, nodes),
  };
}

/** Why pod (anti-)affinity forbids the node; undefined when it does not. */
export function affinityProblem(
  state: AffinityState,
  node: NodeInfo,
): 'affinity' | 'anti-affinity' | 'repelled' | undefined {
  for (const { test, domains } of state.affinity) {
    const domain = lookUp(node.labels, test.topologyKey);
    if (domain === undefined) return 'affinity';
    if (!domains.has(domain) && !state.first) return 'affinity';
  }
  for (const { test, domains } of state.antiAffinity) {
    const domain = lookUp(node.labels, test.topologyKey);
    if (domain !== undefined && domains.has(domain)) return 'anti-affinity';
  }
  for (const key of state.repelled) {
    const [label = '', value] = key.split('\u0000');
    if (lookUp(node.labels, label) === value) return 'repelled';
  }
  return undefined;
}
