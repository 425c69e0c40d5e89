/** A batch's place in the queue: one subject a group, and a sequence of its own. */
export type QueuePlace = { readonly subject: string; readonly sequence: number };

/**
 * Counts how often planning a batch has failed here. The queue's count of deliveries would also
 * count solvers that died or were behind, which is no fault of the batch.
 *
 * Invariant: at most one batch of a subject is counted; only the newest of a group can come again.
 */
export class Failures {
  readonly #counts = new Map<string, { readonly sequence: number; readonly failed: number }>();

  /** Planning failed again. Returns the number of failures so far. */
  add({ subject, sequence }: QueuePlace): number {
    const before = this.#counts.get(subject);
    const failed = before?.sequence === sequence ? before.failed + 1 : 1;
    this.#counts.set(subject, { sequence, failed });
    return failed;
  }

  /** The batch is finished. */
  clear({ subject }: QueuePlace): void {
    this.#counts.delete(subject);
  }
}
