import type { PlanReply } from '@dovetail/contracts';
import type { NodeClaim } from '@dovetail/core-api';
import {
  type Asking,
  type AskingCause,
  type DisruptionNote,
  movingPods,
  type NodeView,
  note,
} from '@dovetail/core-disruption';
import { isReschedulable, type Pod } from '@dovetail/core-kube-model';
import { type StopSignal } from '@dovetail/core-ports';
import { countText, type LoopTurn, tryTurn, Wake } from '@dovetail/service-kit';

import { isSameNews, type NewsCounts } from '../cluster/news.js';
import type { ReaperContext } from '../context.js';
import { tellBlocked } from '../outside/disruption-events.js';
import { askWhatIf } from '../outside/what-ifs.js';

/**
 * How long an answer counts. It trades questions to solvers for retirements that are begun on what
 * was there a moment ago; a retirement whose pods have no place any more is given up.
 */
const answerMs = 60_000;
/**
 * The longest time for which it counts that pods have no other place, while there is no news. It
 * doubles with each answer that says the same. Solvers change without news, and offerings that were
 * avoided come back, so that it is asked again some time.
 */
const answerMsMax = 600_000;
/**
 * How long a node without an answer gives its turn to others: no solver was there, or it refused.
 * It trades the start of a replacement for questions in vain.
 */
const unansweredMs = 15_000;
/** A turn that lasts longer is hung: far over the longest wait for an answer. */
const driftTurn: LoopTurn = {
  loop: 'drift',
  msMax: 300_000,
  failure: 'drift-question-failed',
  what: 'asking where the pods of a node would go failed',
};

/** `note`: why the node stays. Absent: its pods can move. */
type Answer = {
  readonly claimUid: string;
  readonly note?: DisruptionNote;
  /** It counts until then, whatever changes. */
  readonly freshUntilMs: number;
  /** It counts until then if there is no news. */
  readonly untilMs: number;
  /** How long it counts if there is no news, in milliseconds. */
  readonly forMs: number;
  /** The news that it stands on. */
  readonly news: NewsCounts;
};

/** The words for a node that is asked about, by the cause. */
const words = {
  drifted: { purpose: 'drift', what: 'drifted node' },
  unhealthy: { purpose: 'repair', what: 'unhealthy node' },
} as const satisfies Readonly<Record<AskingCause, object>>;

const keyOf = ({ uid }: NodeClaim, cause: AskingCause): string => `${cause} ${uid}`;

/**
 * Asks solvers whether the pods of drifted and unhealthy nodes have another place, before anything
 * is done to the nodes. Karpenter simulates the same. One question at a time, because a solver
 * plans one.
 */
export class PlaceQuestions {
  readonly #context: ReaperContext;
  readonly #wake: Wake;
  /** By cause and UID of the claim. */
  readonly #answers = new Map<string, Answer>();
  #wanted: readonly Asking[] = [];

  constructor(context: ReaperContext) {
    this.#context = context;
    this.#wake = new Wake(context.deps.clock);
  }

  /**
   * Why the claim's node is not replaced now for this cause; `null` when its pods can move, and
   * undefined when no fresh answer is there.
   */
  answerOn(claim: NodeClaim, cause: AskingCause): DisruptionNote | null | undefined {
    const answer = this.#answers.get(keyOf(claim, cause));
    return answer === undefined || this.#isOld(answer) ? undefined : (answer.note ?? null);
  }

  /** Asks for these nodes from now on, the first of them first, and for no other. */
  ask(askings: readonly Asking[]): void {
    this.#wanted = askings;
    if (askings.length > 0) this.#wake.raise();
  }

  #isOld({ freshUntilMs, untilMs, news }: Answer): boolean {
    const nowMs = this.#context.deps.clock.nowMs();
    if (nowMs < freshUntilMs) return false;
    return nowMs >= untilMs || !isSameNews(news, this.#context.news.counts());
  }

  #forgetGone(): void {
    const { claims } = this.#context.cluster;
    for (const [key, { claimUid }] of this.#answers)
      if (claims.get(claimUid) === undefined) this.#answers.delete(key);
  }

  /** Asks until `stop`, and calls `onAnswer` after each answer. */
  async run(stop: StopSignal, onAnswer: () => void): Promise<void> {
    const { deps, config } = this.#context;
    const { askRetryMs } = config.disruption;
    while (!stop.aborted) {
      await this.#wake.wait(stop);
      for (let next = this.#next(); next !== undefined && !stop.aborted; next = this.#next()) {
        const asking = next;
        const turned = await tryTurn(deps, driftTurn, () => this.#question(asking));
        if (turned.kind === 'done') onAnswer();
        const isAnswered = turned.kind === 'done' && turned.value;
        if (!isAnswered) await deps.clock.sleep(askRetryMs, stop);
      }
    }
  }

  #next(): Asking | undefined {
    return this.#wanted.find(({ view, cause }) => this.answerOn(view.claim, cause) === undefined);
  }

  /** Answers whether a solver has answered. */
  async #question({ view: { claim }, cause }: Asking): Promise<boolean> {
    const { cluster, deps, events } = this.#context;
    const view = cluster.viewOf(cluster.claims.get(claim.uid) ?? claim);
    const { node } = view;
    const { purpose, what } = words[cause];
    const pods = this.#podsOf(view, cause);
    const news = this.#context.news.counts();
    const reply =
      node === undefined
        ? undefined
        : await askWhatIf(this.#context, { nodes: [node], pods, purpose });
    const why = stayNote(reply, what);
    const key = keyOf(claim, cause);
    const last = this.#answers.get(key);
    this.#forgetGone();
    const isRepeated = reply !== undefined && why !== undefined && why.code === last?.note?.code;
    const freshMs = reply === undefined ? unansweredMs : answerMs;
    const forMs =
      isRepeated && isSameNews(news, last.news) ? Math.min(answerMsMax, 2 * last.forMs) : freshMs;
    const nowMs = deps.clock.nowMs();
    this.#answers.set(key, {
      claimUid: claim.uid,
      ...(why === undefined ? {} : { note: why }),
      ...{ freshUntilMs: nowMs + freshMs, untilMs: nowMs + forMs, forMs, news },
    });
    if (why !== undefined && reply !== undefined) tellBlocked(events, view, why);
    return reply !== undefined;
  }

  /** The pods that need another place. A repair takes all of them along, whatever blocks them. */
  #podsOf({ pods }: NodeView, cause: AskingCause): readonly Pod[] {
    if (cause === 'unhealthy') return pods.filter(isReschedulable);
    const { cluster, deps } = this.#context;
    return movingPods(pods, { budgetsOf: cluster.budgetsOf, nowMs: deps.clock.nowMs() });
  }
}

/** Why a node stays, by the answer of a solver; undefined: its pods have another place. */
function stayNote(reply: PlanReply | undefined, what: string): DisruptionNote | undefined {
  if (reply === undefined)
    return note(
      'replacement-unanswered',
      `no solver has planned a place for the pods of the ${what}`,
    );
  const unplaced = reply.plan.unplaced.length;
  if (unplaced === 0) return undefined;
  const message = `${countText(unplaced, 'pod')} of the ${what} would have no other place`;
  return note('pods-without-place', message, { unplaced });
}
