import { labels } from '@dovetail/core-api';
import {
  intersectRequirements,
  type LabelSelector,
  type Namespace,
  type Pod,
  type PodAffinityTerm,
  type Requirements,
  requirementsFromSelector,
  requirementsOf,
  selectorMatches,
  type Toleration,
  type TopologySpreadConstraint,
} from '@dovetail/core-kube-model';

import { usableTerms } from './levels.js';

/**
 * The nodes that a spread constraint counts. Some alternative must admit the node, and its taints
 * must be tolerated if tolerations are given.
 */
export type NodeFilter = {
  /** Alternatives (OR); absent means every node. */
  readonly alternatives?: readonly Requirements[];
  /** Tolerations for the node's taints; absent means that taints are ignored. */
  readonly tolerations?: readonly Toleration[];
};

/** A set of pods that are counted together per domain of one topology key. */
export type Group = {
  readonly id: number;
  readonly kind: 'spread' | 'affinity' | 'anti';
  readonly key: string;
  readonly onHost: boolean;
  /** False if pods carry the rule only as a preference. Such a rule excludes no later pod. */
  readonly hard: boolean;
  readonly selector: LabelSelector | undefined;
  readonly namespaces: ReadonlySet<string>;
  readonly maxSkew: number;
  readonly minDomains: number;
  readonly filter: NodeFilter;
  /** The name of the group in plans. Invariant: equal constraints have equal text. */
  readonly text: string;
};

const selectorText = (selector: LabelSelector | undefined): string =>
  selector === undefined
    ? '-'
    : selector.requirements
        .map((one) => `${one.key} ${one.operator} ${[...one.values].sort().join(',')}`)
        .sort()
        .join('&');

/** Whether the group counts a pod with these labels in this namespace. */
export const groupSelects = (
  group: Group,
  pod: { readonly namespace: string; readonly labels: Readonly<Record<string, string>> },
): boolean => group.namespaces.has(pod.namespace) && selectorMatches(group.selector, pod.labels);

/**
 * Returns the namespaces of an affinity term; the pod's own if the term has neither list nor
 * selector.
 */
export function namespacesOf(
  term: PodAffinityTerm,
  own: string,
  all: readonly Namespace[],
): ReadonlySet<string> {
  if (term.namespaces.length === 0 && term.namespaceSelector === undefined) return new Set([own]);
  const selected =
    term.namespaceSelector === undefined
      ? []
      : all.filter((one) => selectorMatches(term.namespaceSelector, one.labels));
  return new Set([...term.namespaces, ...selected.map((one) => one.name)]);
}

// Each spread of a plan asks for those of every pod.
const alternatives = new WeakMap<Pod, readonly Requirements[]>();

/** Returns what a pod requires of a node's labels, as alternatives (OR); never none. */
export function alternativesOf(pod: Pod): readonly Requirements[] {
  const known = alternatives.get(pod);
  if (known !== undefined) return known;
  const base = requirementsFromSelector(pod.nodeSelector);
  const terms = usableTerms(pod);
  const made =
    terms.length === 0
      ? [base]
      : terms.map((term) => intersectRequirements(base, requirementsOf(term.matchExpressions)));
  alternatives.set(pod, made);
  return made;
}

type NamedFilter = { readonly filter: NodeFilter; readonly text: string };

// A pod may have as many constraints as alternatives, and each constraint reads all of these.
const filters = new WeakMap<Pod, Map<string, NamedFilter>>();

function filterOf(
  pod: Pod,
  { nodeAffinityPolicy, nodeTaintsPolicy }: TopologySpreadConstraint,
): NamedFilter {
  const mine = filters.get(pod) ?? new Map<string, NamedFilter>();
  filters.set(pod, mine);
  const name = `${nodeAffinityPolicy} ${nodeTaintsPolicy}`;
  const known = mine.get(name);
  if (known !== undefined) return known;
  const selecting =
    nodeAffinityPolicy === 'Honor' &&
    (Object.keys(pod.nodeSelector).length > 0 || pod.requiredNodeAffinity !== undefined);
  const tolerating = nodeTaintsPolicy === 'Honor';
  const made = {
    filter: {
      ...(selecting ? { alternatives: alternativesOf(pod) } : {}),
      ...(tolerating ? { tolerations: pod.tolerations } : {}),
    },
    text:
      (selecting
        ? JSON.stringify([Object.entries(pod.nodeSelector).sort(), usableTerms(pod)])
        : '') + (tolerating ? JSON.stringify(pod.tolerations) : ''),
  };
  mine.set(name, made);
  return made;
}

/**
 * Groups by identity. Unlike in Karpenter, constraints that differ only in minDomains are different
 * groups.
 */
export class GroupTable {
  readonly groups: Group[] = [];
  readonly #ids = new Map<string, number>();
  readonly #namespaces: readonly Namespace[];

  constructor(namespaces: readonly Namespace[]) {
    this.#namespaces = namespaces;
  }

  at(id: number): Group {
    const group = this.groups[id];
    if (group === undefined) throw new Error(`topology group ${id} is unknown to this plan`);
    return group;
  }

  spread(pod: Pod, constraint: TopologySpreadConstraint): Group {
    const { filter, text: filterText } = filterOf(pod, constraint);
    const hard = constraint.whenUnsatisfiable === 'DoNotSchedule';
    const minDomains = constraint.minDomains ?? 1;
    const text = `spread|${constraint.topologyKey}|${pod.namespace}|${selectorText(constraint.selector)}|${constraint.maxSkew}|${minDomains}|${hard ? 'hard' : 'soft'}|${filterText}`;
    return this.#intern(text, () => ({
      kind: 'spread',
      key: constraint.topologyKey,
      hard,
      selector: constraint.selector,
      namespaces: new Set([pod.namespace]),
      maxSkew: constraint.maxSkew,
      minDomains,
      filter,
    }));
  }

  affinity(
    pod: Pod,
    term: PodAffinityTerm,
    what: { readonly kind: 'affinity' | 'anti'; readonly hard: boolean },
  ): Group {
    const namespaces = namespacesOf(term, pod.namespace, this.#namespaces);
    const text = `${what.kind}|${term.topologyKey}|${[...namespaces].sort().join(',')}|${selectorText(term.selector)}|${what.hard ? 'hard' : 'soft'}`;
    return this.#intern(text, () => ({
      kind: what.kind,
      key: term.topologyKey,
      hard: what.hard,
      selector: term.selector,
      namespaces,
      maxSkew: 1,
      minDomains: 1,
      filter: {},
    }));
  }

  #intern(text: string, make: () => Omit<Group, 'id' | 'text' | 'onHost'>): Group {
    const known = this.#ids.get(text);
    if (known !== undefined) return this.at(known);
    const made = make();
    const group: Group = {
      id: this.groups.length,
      text,
      onHost: made.key === labels.hostname,
      ...made,
    };
    this.#ids.set(text, group.id);
    this.groups.push(group);
    return group;
  }
}
