import type { PlanReply } from '@dovetail/contracts';
import type { NodeClaim } from '@dovetail/core-api';
import { type DisruptionNote, movingPods, type NodeView, note } from '@dovetail/core-disruption';
import { type StopSignal } from '@dovetail/core-ports';
import { countText, type LoopTurn, tryTurn, Wake } from '@dovetail/service-kit';

import type { ReaperContext } from '../context.js';
import { tellBlocked } from '../outside/disruption-events.js';
import { askWhatIf } from '../outside/what-ifs.js';

/**
 * How long an answer counts. It trades questions to solvers for retirements that are begun on what
 * was there a moment ago; a retirement whose pods have no place any more is given up.
 */
const answerMs = 60_000;
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
  what: 'asking where the pods of a drifted node would go failed',
};

/** `note`: why the node stays. Absent: its pods can move. */
type Answer = { readonly untilMs: number; readonly note?: DisruptionNote };

/**
 * Asks solvers whether the pods of drifted nodes have another place, before anything is done to the
 * nodes. Karpenter simulates the same. One question at a time, because a solver plans one.
 */
export class DriftQuestions {
  readonly #context: ReaperContext;
  readonly #wake: Wake;
  /** By UID of the claim. */
  readonly #answers = new Map<string, Answer>();
  #wanted: readonly NodeView[] = [];

  constructor(context: ReaperContext) {
    this.#context = context;
    this.#wake = new Wake(context.deps.clock);
  }

  /**
   * Why the claim's node is not replaced now; `null` when its pods can move, and undefined when no
   * fresh answer is there.
   */
  answerOn({ uid }: NodeClaim): DisruptionNote | null | undefined {
    const answer = this.#answers.get(uid);
    return answer === undefined || this.#isOld(answer) ? undefined : (answer.note ?? null);
  }

  /** Asks for these nodes from now on, the first of them first, and for no other. */
  ask(views: readonly NodeView[]): void {
    this.#wanted = views;
    for (const [uid, answer] of this.#answers) if (this.#isOld(answer)) this.#answers.delete(uid);
    if (views.length > 0) this.#wake.raise();
  }

  #isOld({ untilMs }: Answer): boolean {
    return this.#context.deps.clock.nowMs() >= untilMs;
  }

  /** Asks until `stop`, and calls `onAnswer` after each answer. */
  async run(stop: StopSignal, onAnswer: () => void): Promise<void> {
    const { deps, config } = this.#context;
    const { askRetryMs } = config.disruption;
    while (!stop.aborted) {
      await this.#wake.wait(stop);
      for (let next = this.#next(); next !== undefined && !stop.aborted; next = this.#next()) {
        const view = next;
        const turned = await tryTurn(deps, driftTurn, () => this.#question(view));
        if (turned.kind === 'done') onAnswer();
        const isAnswered = turned.kind === 'done' && turned.value;
        if (!isAnswered) await deps.clock.sleep(askRetryMs, stop);
      }
    }
  }

  #next(): NodeView | undefined {
    return this.#wanted.find(({ claim }) => this.answerOn(claim) === undefined);
  }

  /** Answers whether a solver has answered. */
  async #question({ claim }: NodeView): Promise<boolean> {
    const { cluster, deps, events } = this.#context;
    const view = cluster.viewOf(cluster.claims.get(claim.uid) ?? claim);
    const { node } = view;
    const nowMs = deps.clock.nowMs();
    const pods = movingPods(view.pods, { budgetsOf: cluster.budgetsOf, nowMs });
    const reply =
      node === undefined
        ? undefined
        : await askWhatIf(this.#context, { nodes: [node], pods, purpose: 'drift' });
    const untilMs = deps.clock.nowMs() + (reply === undefined ? unansweredMs : answerMs);
    const why = stayNote(reply);
    this.#answers.set(claim.uid, { untilMs, ...(why === undefined ? {} : { note: why }) });
    if (why !== undefined && reply !== undefined) tellBlocked(events, view, why);
    return reply !== undefined;
  }
}

/** Why a drifted node stays, by the answer of a solver; undefined: its pods have another place. */
function stayNote(reply: PlanReply | undefined): DisruptionNote | undefined {
  if (reply === undefined)
    return note(
      'replacement-unanswered',
      'no solver has planned a place for the pods of the drifted node',
    );
  const unplaced = reply.plan.unplaced.length;
  if (unplaced === 0) return undefined;
  const message = `${countText(unplaced, 'pod')} of the drifted node would have no other place`;
  return note('pods-without-place', message, { unplaced });
}
