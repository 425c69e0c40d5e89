import { lookUp } from '@dovetail/core-invariant';
import type { LabelSelector, Pod } from '@dovetail/core-kube-model';

import type { Snapshot } from '../snapshot.js';

/**
 * The labels that some selector names. Pods that differ only in other labels are equal. `any` means
 * that some selector exists.
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
 * Returns the label keys named by selectors of the pods to place and by anti-affinity of running
 * pods.
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

/** Returns the namespace and the labels that selectors name as one text. */
export function selectionText(pod: Pod, selection: SelectorKeys): string {
  if (!selection.any) return '';
  let text = pod.namespace;
  for (const key of selection.keys) {
    const value = lookUp(pod.labels, key);
    text += value === undefined ? '|' : `|${key}=${value}`;
  }
  return text;
}
