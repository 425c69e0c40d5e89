import { isUnplaced, type Pod } from '@dovetail/core-kube-model';

/** The pods that are equal in all that kube-scheduler reads: one value for all of them. */
type Kind = { readonly text: string; pods: number };

/** A pod that waits for a place. `came` is its turn among all pods seen. */
type Waiter = { readonly pod: Pod; readonly came: number; readonly kind: Kind };

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
  /** By text. Each pod with a text of its own would make every look compare thousands of texts. */
  readonly #kinds = new Map<string, Kind>();
  #came = 0;

  /** The pod has this state now. */
  set(pod: Pod): void {
    if (!isUnplaced(pod)) {
      this.delete(pod.uid);
      return;
    }
    const before = this.#waiters.get(pod.uid);
    const kind = this.#kindOf(pod);
    kind.pods += 1;
    this.#waiters.set(pod.uid, { pod, came: before?.came ?? (this.#came += 1), kind });
    this.#left(before?.kind);
  }

  /** The pod is gone. */
  delete(podUid: string): void {
    const kind = this.#waiters.get(podUid)?.kind;
    this.#waiters.delete(podUid);
    this.#left(kind);
  }

  #left(kind: Kind | undefined): void {
    if (kind === undefined) return;
    kind.pods -= 1;
    if (kind.pods === 0) this.#kinds.delete(kind.text);
  }

  #kindOf(pod: Pod): Kind {
    const text = textOf(pod);
    const known = this.#kinds.get(text);
    if (known !== undefined) return known;
    const fresh = { text, pods: 0 };
    this.#kinds.set(text, fresh);
    return fresh;
  }

  /** Whether the pod waits for a place. */
  has(podUid: string): boolean {
    return this.#waiters.has(podUid);
  }

  /**
   * The pods that need a node. kube-scheduler has reported each of them, or an equal earlier one.
   */
  inNeed(): readonly Pod[] {
    const first = new Map<Kind, Waiter>();
    for (const waiter of this.#waiters.values()) {
      const before = first.get(waiter.kind);
      if (waiter.pod.unschedulable && (before === undefined || isAfter(before, waiter)))
        first.set(waiter.kind, waiter);
    }
    const needs = (waiter: Waiter): boolean => {
      const before = first.get(waiter.kind);
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
