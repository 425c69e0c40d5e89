import { type LabelSelector, type Pod, selectorMatches } from '@dovetail/core-kube-model';

import type { Host } from './hosts.js';

/** A pod and the node that it runs on or is planned for. */
export type Seat = { readonly host: Host; readonly pod: Pod; readonly planned: boolean };

const labelText = (namespace: string, key: string, value: string): string =>
  JSON.stringify([namespace, key, value]);

/** The volume claims of a pod, as `namespace/name`. */
export const claimsOf = ({ namespace, volumes }: Pod): readonly string[] =>
  volumes.map(({ claimName }) => `${namespace}/${claimName}`);

/**
 * The counted pods by label and by volume claim, so that each rule reads only the pods that it may
 * select. Running pods that are being deleted are not found.
 */
export class Census {
  readonly #byNamespace = new Map<string, Set<Seat>>();
  readonly #byLabel = new Map<string, Set<Seat>>();
  readonly #byClaim = new Map<string, Set<Seat>>();
  readonly #byHost = new Map<Host, readonly Seat[]>();
  /** Pods that keep others away from where they are. */
  readonly #guards = new Set<Seat>();

  readonly #counted: 'running' | 'planned' | 'all';

  constructor(hosts: Iterable<Host>, counted: 'running' | 'planned' | 'all' = 'all') {
    this.#counted = counted;
    for (const host of hosts) this.add(host);
  }

  /** Counts a node's pods. Invariant: the node is not counted already. */
  add(host: Host): void {
    const seats: Seat[] = [];
    if (this.#counted !== 'planned')
      seats.push(...host.running.map((pod) => ({ host, pod, planned: false })));
    if (this.#counted !== 'running')
      seats.push(...host.planned.map((pod) => ({ host, pod, planned: true })));
    if (seats.length === 0) return;
    this.#byHost.set(host, seats);
    for (const seat of seats) this.#seat(seat);
  }

  /** Counts a node's pods no more. */
  remove(host: Host): void {
    for (const seat of this.#byHost.get(host) ?? []) this.#unseat(seat);
    this.#byHost.delete(host);
  }

  /** The pods that are counted at a node. */
  at(host: Host): readonly Seat[] {
    return this.#byHost.get(host) ?? [];
  }

  /** The pods with a required anti-affinity, those that are being deleted among them. */
  get guards(): ReadonlySet<Seat> {
    return this.#guards;
  }

  /** Returns the pods that use a volume claim, named as `claimsOf` does. */
  users(claim: string): readonly Seat[] {
    return [...(this.#byClaim.get(claim) ?? [])];
  }

  /** Returns the pods in these namespaces that a selector selects. */
  matching(selector: LabelSelector | undefined, namespaces: Iterable<string>): readonly Seat[] {
    const found: Seat[] = [];
    for (const namespace of namespaces)
      for (const seats of this.#near(selector, namespace))
        for (const seat of seats) if (selectorMatches(selector, seat.pod.labels)) found.push(seat);
    return found;
  }

  /**
   * Returns a list that contains all pods that the selector selects: the pods with one of the label
   * values that it lists.
   */
  #near(selector: LabelSelector | undefined, namespace: string): readonly Iterable<Seat>[] {
    const listed = selector?.requirements.find((one) => one.operator === 'In');
    if (listed === undefined) return [this.#byNamespace.get(namespace) ?? []];
    return [...new Set(listed.values)].map(
      (value) => this.#byLabel.get(labelText(namespace, listed.key, value)) ?? [],
    );
  }

  #seat(seat: Seat): void {
    const { namespace, labels, requiredPodAntiAffinity, deletionMs } = seat.pod;
    if (requiredPodAntiAffinity.length > 0) this.#guards.add(seat);
    if (deletionMs !== undefined && !seat.planned) return;
    join(this.#byNamespace, namespace, seat);
    for (const [key, value] of Object.entries(labels))
      join(this.#byLabel, labelText(namespace, key, value), seat);
    for (const claim of claimsOf(seat.pod)) join(this.#byClaim, claim, seat);
  }

  #unseat(seat: Seat): void {
    const { namespace, labels } = seat.pod;
    leave(this.#byNamespace, namespace, seat);
    for (const [key, value] of Object.entries(labels))
      leave(this.#byLabel, labelText(namespace, key, value), seat);
    for (const claim of claimsOf(seat.pod)) leave(this.#byClaim, claim, seat);
    this.#guards.delete(seat);
  }
}

function join<T>(sets: Map<string, Set<T>>, key: string, one: T): void {
  const set = sets.get(key);
  if (set === undefined) sets.set(key, new Set([one]));
  else set.add(one);
}

function leave<T>(sets: Map<string, Set<T>>, key: string, one: T): void {
  const set = sets.get(key);
  set?.delete(one);
  if (set?.size === 0) sets.delete(key);
}

/** Adds one entry to the list under a key. */
export function push<T>(lists: Map<string, T[]>, key: string, one: T): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [one]);
  else list.push(one);
}
