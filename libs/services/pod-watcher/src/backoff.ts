import type { Verdict } from '@dovetail/contracts';

/** The first wait, and the longest; it doubles from one to the other. */
export type BackoffPolicy = { readonly firstMs: number; readonly mostMs: number };
/**
 * An unplaced pod rests at least this long, whatever changes. It bounds how often a busy cluster
 * plans pods that fit nowhere. A pod that a change helps waits up to this long.
 */
const unplacedRestMs = 500;
/**
 * Pods that one change helps come back together, so that they are planned as one. A pod waits for
 * others at most this long after the change: verdicts that keep coming hold nobody up for longer.
 */
const togetherMsMax = 1_500;

/**
 * How a pod failed: its bin was refused, it fits nowhere, or the checker refused bins for this pod
 * again and again, so that it is planned alone.
 */
type Failure = 'refused' | 'unplaced' | 'alone';

type Entry = {
  readonly failures: number;
  readonly sinceMs: number;
  readonly untilMs: number;
  readonly why: Failure;
};

/**
 * Decides when pods that were refused or could not be placed are tried again. A refused pod comes
 * back at once, because the next round sees the cause of its refusal. An unplaced pod waits longer
 * each time, until something changes that could help. A pod that is planned alone waits for
 * minutes, whatever changes.
 */
export class Backoff {
  readonly #entries = new Map<string, Entry>();
  #helpedMs = Number.NEGATIVE_INFINITY;
  /** Pods that would come back between these times come back at the later one. */
  #together = { fromMs: Number.NEGATIVE_INFINITY, untilMs: Number.NEGATIVE_INFINITY };
  readonly #policy: Readonly<Record<Failure, BackoffPolicy>>;

  constructor(policy: Readonly<Record<Failure, BackoffPolicy>>) {
    this.#policy = policy;
  }

  /**
   * `cutMs` is the time at which the verdict's batch was cut. A later change may help, so the pod
   * rests only shortly.
   */
  apply(verdict: Verdict, nowMs: number, cutMs = nowMs): void {
    if (verdict.outcome === 'admitted') {
      this.#entries.delete(verdict.podUid);
      return;
    }
    const why = isRefusedForItself(verdict) ? 'alone' : verdict.outcome;
    const before = this.#entries.get(verdict.podUid);
    const failures = before?.why === why ? before.failures + 1 : 1;
    const { firstMs, mostMs } = this.#policy[why];
    const waitMs =
      why === 'unplaced' && cutMs <= this.#helpedMs
        ? unplacedRestMs
        : Math.min(mostMs, firstMs * 2 ** (failures - 1));
    this.#entries.set(verdict.podUid, { failures, why, sinceMs: nowMs, untilMs: nowMs + waitMs });
    if (waitMs === unplacedRestMs) this.#comeTogether(nowMs + waitMs, nowMs);
  }

  /** Puts off the pods that come back sooner than that, if the change that helps is fresh. */
  #comeTogether(togetherMs: number, nowMs: number): void {
    if (togetherMs > this.#helpedMs + togetherMsMax) return;
    const { fromMs, untilMs } = this.#together;
    this.#together = { fromMs: untilMs > nowMs ? fromMs : nowMs, untilMs: togetherMs };
  }

  #untilMs({ why, untilMs }: Entry): number {
    const together = this.#together;
    const isPutOff = why === 'unplaced' && untilMs > together.fromMs && untilMs < together.untilMs;
    return isPutOff ? together.untilMs : untilMs;
  }

  /** Whether the pod is planned without others. */
  isAlone(podUid: string): boolean {
    return this.#entries.get(podUid)?.why === 'alone';
  }

  /** Whether the pod still waits. */
  waits(podUid: string, nowMs: number): boolean {
    const entry = this.#entries.get(podUid);
    return entry !== undefined && this.#untilMs(entry) > nowMs;
  }

  /**
   * Pools, catalog or capacity have changed, so unplaced pods may be tried at once. They come back
   * together, once the last of them has rested.
   */
  retryUnplaced(nowMs: number): void {
    this.#helpedMs = nowMs;
    const resting = [...this.#entries].filter(
      ([, entry]) => entry.why === 'unplaced' && this.#untilMs(entry) > nowMs,
    );
    const restedMs = resting.map(([, { sinceMs }]) => sinceMs + unplacedRestMs);
    const togetherMs = restedMs.reduce((latest, each) => Math.max(latest, each), nowMs);
    for (const [uid, entry] of resting)
      this.#entries.set(uid, { ...entry, untilMs: Math.min(this.#untilMs(entry), togetherMs) });
  }

  /** The pod is gone. */
  forget(podUid: string): void {
    this.#entries.delete(podUid);
  }

  /** The next time at which a wait ends; undefined when no pod waits. */
  nextMs(nowMs: number): number | undefined {
    let next: number | undefined;
    for (const entry of this.#entries.values()) {
      const untilMs = this.#untilMs(entry);
      if (untilMs > nowMs && (next === undefined || untilMs < next)) next = untilMs;
    }
    return next;
  }
}

/** Whether the launcher holds the pod because the checker refused bins for it. */
const isRefusedForItself = ({ outcome, podUid, reasons }: Verdict): boolean =>
  outcome === 'unplaced' &&
  reasons.some(({ code, values }) => code === 'constraint-broken' && values['podUid'] === podUid);
