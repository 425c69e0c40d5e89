import { decidePass, disruptionMethods, type PassDecision } from '@dovetail/core-disruption';
import { at } from '@dovetail/core-invariant';
import { messageOf, type StopSignal } from '@dovetail/core-ports';
import { inParallel, Wake } from '@dovetail/service-kit';

import type { ReaperContext } from '../context.js';
import type { DriftQuestions } from '../drift/drift-questions.js';
import { writeRest } from '../outside/claim-edits.js';
import { tellBlocked, tellExhausted } from '../outside/disruption-events.js';
import { markEmpty } from './empty-marks.js';
import { Rests } from './rests.js';
import type { Retirer } from './retirer.js';

/** Claims written to side by side: the API server answers in milliseconds, a pass has hundreds. */
const writesMax = 16;
/**
 * Statuses written in one pass. The first pass after an upgrade writes to every claim, and nodes
 * that are due must not wait for all of these writes.
 */
const restWritesMax = 500;
/** A large cluster that never rests spends a fifth of the time on passes: 1 to 4. */
const restShare = 4;
/** A turn that lasts longer is hung: far over the minutes that all retries of its calls take. */
const passMsMax = 900_000;

/**
 * The decision loop: passes over all nodes, soon after something has changed, when the next node is
 * due, and at the longest interval anyway.
 */
export class Passes {
  readonly #context: ReaperContext;
  readonly #retirer: Retirer;
  readonly #questions: DriftQuestions;
  readonly #wake: Wake;
  readonly #rests: Rests;
  #last: PassDecision | undefined;

  constructor(context: ReaperContext, retirer: Retirer, questions: DriftQuestions) {
    this.#context = context;
    this.#retirer = retirer;
    this.#questions = questions;
    this.#rests = new Rests(context.cluster, context.config.disruption.podEventPauseMs);
    this.#wake = new Wake(context.deps.clock);
  }

  /** Something has changed: the next pass comes soon. */
  wake(): void {
    this.#wake.raise();
  }

  /** The last decision, for /debug/state. */
  last(): PassDecision | undefined {
    return this.#last;
  }

  async run(stop: StopSignal): Promise<void> {
    const { deps, config, cluster } = this.#context;
    const { passIntervalMs, passPauseMs } = config.disruption;
    while (!stop.aborted) {
      let restMs = passIntervalMs;
      try {
        if (cluster.areSynced('claim', 'node', 'pod', 'pool') && this.#context.clockCheck.isRight())
          restMs = await deps.vitals.turn('passes', passMsMax, () => this.#pass(stop));
      } catch (error) {
        deps.metrics.count('dovetail_loop_failures_total', { loop: 'disruption' });
        deps.log.warn(
          'pass-failed',
          `a pass over the nodes failed: ${messageOf(error)}; trying again`,
        );
        await deps.clock.sleep(passPauseMs, stop);
      }
      await deps.clock.sleep(passPauseMs, stop);
      await this.#wake.wait(stop, restMs);
    }
  }

  /** One pass; answers how long the next may wait, in milliseconds. */
  async #pass(stop: StopSignal): Promise<number> {
    const { deps, config, cluster } = this.#context;
    const { clock } = deps;
    const startedMs = clock.nowMs();
    const decision = decidePass(this.#retirer.beginnings.views(), {
      budgetsOf: cluster.budgetsOf,
      podOf: (uid) => cluster.pods.get(uid),
      nowMs: startedMs,
      pauses: (claim) => this.#retirer.pauses(claim),
      canMove: (claim) => this.#questions.canMove(claim),
      areBudgetsKnown: cluster.isSynced('pdb'),
    });
    this.#last = decision;
    this.#questions.ask(decision.toJudge);
    this.#measure(decision);
    this.#recordBlocked(decision);
    const tookMs = clock.nowMs() - startedMs;
    deps.metrics.observe(
      'karpenter_voluntary_disruption_decision_evaluation_duration_seconds',
      tookMs / 1_000,
    );
    const begun = decision.retire.map(({ view: { claim }, cause }) => ({ claim, cause }));
    await this.#retirer.beginnings.holding(begun, () => this.#carryOut(decision, startedMs, stop));
    const restDueMs = await this.#writeRests(stop);
    const dueMs = Math.min(decision.nextDueMs ?? Infinity, restDueMs) - clock.nowMs();
    return Math.max(restShare * tookMs, Math.min(config.disruption.passIntervalMs, dueMs));
  }

  async #carryOut(decision: PassDecision, startedMs: number, stop: StopSignal): Promise<void> {
    const { kube, clock, log } = this.#context.deps;
    const told = { kube, log };
    await this.#each(decision.unmark, stop, (claim) => markEmpty(told, claim, undefined));
    await this.#each(decision.mark, stop, (claim) => markEmpty(told, claim, startedMs));
    await this.#each(decision.retire, stop, ({ view, cause, note, detail }) => {
      const named = detail === undefined ? {} : { detail };
      return this.#retirer.begin(view, { cause, atMs: clock.nowMs(), ...named }, note);
    });
  }

  /** Works on each item, several side by side. The next pass tries again what has failed. */
  async #each<T>(
    items: readonly T[],
    stop: StopSignal,
    work: (item: T) => Promise<unknown>,
  ): Promise<void> {
    const { log, metrics } = this.#context.deps;
    await inParallel(items, writesMax, async (item) => {
      if (stop.aborted) return;
      try {
        await work(item);
      } catch (error) {
        this.#wake.raise();
        metrics.count('dovetail_loop_failures_total', { loop: 'disruption' });
        log.warn(
          'pass-incomplete',
          `a step of the pass failed for one node: ${messageOf(error)}; the next pass tries again`,
        );
      }
    });
  }

  /**
   * Writes how long nodes have been at rest, a part of a large cluster at a time. Returns when the
   * next such write is due.
   */
  async #writeRests(stop: StopSignal): Promise<number> {
    const { deps, cluster } = this.#context;
    const nowMs = deps.clock.nowMs();
    const { writes, nextDueMs = Infinity } = this.#rests.due(cluster.views(), nowMs);
    await this.#each(writes.slice(0, restWritesMax), stop, ({ claim, rest }) => {
      this.#rests.noteWritten({ claim, rest }, nowMs);
      return writeRest(deps.kube, claim, rest, nowMs);
    });
    return writes.length > restWritesMax ? nowMs : nextDueMs;
  }

  #measure({ allowed, eligible }: PassDecision): void {
    const { metrics } = this.#context.deps;
    for (const budgeted of ['Empty', 'Drifted'] as const)
      for (const [pool, count] of allowed[budgeted])
        metrics.set('karpenter_nodepools_allowed_disruptions', count, {
          nodepool: pool.slice(pool.indexOf('/') + 1),
          reason: budgeted,
        });
    for (const reason of disruptionMethods)
      metrics.set('karpenter_voluntary_disruption_eligible_nodes', eligible[reason], { reason });
  }

  #recordBlocked({ blocked, exhausted }: PassDecision): void {
    const { events } = this.#context;
    for (const { view, notes } of blocked) tellBlocked(events, view, at(notes, 0));
    for (const { pool, note } of exhausted) tellExhausted(events, pool, note);
  }
}
