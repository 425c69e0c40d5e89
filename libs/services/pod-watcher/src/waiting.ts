import { isUnplaced, type Pod } from '@dovetail/core-kube-model';

/**
 * A pod that waits for a place. `came` is its turn among all pods seen. `alike` is the same text
 * for equal pods.
 */
type Waiter = { readonly pod: Pod; readonly came: number; readonly alike: string };

/**
 * The pods that wait for a place. A pod needs a node once kube-scheduler has found no place for it.
 *
 * So does a later pod that is equal in everything that kube-scheduler reads. It takes equal pods in
 * the order of their creation, so it will find no place for that one either. Kube-scheduler reports
 * pods one by one (by default 50 a second), and waiting for that would hold up a large deployment.
 * If room appears meanwhile, the planner sees it, too.
 */
export class Waiting {
  readonly #waiters = new Map<string, Waiter>();
  #came = 0;

  /** The pod has this state now. */
  set(pod: Pod): void {
    if (!isUnplaced(pod)) {
      this.#waiters.delete(pod.uid);
      return;
    }
    const came = this.#waiters.get(pod.uid)?.came ?? (this.#came += 1);
    this.#waiters.set(pod.uid, { pod, came, alike: textOf(pod) });
  }

  /** The pod is gone. */
  delete(podUid: string): void {
    this.#waiters.delete(podUid);
  }

  /** Whether the pod waits for a place. */
  has(podUid: string): boolean {
    return this.#waiters.has(podUid);
  }

  /**
   * The pods that need a node. kube-scheduler has reported each of them, or an equal earlier one.
   */
  inNeed(): readonly Pod[] {
    const first = new Map<string, Waiter>();
    for (const waiter of this.#waiters.values()) {
      const before = first.get(waiter.alike);
      if (waiter.pod.unschedulable && (before === undefined || isAfter(before, waiter)))
        first.set(waiter.alike, waiter);
    }
    const needs = (waiter: Waiter): boolean => {
      const before = first.get(waiter.alike);
      return waiter.pod.unschedulable || (before !== undefined && isAfter(waiter, before));
    };
    return [...this.#waiters.values()].filter(needs).map(({ pod }) => pod);
  }
}

/**
 * Creation times have whole seconds. Within one second, watches show pods in the order of creation.
 */
const isAfter = (one: Waiter, other: Waiter): boolean =>
  one.pod.createdMs > other.pod.createdMs ||
  (one.pod.createdMs === other.pod.createdMs && one.came > other.came);

/**
 * All fields of a pod that kube-scheduler reads, as text. Pods of equal text get the same answer.
 */
const textOf = (pod: Pod): string =>
  JSON.stringify([
    pod.namespace,
    pod.labels,
    pod.priority,
    pod.schedulerName,
    pod.schedulingGroup,
    pod.requests,
    pod.nodeSelector,
    pod.requiredNodeAffinity ?? null,
    pod.preferredNodeAffinity,
    pod.tolerations,
    pod.topologySpread,
    pod.requiredPodAffinity,
    pod.preferredPodAffinity,
    pod.requiredPodAntiAffinity,
    pod.preferredPodAntiAffinity,
    pod.hostPorts,
    pod.volumes,
    pod.resourceClaims,
  ]);
