import { annotations, type NodeClaim } from '@dovetail/core-api';
import {
  isEnding,
  type NodeView,
  renderRetirement,
  type RetirementCause,
} from '@dovetail/core-disruption';
import type { Clock } from '@dovetail/core-ports';

import type { ReaperCluster } from '../cluster/reaper-cluster.js';

/**
 * A watch that has not shown a written retirement after this time has missed it: the node was given
 * back, and the watch began again in between. It is far longer than a watch that works is behind.
 */
const shownMsMax = 60_000;

type Claim = Pick<NodeClaim, 'uid'>;
/** `untilMs`: until when the node counts. Infinity: until its write is done. */
type Held = { readonly cause: RetirementCause; readonly sinceMs: number; readonly untilMs: number };

/**
 * The nodes whose retirement is decided and not shown by the watch yet. Each loop decides on its
 * own, and all of them share the budgets of a pool. So a node counts as retiring from the decision
 * on.
 */
export class Beginnings {
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
  async holding<T>(
    begun: readonly { readonly claim: Claim; readonly cause: RetirementCause }[],
    begin: () => Promise<T>,
  ): Promise<T> {
    const sinceMs = this.#clock.nowMs();
    for (const { claim, cause } of begun)
      this.#held.set(claim.uid, { cause, sinceMs, untilMs: Infinity });
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
    const nowMs = this.#clock.nowMs();
    for (const [uid, { untilMs }] of this.#held)
      if (nowMs >= untilMs || this.#cluster.claims.get(uid) === undefined) this.#held.delete(uid);
    return this.#cluster.views().map((view) => {
      const held = this.#held.get(view.claim.uid);
      if (held === undefined) return view;
      if (!isEnding(view)) return asHeld(view, held);
      if (held.untilMs !== Infinity) this.release(view.claim);
      return view;
    });
  }
}

/** The view as the watch will show it. Without a node, the claim itself is deleted. */
function asHeld(view: NodeView, { cause, sinceMs: atMs }: Held): NodeView {
  const { claim, node } = view;
  if (node === undefined) return { ...view, claim: { ...claim, deletionMs: atMs } };
  const retirement = { [annotations.retirement]: renderRetirement({ cause, atMs }) };
  return { ...view, node: { ...node, annotations: { ...node.annotations, ...retirement } } };
}
