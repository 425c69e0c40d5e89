import { isUnplaced, type Pod } from '@dovetail/core-kube-model';

/** A pod that waits for a place; `came`: its turn among the pods that were ever seen. */
type Waiter = { readonly pod: Pod; readonly came: number; readonly alike: string };

/**
 * The pods that wait for a place. Those that kube-scheduler has found none for need a node; and so do pods that are equal in
 * everything that it reads and came later: it takes equal pods in the order of their creation, so that it will find none for
 * them either. Waiting for it to say so pod by pod would hold up a large deployment for nothing (by default it says 50 a second).
 * Should room appear just then after all, the planner sees it too.
 */
export class Waiting {
  readonly #waiters = new Map<string, Waiter>();
  #came = 0;

  /** The pod as it is now. */
  set(pod: Pod): void {
    if (!isUnplaced(pod)) {
      this.#waiters.delete(pod.uid);
      return;
    }
    const came = this.#waiters.get(pod.uid)?.came ?? (this.#came += 1);
    this.#waiters.set(pod.uid, { pod, came, alike: textOf(pod) });
  }

  delete(podUid: string): void {
    this.#waiters.delete(podUid);
  }

  has(podUid: string): boolean {
    return this.#waiters.has(podUid);
  }

  /** Those that need a node, by what was said or follows. */
  inNeed(): readonly Pod[] {
    const first = new Map<string, Waiter>();
    for (const waiter of this.#waiters.values()) {
      const before = first.get(waiter.alike);
      if (waiter.pod.unschedulable && (before === undefined || isAfter(before, waiter))) first.set(waiter.alike, waiter);
    }
    const needs = (waiter: Waiter): boolean => {
      const before = first.get(waiter.alike);
      return waiter.pod.unschedulable || (before !== undefined && isAfter(waiter, before));
    };
    return [...this.#waiters.values()].filter(needs).map(({ pod }) => pod);
  }
}

/** Creation is told in whole seconds; within one, watches tell pods in the order in which they were made. */
const isAfter = (one: Waiter, other: Waiter): boolean => one.pod.createdMs > other.pod.createdMs || (one.pod.createdMs === other.pod.createdMs && one.came > other.came);

/** Everything of a pod that kube-scheduler reads: equal text, equal fate. */
const textOf = (pod: Pod): string => JSON.stringify([
  pod.namespace, pod.labels, pod.priority, pod.schedulerName, pod.schedulingGroup, pod.requests, pod.nodeSelector, pod.requiredNodeAffinity ?? null, pod.preferredNodeAffinity,
  pod.tolerations, pod.topologySpread, pod.requiredPodAffinity, pod.preferredPodAffinity, pod.requiredPodAntiAffinity, pod.preferredPodAntiAffinity, pod.hostPorts, pod.volumes, pod.resourceClaims,
]);
