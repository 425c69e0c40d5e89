import { type LabelSelector, type Pod, selectorMatches } from '@dovetail/core-kube-model';

import type { Host } from './hosts.js';

/** A pod and the node that it runs on or is planned for. */
export type Seat = { readonly host: Host; readonly pod: Pod; readonly planned: boolean };

const labelText = (namespace: string, key: string, value: string): string =>
  JSON.stringify([namespace, key, value]);

/**
 * The counted pods by label, so that each rule reads only the pods that it may select. Pods that
 * are being deleted do not count.
 */
export class Census {
  readonly #byNamespace = new Map<string, Seat[]>();
  readonly #byLabel = new Map<string, Seat[]>();

  constructor(hosts: readonly Host[]) {
    for (const host of hosts) {
      for (const pod of host.running)
        if (pod.deletionMs === undefined) this.#add({ host, pod, planned: false });
      for (const pod of host.planned) this.#add({ host, pod, planned: true });
    }
  }

  /** Returns the pods in these namespaces that a selector selects. */
  matching(selector: LabelSelector | undefined, namespaces: Iterable<string>): readonly Seat[] {
    return [...namespaces].flatMap((namespace) =>
      this.#near(selector, namespace).filter(({ pod }) => selectorMatches(selector, pod.labels)),
    );
  }

  /**
   * Returns a list that contains all pods that the selector selects: the pods with one of the label
   * values that it lists.
   */
  #near(selector: LabelSelector | undefined, namespace: string): readonly Seat[] {
    const listed = selector?.requirements.find((one) => one.operator === 'In');
    if (listed === undefined) return this.#byNamespace.get(namespace) ?? [];
    return [...new Set(listed.values)].flatMap(
      (value) => this.#byLabel.get(labelText(namespace, listed.key, value)) ?? [],
    );
  }

  #add(seat: Seat): void {
    const { namespace, labels } = seat.pod;
    push(this.#byNamespace, namespace, seat);
    for (const [key, value] of Object.entries(labels))
      push(this.#byLabel, labelText(namespace, key, value), seat);
  }
}

/** Adds one entry to the list under a key. */
export function push<T>(lists: Map<string, T[]>, key: string, one: T): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [one]);
  else list.push(one);
}
