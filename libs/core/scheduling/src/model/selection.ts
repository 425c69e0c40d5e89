import type { LabelSelector, Pod } from '@dovetail/core-kube-model';

import type { Snapshot } from '../snapshot.js';

/**
 * Which labels somebody's selector asks about. Other labels cannot matter, and pods that differ
 * only in them are equal.
 */
export type SelectorKeys = { readonly any: boolean; readonly keys: readonly string[] };

function selectorsOf(pod: Pod): readonly (LabelSelector | undefined)[] {
  return [
    ...pod.topologySpread.map((one) => one.selector),
    ...pod.requiredPodAffinity.map((term) => term.selector),
    ...pod.preferredPodAffinity.map(({ term }) => term.selector),
    ...pod.requiredPodAntiAffinity.map((term) => term.selector),
    ...pod.preferredPodAntiAffinity.map(({ term }) => term.selector),
  ];
}

const constrainsOthers = (pod: Pod): boolean =>
  pod.topologySpread.length +
    pod.requiredPodAffinity.length +
    pod.preferredPodAffinity.length +
    pod.requiredPodAntiAffinity.length +
    pod.preferredPodAntiAffinity.length >
  0;

/**
 * The label keys that selectors of the pods to place, and anti-affinity of the pods that run, ask
 * about.
 */
export function selectorKeysOf(pods: readonly Pod[], snapshot: Snapshot): SelectorKeys {
  const keys = new Set<string>();
  let any = false;
  const note = (selector: LabelSelector | undefined): void => {
    any = true;
    selector?.requirements.forEach((one) => keys.add(one.key));
  };
  for (const pod of pods) if (constrainsOthers(pod)) selectorsOf(pod).forEach(note);
  for (const node of snapshot.nodes) {
    for (const list of [node.pods, node.promisedPods])
      for (const pod of list) pod.requiredPodAntiAffinity.forEach((term) => note(term.selector));
  }
  return { any, keys: [...keys].sort() };
}

/** Namespace and those labels that selectors ask about, as one text. */
export function selectionText(pod: Pod, selection: SelectorKeys): string {
  if (!selection.any) return '';
  let text = pod.namespace;
  for (const key of selection.keys) {
    const value = pod.labels[key];
    text += value === undefined ? '|' : `|${key}=${value}`;
  }
  return text;
}
