import { lookUp } from '@dovetail/core-invariant';
import type { Pod } from '@dovetail/core-kube-model';

import { ByAmounts } from './amounts.js';
import { selectionText, type SelectorKeys } from './selection.js';
import { tooManyTerms } from './too-many-terms.js';

/** Pods that are equal in everything that planning reads. */
export type EqualPods = {
  readonly pods: Pod[];
  /**
   * Everything that planning reads except the requests, as text. Invariant: equal text means equal
   * demands.
   */
  readonly demands: string;
};

/**
 * The context that decides which parts of pods planning reads: resource names, labels that
 * selectors name, and existing claims.
 */
export type Reading = {
  readonly names: readonly string[];
  readonly selection: SelectorKeys;
  readonly claims: { has(id: string): boolean };
  /** Returns the claim for one pod that another pod uses; undefined if there is none. */
  readonly takenClaim: (pod: Pod) => string | undefined;
  /** Called between some pods; see `PlanOptions.giveWay`. */
  readonly giveWay?: (() => void) | undefined;
};

/** Pods that are read in one step, which takes about two milliseconds. */
const podsPerStep = 1_000;

/** Returns a list as text; an empty list gives empty text. */
export const listText = (list: readonly unknown[]): string =>
  list.length === 0 ? '' : JSON.stringify(list);

/** Returns labels as text, in the order of their keys. */
export function recordText(record: Readonly<Record<string, string>>): string {
  const keys = Object.keys(record);
  if (keys.length === 0) return '';
  return keys
    .sort()
    .map((key) => `${key}=${lookUp(record, key)}`)
    .join(',');
}

function volumesText(pod: Pod, { claims }: Reading): string {
  if (pod.volumes.length === 0) return '';
  return (
    pod.namespace +
    listText(
      pod.volumes.map((one) =>
        one.ephemeral === undefined
          ? one.claimName
          : claims.has(`${pod.namespace}/${one.claimName}`)
            ? one
            : one.ephemeral,
      ),
    )
  );
}

const said = (letter: string, part: string): string => (part === '' ? '' : `;${letter}${part}`);

/** Writes only the parts that planning reads, because this runs once for every pod. */
function demandsText(pod: Pod, reading: Reading): string {
  // Most parts of most pods are empty. Each part that is present follows a letter that identifies
  // it.
  return (
    selectionText(pod, reading.selection) +
    said('n', recordText(pod.nodeSelector)) +
    said(
      'r',
      pod.requiredNodeAffinity === undefined ? '' : JSON.stringify(pod.requiredNodeAffinity),
    ) +
    said('p', listText(pod.preferredNodeAffinity)) +
    said('t', listText(pod.tolerations)) +
    said('s', listText(pod.topologySpread)) +
    said('a', listText(pod.requiredPodAffinity)) +
    said('b', listText(pod.preferredPodAffinity)) +
    said('x', listText(pod.requiredPodAntiAffinity)) +
    said('y', listText(pod.preferredPodAntiAffinity)) +
    said('h', listText(pod.hostPorts)) +
    said('v', volumesText(pod, reading)) +
    said('o', reading.takenClaim(pod) ?? '') +
    said('c', pod.resourceClaims.join(',')) +
    said('g', pod.schedulingGates.join(',')) +
    // The resources of such a pod are not among the names.
    said('m', tooManyTerms(pod)?.message ?? '')
  );
}

/**
 * Groups equal pods, in the order of the first pod of each group. Invariant: each pod is in one
 * group.
 */
export function equalPods(pods: readonly Pod[], reading: Reading): EqualPods[] {
  const lists: EqualPods[] = [];
  const byRequests = new ByAmounts<Map<string, EqualPods>>();
  for (const [index, pod] of pods.entries()) {
    if (index > 0 && index % podsPerStep === 0) reading.giveWay?.();
    let at = byRequests;
    for (const name of reading.names) at = at.after(lookUp(pod.requests, name) ?? 0);
    const byDemands = (at.value ??= new Map<string, EqualPods>());
    const demands = demandsText(pod, reading);
    let list = byDemands.get(demands);
    if (list === undefined) {
      byDemands.set(demands, (list = { pods: [], demands }));
      lists.push(list);
    }
    list.pods.push(pod);
  }
  return lists;
}
