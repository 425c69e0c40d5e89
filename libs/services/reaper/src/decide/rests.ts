import type { NodeClaim } from '@dovetail/core-api';
import { consolidatableChanges, type NodeView } from '@dovetail/core-disruption';

import type { ReaperCluster } from '../cluster/reaper-cluster.js';
import type { RestStatus } from '../outside/claim-edits.js';

/** A claim, and the part of its status that is to be written. */
type RestWrite = { readonly claim: NodeClaim; readonly rest: RestStatus };

/** The writes that are due, and the time of the next. */
export type RestWrites = {
  readonly writes: readonly RestWrite[];
  /** When the next claim becomes Consolidatable. Absent: no time is waited for. */
  readonly nextDueMs?: number;
};

/**
 * Finds the claims whose status does not tell how long their node has been at rest:
 * `lastPodEventTime` and the condition Consolidatable. A changed condition is written at once and
 * takes a waiting time along. A time alone waits until `pauseMs` has passed since the last.
 */
export class Rests {
  readonly #cluster: ReaperCluster;
  readonly #pauseMs: number;
  readonly #consolidates: boolean;
  /** When the last pod event of a claim was written, by UID. */
  readonly #writtenMs = new Map<string, number>();

  constructor(
    cluster: ReaperCluster,
    { podEventPauseMs, consolidates }: { podEventPauseMs: number; consolidates: boolean },
  ) {
    this.#cluster = cluster;
    this.#pauseMs = podEventPauseMs;
    this.#consolidates = consolidates;
  }

  /** The writes that are due now. */
  due(views: readonly NodeView[], nowMs: number): RestWrites {
    const { set, clear, nextDueMs } = consolidatableChanges(views, nowMs, this.#consolidates);
    const rests = new Map<string, RestWrite>();
    for (const { claim, message } of set)
      rests.set(claim.uid, { claim, rest: { consolidatable: { message } } });
    for (const claim of clear) rests.set(claim.uid, { claim, rest: { consolidatable: false } });
    for (const { claim, atMs: lastPodEventMs } of this.#cluster.podEventsToWrite()) {
      const changed = rests.get(claim.uid);
      const sinceMs = nowMs - (this.#writtenMs.get(claim.uid) ?? -Infinity);
      if (changed === undefined && sinceMs < this.#pauseMs) continue;
      rests.set(claim.uid, { claim, rest: { ...changed?.rest, lastPodEventMs } });
    }
    const writes = [...rests.values()];
    return nextDueMs === undefined ? { writes } : { writes, nextDueMs };
  }

  /** Notes that a write has begun: the next time of this claim waits. */
  noteWritten({ claim, rest }: RestWrite, nowMs: number): void {
    if (rest.lastPodEventMs !== undefined) this.#writtenMs.set(claim.uid, nowMs);
    if (this.#writtenMs.size > 2 * this.#cluster.claims.size + 100) this.#writtenMs.clear();
  }
}
