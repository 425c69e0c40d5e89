import type { Verdict } from '@dovetail/contracts';

export type BackoffPolicy = { readonly firstMs: number; readonly mostMs: number };
/** However much changes, a pod that could not be placed rests for so long. */
const unplacedRestMs = 500;

type Entry = { readonly failures: number; readonly sinceMs: number; readonly untilMs: number; readonly why: 'refused' | 'unplaced' };

/**
 * When pods that were refused or could not be placed are tried again. Refused ones come back at once (the next round
 * sees what it was refused for), unplaced ones wait longer each time, until something changes that could help.
 */
export class Backoff {
  private readonly entries = new Map<string, Entry>();
  private helpedMs = Number.NEGATIVE_INFINITY;
  private readonly policy: { readonly refused: BackoffPolicy; readonly unplaced: BackoffPolicy };

  constructor(policy: { readonly refused: BackoffPolicy; readonly unplaced: BackoffPolicy }) {
    this.policy = policy;
  }

  /** `cutMs`: when the batch was cut that the verdict is about; a verdict that knows less than we do now does not hold. */
  apply(verdict: Verdict, nowMs: number, cutMs = nowMs): void {
    if (verdict.outcome === 'admitted') {
      this.entries.delete(verdict.podUid);
      return;
    }
    const before = this.entries.get(verdict.podUid);
    const failures = before?.why === verdict.outcome ? before.failures + 1 : 1;
    const { firstMs, mostMs } = this.policy[verdict.outcome];
    const waitMs = verdict.outcome === 'unplaced' && cutMs <= this.helpedMs ? unplacedRestMs : Math.min(mostMs, firstMs * 2 ** (failures - 1));
    this.entries.set(verdict.podUid, { failures, why: verdict.outcome, sinceMs: nowMs, untilMs: nowMs + waitMs });
  }

  waits(podUid: string, nowMs: number): boolean {
    return (this.entries.get(podUid)?.untilMs ?? 0) > nowMs;
  }

  /** Pools, catalog or capacity have changed: what could not be placed may be tried at once. */
  retryUnplaced(nowMs: number): void {
    this.helpedMs = nowMs;
    for (const [uid, entry] of this.entries) {
      if (entry.why === 'unplaced') this.entries.set(uid, { ...entry, untilMs: Math.min(entry.untilMs, Math.max(nowMs, entry.sinceMs + unplacedRestMs)) });
    }
  }

  forget(podUid: string): void {
    this.entries.delete(podUid);
  }

  /** The next time at which somebody's wait ends; undefined when nobody waits. */
  nextMs(nowMs: number): number | undefined {
    let next: number | undefined;
    for (const { untilMs } of this.entries.values()) if (untilMs > nowMs && (next === undefined || untilMs < next)) next = untilMs;
    return next;
  }
}
