import { limits, type Verdict } from '@dovetail/contracts';
import type { Reason } from '@dovetail/core-scheduling';

/** How long judged plans are known, and how much of their answers is kept. */
export type JudgedPlansOptions = {
  /** A plan older than this is refused whether or not it was judged before, in milliseconds. */
  readonly planAgeMaxMs: number;
  /** The most bytes of verdicts that are kept, as `bytesOf` estimates them. */
  readonly verdictBytesMax: number;
};

type Judged = { readonly forgetMs: number; readonly bytes: number; verdicts?: readonly Verdict[] };

/**
 * The plans that an epoch has judged. One that comes again gets the same answer.
 *
 * A plan is known until the bus has dropped it and a repetition would be refused as too old. The
 * verdicts of the newest plans are kept in full. Beyond `verdictBytesMax` only the id of a plan is
 * kept, and its verdicts are made again from its claims and promises (`repeatedVerdicts`).
 */
export class JudgedPlans {
  readonly #options: JudgedPlansOptions;
  /** In the order in which they were judged. */
  readonly #judged = new Map<string, Judged>();
  #bytes = 0;

  constructor(options: JudgedPlansOptions) {
    this.#options = options;
  }

  /** Remembers the verdicts of a plan, and forgets those of the oldest beyond the limits. */
  remember(planId: string, verdicts: readonly Verdict[], nowMs: number): void {
    this.#forget(planId);
    const bytes = bytesOf(verdicts);
    const forgetMs = nowMs + this.#options.planAgeMaxMs + limits.workAgeMs;
    this.#judged.set(planId, { forgetMs, bytes, verdicts });
    this.#bytes += bytes;
    for (const [id, { forgetMs: dueMs }] of this.#judged) {
      if (dueMs > nowMs) break;
      this.#forget(id);
    }
    for (const plan of this.#judged.values()) {
      if (this.#bytes <= this.#options.verdictBytesMax) break;
      this.#drop(plan);
    }
  }

  /** Whether the plan was judged, as far as that is still known. */
  has(planId: string): boolean {
    return this.#judged.has(planId);
  }

  /** The verdicts of the plan; undefined if they are not kept. */
  verdictsOf(planId: string): readonly Verdict[] | undefined {
    return this.#judged.get(planId)?.verdicts;
  }

  #forget(planId: string): void {
    const judged = this.#judged.get(planId);
    if (judged !== undefined) this.#drop(judged);
    this.#judged.delete(planId);
  }

  #drop(judged: Judged): void {
    if (judged.verdicts === undefined) return;
    delete judged.verdicts;
    this.#bytes -= judged.bytes;
  }
}

/** V8 takes about this much for an object with a handful of fields, with its place in an array. */
const objectBytes = 60;

/**
 * An estimate of the memory of verdicts. It is within a tenth of the 0.52 MB that V8's heap took
 * for those of a thousand pods with three reasons each. Reasons that verdicts share count once.
 */
export function bytesOf(verdicts: readonly Verdict[]): number {
  const reasons = new Set<Reason>();
  for (const verdict of verdicts) for (const reason of verdict.reasons) reasons.add(reason);
  let bytes = verdicts.length * objectBytes;
  for (const reason of reasons) {
    bytes += objectBytes + reason.message.length;
    for (const [name, value] of Object.entries(reason.values))
      bytes += name.length + String(value).length;
  }
  return bytes;
}
