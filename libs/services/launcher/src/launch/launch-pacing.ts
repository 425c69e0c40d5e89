import type { NodeClaim } from '@dovetail/core-api';
import type { Clock, StopSignal } from '@dovetail/core-ports';

import type { LaunchConfig } from '../config.js';

/**
 * The wait before another attempt: it doubles with each, up to the maximum. Invariant: 1 <=
 * attempt.
 */
export const attemptDelayMs = (
  { attemptMs, attemptMaxMs }: Pick<LaunchConfig, 'attemptMs' | 'attemptMaxMs'>,
  attempt: number,
): number => Math.min(attemptMaxMs, attemptMs * 2 ** (attempt - 1));

/**
 * The claims that are being worked on, and those that wait for their next attempt. This is all that
 * launching knows beyond the claims themselves; a successor does well without it.
 */
export class LaunchPacing {
  readonly #clock: Clock;
  readonly #onDue: () => void;
  readonly #busy = new Set<string>();
  /** Until when a claim waits, by UID. */
  readonly #notBeforeMs = new Map<string, number>();

  /** `onDue` is called when claims have waited long enough. */
  constructor(clock: Clock, onDue: () => void) {
    this.#clock = clock;
    this.#onDue = onDue;
  }

  /** Runs `work` with the claims marked as busy. */
  async during(claims: readonly NodeClaim[], work: () => Promise<void>): Promise<void> {
    for (const claim of claims) this.#busy.add(claim.uid);
    try {
      await work();
    } finally {
      for (const claim of claims) this.#busy.delete(claim.uid);
    }
  }

  /** Whether the claim is being worked on now. */
  isBusy(claim: NodeClaim): boolean {
    return this.#busy.has(claim.uid);
  }

  /** Whether the claim is busy, or waits for its next attempt. */
  isHeldBack(claim: NodeClaim): boolean {
    return this.isBusy(claim) || (this.#notBeforeMs.get(claim.uid) ?? 0) > this.#clock.nowMs();
  }

  /** Lets the claims wait before anything more is done for them. */
  postpone(claims: readonly NodeClaim[], waitMs: number, stop: StopSignal): void {
    const dueMs = this.#clock.nowMs() + waitMs;
    for (const claim of claims) this.#notBeforeMs.set(claim.uid, dueMs);
    void this.#clock.sleep(waitMs, stop).then(() => {
      const nowMs = this.#clock.nowMs();
      for (const { uid } of claims)
        if ((this.#notBeforeMs.get(uid) ?? 0) <= nowMs) this.#notBeforeMs.delete(uid);
      this.#onDue();
    });
  }
}
