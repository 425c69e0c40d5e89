import type {
  NodeSelectorTerm,
  Pod,
  PodAffinityTerm,
  TopologySpreadConstraint,
  Weighted,
} from '@dovetail/core-kube-model';

import { termsMax } from './too-many-terms.js';

/**
 * The demands of a pod at one level of relaxation. Level 0 has every preference; the last level has
 * none.
 */
export type Demands = {
  /** The alternative of required node affinity that applies; absent if the pod has none. */
  readonly term?: NodeSelectorTerm;
  readonly preferredTerm?: NodeSelectorTerm;
  readonly spread: readonly TopologySpreadConstraint[];
  readonly affinity: readonly PodAffinityTerm[];
  readonly antiAffinity: readonly PodAffinityTerm[];
  /**
   * The number of leading entries of `affinity` and `antiAffinity` that are required. The rest are
   * preferences.
   */
  readonly required: { readonly affinity: number; readonly antiAffinity: number };
  readonly toleratesPreferred: boolean;
};

type Draft = {
  terms: readonly NodeSelectorTerm[];
  affinity: readonly PodAffinityTerm[];
  anti: readonly PodAffinityTerm[];
  preferred: readonly NodeSelectorTerm[];
  softSpread: readonly TopologySpreadConstraint[];
  toleratesPreferred: boolean;
};

/** The preferences of a kind that planning reads of one pod, heaviest first. */
const preferencesMax = termsMax;

/**
 * Up to as many preferences are given up one by one. Of more, half goes at once, so that a pod has
 * few levels and all of them together are as long as a few lists.
 */
const singlyMax = 16;

const heaviestFirst = <T>(weighted: readonly Weighted<T>[]): readonly T[] =>
  weighted
    .map((entry, index) => ({ entry, index }))
    .sort((a, b) => b.entry.weight - a.entry.weight || a.index - b.index)
    .slice(0, preferencesMax)
    .map(({ entry }) => entry.term);

const fewer = <T>(preferences: readonly T[]): readonly T[] =>
  preferences.slice(preferences.length > singlyMax ? Math.ceil(preferences.length / 2) : 1);

/**
 * Returns the terms of required node affinity that can match. A term without expressions matches no
 * node.
 */
export const usableTerms = (pod: Pod): readonly NodeSelectorTerm[] =>
  (pod.requiredNodeAffinity ?? []).filter(
    (term) => term.matchExpressions.length > 0 || term.matchFields.length > 0,
  );

/** Returns the next step of Karpenter's relaxation; undefined if nothing is left to give up. */
function relaxed(draft: Draft, taintPreferences: boolean): Draft | undefined {
  if (draft.terms.length > 1) return { ...draft, terms: draft.terms.slice(1) };
  if (draft.affinity.length > 0) return { ...draft, affinity: fewer(draft.affinity) };
  if (draft.anti.length > 0) return { ...draft, anti: fewer(draft.anti) };
  if (draft.preferred.length > 0) return { ...draft, preferred: fewer(draft.preferred) };
  if (draft.softSpread.length > 0) return { ...draft, softSpread: fewer(draft.softSpread) };
  if (taintPreferences && !draft.toleratesPreferred) return { ...draft, toleratesPreferred: true };
  return undefined;
}

function demandsOf(pod: Pod, draft: Draft): Demands {
  const [term] = draft.terms;
  const [preferredTerm] = draft.preferred;
  return {
    ...(term === undefined ? {} : { term }),
    ...(preferredTerm === undefined ? {} : { preferredTerm }),
    spread: [
      ...pod.topologySpread.filter((one) => one.whenUnsatisfiable === 'DoNotSchedule'),
      ...draft.softSpread,
    ],
    affinity: [...pod.requiredPodAffinity, ...draft.affinity],
    antiAffinity: [...pod.requiredPodAntiAffinity, ...draft.anti],
    required: {
      affinity: pod.requiredPodAffinity.length,
      antiAffinity: pod.requiredPodAntiAffinity.length,
    },
    toleratesPreferred: draft.toleratesPreferred,
  };
}

/**
 * Returns the levels of a pod, strictest first, in Karpenter's order of relaxation. First go the
 * alternatives of required node affinity. Next go preferred pod affinity, pod anti-affinity and
 * node affinity, heaviest first each. Then goes ScheduleAnyway spread. Last go taints with
 * PreferNoSchedule if some pool has one. Unlike in Karpenter, a pod with many preferences of a kind
 * gives up half of them at once, and of more than `preferencesMax` the lightest do not count.
 */
export function levelsOf(
  pod: Pod,
  policy: { readonly preferences: 'Respect' | 'Ignore'; readonly taintPreferences: boolean },
): readonly Demands[] {
  const respect = policy.preferences === 'Respect';
  let draft: Draft | undefined = {
    terms: usableTerms(pod),
    affinity: respect ? heaviestFirst(pod.preferredPodAffinity) : [],
    anti: respect ? heaviestFirst(pod.preferredPodAntiAffinity) : [],
    preferred: respect ? heaviestFirst(pod.preferredNodeAffinity) : [],
    softSpread: respect
      ? pod.topologySpread
          .filter((one) => one.whenUnsatisfiable === 'ScheduleAnyway')
          .slice(0, preferencesMax)
      : [],
    toleratesPreferred: !policy.taintPreferences,
  };
  const levels: Demands[] = [];
  while (draft !== undefined) {
    levels.push(demandsOf(pod, draft));
    draft = relaxed(draft, policy.taintPreferences);
  }
  return levels;
}
