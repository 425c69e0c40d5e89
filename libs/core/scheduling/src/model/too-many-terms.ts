import type { Pod } from '@dovetail/core-kube-model';

import type { Reason } from '../reasons.js';

/**
 * The most terms of one pod that planning reads. Ordinary pods have a few dozen. More of them cost
 * each plan time in proportion, also that of other pods.
 */
export const termsMax = 256;

/** The terms that a node must meet to take the pod, by the list of the pod that has them. */
function termsOf(pod: Pod): readonly (readonly [list: string, count: number])[] {
  const alternatives = (pod.requiredNodeAffinity ?? []).reduce(
    (sum, term) => sum + Math.max(1, term.matchExpressions.length),
    0,
  );
  const spread = pod.topologySpread.filter((one) => one.whenUnsatisfiable === 'DoNotSchedule');
  return [
    ['nodeSelector', Object.keys(pod.nodeSelector).length],
    ['required nodeAffinity', alternatives],
    ['required podAffinity', pod.requiredPodAffinity.length],
    ['required podAntiAffinity', pod.requiredPodAntiAffinity.length],
    ['topologySpreadConstraints', spread.length],
    ['resource requests', Object.keys(pod.requests).length],
    ['volumes', pod.volumes.length],
  ];
}

// A plan asks several times, and a pod may have thousands of terms.
const answers = new WeakMap<Pod, { readonly reason: Reason | undefined }>();

/**
 * Returns the reason why a pod has more terms than planning reads; undefined for all others. Such a
 * pod costs a plan no more than its text.
 */
export function tooManyTerms(pod: Pod): Reason | undefined {
  const known = answers.get(pod) ?? { reason: reasonOf(pod) };
  answers.set(pod, known);
  return known.reason;
}

function reasonOf(pod: Pod): Reason | undefined {
  const terms = termsOf(pod);
  const count = terms.reduce((sum, [, one]) => sum + one, 0);
  if (count <= termsMax) return undefined;
  const [list, most] = terms.reduce((longest, one) => (one[1] > longest[1] ? one : longest));
  return {
    code: 'too-many-terms',
    message: `the pod has ${count} terms that a node must meet, ${most} of them in ${list}, and a node is planned for at most ${termsMax}`,
    values: { terms: String(count), max: String(termsMax), list, inList: String(most) },
    remedy: `shorten ${list}; kube-scheduler may still place the pod on a node that exists`,
  };
}
