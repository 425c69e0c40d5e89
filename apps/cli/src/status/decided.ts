import type { Decision, DecisionKind } from '@dovetail/contracts';
import { gapTold, waitingWords, withBinder } from '@dovetail/service-kit';

import type { GapStatus, RoundStatus, Status, WaitingPod } from './status.js';

/** The kinds of decisions that a status says something of. */
export const decidedKinds = [
  'plan',
  'admit',
  'refuse',
  'unschedulable',
  'disrupt',
  'gap',
] as const satisfies readonly DecisionKind[];

/** The last rounds to show. */
const roundsMax = 5;

/** The decisions of services about pods that wait, and their last rounds. */
export class Decided {
  readonly #waiting: ReadonlySet<string>;
  /** The last decision about each waiting pod, by its UID. */
  readonly #ofPod = new Map<string, Decision>();
  #rounds: readonly Decision[] = [];
  #gap: Decision | undefined;

  constructor(waiting: Status['waiting']) {
    this.#waiting = new Set(waiting.map(({ uid }) => uid));
  }

  /** Takes decisions in any order; they are ordered by their own times. */
  take(decision: Decision): void {
    const { kind, objects, atMs } = decision;
    if (kind === 'plan' || kind === 'disrupt') {
      this.#rounds = [...this.#rounds, decision].sort((a, b) => a.atMs - b.atMs).slice(-roundsMax);
      return;
    }
    if (kind === 'gap') {
      if (this.#gap === undefined || this.#gap.atMs <= atMs) this.#gap = decision;
      return;
    }
    for (const { uid = '' } of objects) {
      const last = this.#ofPod.get(uid);
      if (this.#waiting.has(uid) && (last === undefined || last.atMs <= atMs))
        this.#ofPod.set(uid, decision);
    }
  }

  /** The status with the services' own reasons instead of kube-scheduler's, and the last rounds. */
  into(status: Status, nowMs: number): Status {
    return {
      ...status,
      waiting: status.waiting.map((pod) => this.#explained(pod)),
      rounds: this.#rounds.map((round) => roundOf(round, nowMs)),
      ...(this.#gap === undefined ? {} : { gap: gapOf(this.#gap, nowMs) }),
    };
  }

  #explained(pod: WaitingPod): WaitingPod {
    const decision = this.#ofPod.get(pod.uid);
    if (decision === undefined) return pod;
    const words = wordsOf(decision);
    return { ...pod, ...words, why: withBinder(words.why, pod.scheduler), said: decision.kind };
  }
}

function wordsOf(decision: Decision): Pick<WaitingPod, 'why' | 'codes'> {
  const isAdmitted = decision.kind === 'admit';
  const { why, codes, remedy } = waitingWords({ ...decision, isAdmitted });
  return { why: remedy === undefined ? why : `${why}. Remedy: ${remedy}`, codes };
}

const roundOf = (
  { kind, atMs, summary, priceMicrosPerHour, lowerBoundMicrosPerHour }: Decision,
  nowMs: number,
): RoundStatus => ({
  time: new Date(atMs).toISOString(),
  msAgo: Math.max(0, nowMs - atMs),
  kind,
  summary,
  ...(priceMicrosPerHour === undefined ? {} : { priceMicrosPerHour }),
  ...(lowerBoundMicrosPerHour === undefined ? {} : { lowerBoundMicrosPerHour }),
});

const gapOf = (decision: Decision, nowMs: number): GapStatus => ({
  time: new Date(decision.atMs).toISOString(),
  msAgo: Math.max(0, nowMs - decision.atMs),
  ...gapTold(decision),
});
