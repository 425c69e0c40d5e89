import {
  type LabelSelector,
  type Namespace,
  type Pod,
  type PodAffinityTerm,
  selectorMatches,
} from '@dovetail/core-kube-model';

/**
 * The terms of one pod that may tie its namespace to others. Ordinary pods have one or two. A term
 * that is left out costs a plan that admission may refuse, and no pod is placed against it.
 */
const foreignTermsMax = 100;

/**
 * The namespaces whose pending pods rules tie to each other. Only required affinity and spread tie:
 * they can make a plan without the other pods wrong, and a preference cannot.
 */
export class TiedNamespaces {
  /** Namespaces that belong together, because a rule of one selects pending pods of the other. */
  readonly pairs: readonly (readonly [string, string])[];
  readonly #names = new Set<string>();
  readonly #namespaces: readonly Namespace[];
  /** By namespace, one pod for each set of labels: a selector reads nothing else. */
  readonly #pods = new Map<string, Map<string, Pod>>();
  readonly #asked = new Map<string, readonly string[]>();

  constructor(pods: readonly Pod[], namespaces: readonly Namespace[]) {
    this.#namespaces = namespaces;
    const foreign = new Map<Pod, readonly PodAffinityTerm[]>();
    for (const pod of pods) {
      const terms = foreignTermsOf(pod);
      if (terms.length > 0) foreign.set(pod, terms);
      if (isTied(pod)) this.#names.add(pod.namespace);
    }
    if (foreign.size > 0) for (const pod of pods) this.#file(pod);
    const pairs = [...foreign].flatMap(([pod, terms]) =>
      terms.flatMap((term) => this.#selected(term).map((name) => [pod.namespace, name] as const)),
    );
    for (const [, name] of pairs) this.#names.add(name);
    this.pairs = pairs;
  }

  /** Whether rules tie the pods of this namespace to each other, or to those of another. */
  has(namespace: string): boolean {
    return this.#names.has(namespace);
  }

  #file(pod: Pod): void {
    const known = this.#pods.get(pod.namespace) ?? new Map<string, Pod>();
    this.#pods.set(pod.namespace, known);
    const text = labelsText(pod);
    if (!known.has(text)) known.set(text, pod);
  }

  /** The namespaces with pending pods that the term selects. */
  #selected(term: PodAffinityTerm): readonly string[] {
    const { namespaces, namespaceSelector, selector } = term;
    const text = termText(term);
    const known = this.#asked.get(text);
    if (known !== undefined) return known;
    const named =
      namespaceSelector === undefined
        ? []
        : this.#namespaces.filter(({ labels }) => selectorMatches(namespaceSelector, labels));
    const selected = [...new Set([...namespaces, ...named.map(({ name }) => name)])].filter(
      (name) => this.#hasMatch(name, selector),
    );
    this.#asked.set(text, selected);
    return selected;
  }

  #hasMatch(namespace: string, selector: LabelSelector | undefined): boolean {
    for (const { labels } of this.#pods.get(namespace)?.values() ?? [])
      if (selectorMatches(selector, labels)) return true;
    return false;
  }
}

const requiredTerms = (pod: Pod): readonly PodAffinityTerm[] => [
  ...pod.requiredPodAffinity,
  ...pod.requiredPodAntiAffinity,
];

const isTied = (pod: Pod): boolean =>
  pod.requiredPodAffinity.length + pod.requiredPodAntiAffinity.length > 0 ||
  pod.topologySpread.some(({ whenUnsatisfiable }) => whenUnsatisfiable === 'DoNotSchedule');

const foreignTermsOf = (pod: Pod): readonly PodAffinityTerm[] =>
  requiredTerms(pod)
    .filter(
      (term) =>
        term.namespaceSelector !== undefined ||
        term.namespaces.some((name) => name !== pod.namespace),
    )
    .slice(0, foreignTermsMax);

/** Pods are looked at again and again while they wait, so the text of each part is kept. */
function kept<T extends object>(textOf: (one: T) => string): (one: T) => string {
  const texts = new WeakMap<T, string>();
  return (one) => {
    const known = texts.get(one) ?? textOf(one);
    texts.set(one, known);
    return known;
  };
}

const labelsText = kept((pod: Pod) => JSON.stringify(Object.entries(pod.labels).sort()));
const termText = kept(({ namespaces, namespaceSelector, selector }: PodAffinityTerm) =>
  JSON.stringify([namespaces, namespaceSelector, selector]),
);
