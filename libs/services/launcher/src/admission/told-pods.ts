import type { Reason } from '@dovetail/core-scheduling';

/** Beyond this many pods, those that are gone are forgotten at the next report. */
const pruneFrom = 1_000;

/**
 * Why each pod was last told to fit nowhere. Such a pod is planned again whenever a pod, a node or
 * a class changes, and that says nothing new while the rules that stand against it are the same.
 */
export class ToldPods {
  /** The text of the reasons by UID. Pods that are alike share one text. */
  readonly #told = new Map<string, string>();

  /**
   * Of these pods, those that were not told for these reasons yet. They count as told then. The
   * numbers in a sentence change with the cluster, so codes and subjects alone are compared.
   */
  news(podUids: readonly string[], reasons: readonly Reason[]): readonly string[] {
    const text = reasons.map(({ code, subject = '' }) => `${code}/${subject}`).join(';');
    const fresh = podUids.filter((uid) => this.#told.get(uid) !== text);
    for (const uid of fresh) this.#told.set(uid, text);
    return fresh;
  }

  /** These pods have a place: if they fit nowhere later, that is news. */
  placed(podUids: readonly string[]): void {
    for (const uid of podUids) this.#told.delete(uid);
  }

  /** Forgets pods that are gone, once there are many. */
  prune(isThere: (podUid: string) => boolean): void {
    if (this.#told.size <= pruneFrom) return;
    for (const uid of this.#told.keys()) if (!isThere(uid)) this.#told.delete(uid);
  }
}
