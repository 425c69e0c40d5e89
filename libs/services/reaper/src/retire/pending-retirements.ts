import type { NodeClaim } from '@dovetail/core-api';
import { isEnding, type NodeView, type Retirement, withPending } from '@dovetail/core-disruption';
import type { Clock } from '@dovetail/core-ports';

import type { ReaperCluster } from '../cluster/reaper-cluster.js';

/**
 * A watch that has not shown a written retirement after this time has missed it: the node was given
 * back, and the watch began again in between. It is far longer than a watch that works is behind.
 */
const shownMsMax = 60_000;

type Claim = Pick<NodeClaim, 'uid'>;
type Record = Pick<Retirement, 'cause' | 'atMs' | 'drainMs'>;
/** `untilMs`: until when the node counts. Infinity: until its write is done. */
type Held = Record & { readonly untilMs: number };

/** A retirement that begins. */
export type Begun = { readonly claim: Claim } & Omit<Record, 'atMs'>;

/**
 * The retirements that are decided and that the watch does not show yet. All who decide share the
 * budgets of a pool. So a node counts as retiring from the decision on.
 */
export class PendingRetirements {
  readonly #cluster: ReaperCluster;
  readonly #clock: Clock;
  /** By UID of the claim. */
  readonly #held = new Map<string, Held>();

  constructor(cluster: ReaperCluster, clock: Clock) {
    this.#cluster = cluster;
    this.#clock = clock;
  }

  /**
   * Begins retirements. Their nodes count as retiring from the call on, and those that are not
   * written count no more afterwards.
   */
  async holding<T>(begun: readonly Begun[], begin: () => Promise<T>): Promise<T> {
    const atMs = this.#clock.nowMs();
    for (const { claim, ...record } of begun)
      this.#held.set(claim.uid, { ...record, atMs, untilMs: Infinity });
    try {
      return await begin();
    } finally {
      for (const { claim } of begun)
        if (this.#held.get(claim.uid)?.untilMs === Infinity) this.release(claim);
    }
  }

  /** The retirement is written: its node counts until the watch shows it. */
  written({ uid }: Claim): void {
    const held = this.#held.get(uid);
    if (held !== undefined)
      this.#held.set(uid, { ...held, untilMs: this.#clock.nowMs() + shownMsMax });
  }

  /** The retirement is given up. */
  release({ uid }: Claim): void {
    this.#held.delete(uid);
  }

  /** The view of every claim. Nodes that count as retiring are shown so. */
  views(): readonly NodeView[] {
    const views = this.#cluster.views();
    this.#forget(views);
    return withPending(views, this.#held);
  }

  /** Forgets what the watch shows by now, or has missed. */
  #forget(views: readonly NodeView[]): void {
    if (this.#held.size === 0) return;
    const nowMs = this.#clock.nowMs();
    for (const [uid, { untilMs }] of this.#held)
      if (nowMs >= untilMs || this.#cluster.claims.get(uid) === undefined) this.#held.delete(uid);
    for (const view of views) {
      const { untilMs = Infinity } = this.#held.get(view.claim.uid) ?? {};
      if (untilMs !== Infinity && isEnding(view)) this.release(view.claim);
    }
  }
}
