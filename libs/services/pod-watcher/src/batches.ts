import type { Pod } from '@dovetail/core-kube-model';

/**
 * Pods still to come: none (complete), some for certain (an owner has not made all its replicas),
 * or unknown.
 */
export type Arrival = 'complete' | 'arriving' | 'unknown';

/** How long a group waits for more pods, in milliseconds. */
export type BatchPolicy = {
  /** A group leaves after no pod has come for this long. */
  readonly idleMs: number;
  /** A group never waits longer than this after its first pod. */
  readonly maxMs: number;
  /** The same two limits while pods are certain to come. Planned together, they cost less. */
  readonly ownerIdleMs: number;
  readonly ownerMaxMs: number;
  /**
   * The longest wait for the verdicts on a batch before the group is cut anew, with an addition for
   * each of its pods. It doubles each time that no verdict came at all, because more work does not
   * help a slow solver.
   */
  readonly patienceMs: number;
  readonly patiencePerPodMs: number;
  readonly patienceMaxMs: number;
};

/** A group that gathers pods. Invariant: firstMs <= lastMs. */
type Waiting = { firstMs: number; lastMs: number; uids: ReadonlySet<string> };
/** A batch with verdicts open. Invariant: `open` is not empty. */
type Out = { readonly cutMs: number; readonly untilMs: number; readonly open: Set<string> };

/** The pods of one batch, at least one, and since when its group waited to leave. */
export type Cut = {
  readonly group: string;
  readonly pods: readonly Pod[];
  readonly sinceMs: number;
};

/**
 * Decides when a group's pending pods leave as a batch. They leave when pods stop arriving, when
 * their owners' replicas all exist, or when the oldest has waited long enough. They stay while
 * verdicts on the group's last batch are open.
 */
export class Batches {
  readonly #waiting = new Map<string, Waiting>();
  readonly #out = new Map<string, Out>();
  /** How often in a row a group's patience ended without any verdict. */
  readonly #unanswered = new Map<string, number>();
  readonly #policy: BatchPolicy;

  constructor(policy: BatchPolicy) {
    this.#policy = policy;
  }

  /**
   * The time at which the batch was cut that holds this pod's open verdict; undefined when there is
   * none.
   */
  cutMs(podUid: string): number | undefined {
    for (const out of this.#out.values()) if (out.open.has(podUid)) return out.cutMs;
    return undefined;
  }

  /** A pod of a batch was judged or bound, or is gone. */
  settled(podUid: string): void {
    for (const [group, out] of this.#out) {
      if (!out.open.delete(podUid)) continue;
      this.#unanswered.delete(group);
      if (out.open.size === 0) this.#out.delete(group);
    }
  }

  /** The batches that leave now, and the latest time of the next look. */
  cut(
    groups: ReadonlyMap<string, readonly Pod[]>,
    arrivalOf: (pods: readonly Pod[]) => Arrival,
    nowMs: number,
  ): { readonly cuts: readonly Cut[]; readonly nextMs?: number } {
    const cuts: Cut[] = [];
    const times: number[] = [];
    for (const held of [this.#waiting, this.#unanswered])
      for (const group of [...held.keys()]) if (!groups.has(group)) held.delete(group);
    for (const [group, pods] of groups) {
      const waiting = this.#note(group, pods, nowMs);
      const dueMs = Math.max(
        this.#freeMs(group, nowMs),
        this.#gatheredMs(waiting, arrivalOf(pods), nowMs),
      );
      if (dueMs > nowMs) {
        times.push(dueMs);
        continue;
      }
      this.#waiting.delete(group);
      const untilMs = nowMs + this.#patienceFor(group, pods.length);
      this.#out.set(group, { cutMs: nowMs, untilMs, open: new Set(pods.map((pod) => pod.uid)) });
      times.push(untilMs);
      cuts.push({ group, pods, sinceMs: waiting.firstMs });
    }
    return { cuts, ...(times.length === 0 ? {} : { nextMs: Math.min(...times) }) };
  }

  /** When the group has waited long enough for more pods. */
  #gatheredMs({ firstMs, lastMs }: Waiting, arrival: Arrival, nowMs: number): number {
    const { idleMs, maxMs, ownerIdleMs, ownerMaxMs } = this.#policy;
    switch (arrival) {
      case 'complete':
        return nowMs;
      case 'arriving':
        return Math.min(lastMs + ownerIdleMs, firstMs + ownerMaxMs);
      case 'unknown':
        return Math.min(lastMs + idleMs, firstMs + maxMs);
    }
  }

  #note(group: string, pods: readonly Pod[], nowMs: number): Waiting {
    const uids = new Set(pods.map((pod) => pod.uid));
    const known = this.#waiting.get(group);
    if (known === undefined) {
      const fresh = { firstMs: nowMs, lastMs: nowMs, uids };
      this.#waiting.set(group, fresh);
      return fresh;
    }
    if (pods.some((pod) => !known.uids.has(pod.uid))) known.lastMs = nowMs;
    known.uids = uids;
    return known;
  }

  #freeMs(group: string, nowMs: number): number {
    const out = this.#out.get(group);
    if (out === undefined) return nowMs;
    if (out.untilMs > nowMs) return out.untilMs;
    this.#out.delete(group);
    this.#unanswered.set(group, (this.#unanswered.get(group) ?? 0) + 1);
    return nowMs;
  }

  #patienceFor(group: string, pods: number): number {
    const { patienceMs, patiencePerPodMs, patienceMaxMs } = this.#policy;
    return Math.min(
      patienceMaxMs,
      (patienceMs + pods * patiencePerPodMs) * 2 ** (this.#unanswered.get(group) ?? 0),
    );
  }
}
