import { disruptionReasons, type NodeClaim } from '@dovetail/core-api';
import {
  type Beginning,
  causeOf,
  decide,
  type Decision,
  type DecisionFacts,
  type NodeView,
  type StandingsByView,
  standingsInSteps,
} from '@dovetail/core-disruption';
import { at } from '@dovetail/core-invariant';
import type { Node } from '@dovetail/core-kube-model';
import { kubeResources, messageOf, type StopSignal } from '@dovetail/core-ports';
import {
  backgroundTurnMs,
  inParallel,
  type LoopTurn,
  tryTurn,
  Turns,
  Wake,
} from '@dovetail/service-kit';

import type { ReaperContext } from '../context.js';
import { kubeBy } from '../deps.js';
import { writeRest } from '../outside/claim-edits.js';
import { tellExhausted, tellHeld } from '../outside/disruption-events.js';
import type { Retirer } from '../retire/retirer.js';
import { markEmpty } from './empty-marks.js';
import type { PlaceQuestions } from './place-questions.js';
import { Rests } from './rests.js';

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
const passTurn: LoopTurn = {
  loop: 'disruption',
  msMax: 900_000,
  failure: 'pass-failed',
  what: 'a pass over the nodes failed',
};

/**
 * Decides on all nodes and begins what was decided: soon after something has changed, when the next
 * node is due, and at the longest interval anyway.
 */
export class DecisionLoop {
  readonly #context: ReaperContext;
  readonly #retirer: Retirer;
  readonly #questions: PlaceQuestions;
  readonly #wake: Wake;
  readonly #rests: Rests;
  #last: Decision | undefined;

  constructor(context: ReaperContext, retirer: Retirer, questions: PlaceQuestions) {
    this.#context = context;
    this.#retirer = retirer;
    this.#questions = questions;
    const { consolidation, disruption } = context.config;
    const { podEventPauseMs } = disruption;
    const consolidates = consolidation !== 'none';
    this.#rests = new Rests(context.cluster, { podEventPauseMs, consolidates });
    this.#wake = new Wake(context.deps.clock);
  }

  /** Something has changed: the next pass comes soon. */
  wake(): void {
    this.#wake.raise();
  }

  /** The last decision, for /debug/state. */
  last(): Decision | undefined {
    return this.#last;
  }

  async run(stop: StopSignal): Promise<void> {
    const { deps, config, cluster } = this.#context;
    const { passPauseMs } = config.disruption;
    const unsubscribe = cluster.unhealthy.subscribe(() => this.wake());
    try {
      while (!stop.aborted) {
        const restMs = await this.#turn(stop);
        await deps.clock.sleep(passPauseMs, stop);
        await this.#wake.wait(stop, restMs);
      }
    } finally {
      unsubscribe();
    }
  }

  /** One pass, if enough is known; answers how long the next may wait, in milliseconds. */
  async #turn(stop: StopSignal): Promise<number> {
    const { deps, config, cluster, clockCheck } = this.#context;
    const { passIntervalMs, passPauseMs } = config.disruption;
    if (!cluster.areSynced('claim', 'node', 'pod', 'pool') || !clockCheck.isRight())
      return passIntervalMs;
    const turned = await tryTurn(deps, passTurn, () => this.#pass(stop));
    if (turned.kind === 'done') return turned.value;
    await deps.clock.sleep(passPauseMs, stop);
    return passIntervalMs;
  }

  /** One pass; answers how long the next may wait, in milliseconds. */
  async #pass(stop: StopSignal): Promise<number> {
    const { deps, config } = this.#context;
    const { clock } = deps;
    const startedMs = clock.nowMs();
    const turns = new Turns(clock, backgroundTurnMs);
    const facts = this.#facts(startedMs);
    const known = await this.#standingsInTurns(facts, turns, stop);
    // From here to the begin in one turn: all who decide share the budgets of a pool.
    const decision = decide(this.#retirer.pending.views(), facts, known);
    this.#last = decision;
    this.#questions.ask(decision.ask);
    this.#measure(decision);
    this.#tell(decision);
    const tookMs = clock.nowMs() - startedMs;
    deps.metrics.observe(
      'karpenter_voluntary_disruption_decision_evaluation_duration_seconds',
      tookMs / 1_000,
    );
    const begun = decision.begin.map(({ view: { claim }, cause, record }) => {
      const { drainMs } = record ?? {};
      return { claim, cause, ...(drainMs === undefined ? {} : { drainMs }) };
    });
    await this.#retirer.pending.holding(begun, () => this.#carryOut(decision, startedMs, stop));
    await turns.give(stop);
    const restDueMs = await this.#writeRests(stop);
    const dueMs = Math.min(decision.nextDueMs ?? Infinity, restDueMs) - clock.nowMs();
    return Math.max(restShare * tookMs, Math.min(config.disruption.passIntervalMs, dueMs));
  }

  /** Reads how all nodes stand. Other work of the process gets its turn in between. */
  async #standingsInTurns(
    facts: DecisionFacts,
    turns: Turns,
    stop: StopSignal,
  ): Promise<StandingsByView> {
    const views: NodeView[] = [];
    for (const claim of [...this.#context.cluster.claims.values()]) {
      views.push(this.#context.cluster.viewOf(claim));
      await turns.give(stop);
    }
    const steps = standingsInSteps(views, facts);
    for (;;) {
      const { done, value } = steps.next();
      if (done === true) return value;
      await turns.give(stop);
    }
  }

  #facts(nowMs: number): DecisionFacts {
    const { cluster, config } = this.#context;
    return {
      budgetsOf: cluster.budgetsOf,
      podOf: (uid) => cluster.pods.get(uid),
      nowMs,
      pauses: (claim) => this.#retirer.vain.pauses(claim),
      placeAnswer: (...of) => this.#questions.answerOn(...of),
      areBudgetsKnown: cluster.isSynced('pdb'),
      ...(config.nodeRepair ? { health: cluster.health() } : {}),
    };
  }

  async #carryOut(decision: Decision, startedMs: number, stop: StopSignal): Promise<void> {
    await this.#each(decision.unmark, stop, (claim) => this.#mark(claim, undefined));
    await this.#each(decision.mark, stop, (claim) => this.#mark(claim, startedMs));
    await this.#each(decision.begin, stop, (beginning) => this.#begin(beginning));
  }

  #mark(claim: NodeClaim, sinceMs: number | undefined): Promise<void> {
    const { deps, events, cluster } = this.#context;
    const { node } = cluster.viewOf(claim);
    return markEmpty({ kube: deps.kube, log: deps.log, events }, { claim, node, sinceMs });
  }

  async #begin({ view, cause, note, record }: Beginning): Promise<void> {
    const { node } = view;
    // A watch may be behind, and health comes back.
    if (cause === 'unhealthy' && (!node || !(await isUnhealthyLive(this.#context, node)))) return;
    const atMs = this.#context.deps.clock.nowMs();
    const retirement = { cause, atMs, ...record };
    const limit = causeOf(retirement).takesOver ? { deadlineMs: atMs } : {};
    await this.#retirer.begin(view, { ...retirement, ...limit }, note);
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

  #measure({ account, eligible }: Decision): void {
    const { metrics } = this.#context.deps;
    // A pool that is gone is no longer shown.
    metrics.remove('karpenter_nodepools_allowed_disruptions');
    metrics.remove('karpenter_nodepools_nodes_consuming_budgets');
    for (const budgeted of disruptionReasons) {
      const reason = budgeted.toLowerCase();
      for (const [pool, count] of ofNodePools(account.allowed(budgeted)))
        metrics.set('karpenter_nodepools_allowed_disruptions', count, labelsOf(pool, reason));
      for (const [pool, count] of ofNodePools(account.consuming(budgeted)))
        metrics.set('karpenter_nodepools_nodes_consuming_budgets', count, labelsOf(pool, reason));
    }
    for (const [reason, count] of eligible)
      metrics.set('karpenter_voluntary_disruption_eligible_nodes', count, { reason });
  }

  #tell({ blocked, exhausted }: Decision): void {
    const { events } = this.#context;
    for (const { view, notes } of blocked) tellHeld(events, view, at(notes, 0));
    for (const { pool, note } of exhausted) tellExhausted(events, pool, note);
  }
}

/** `NodePool/default` as metrics name it. */
/** Without Provisioners: they have no budgets, and one may have the name of a NodePool. */
const ofNodePools = (counts: Iterable<readonly [string, number]>) =>
  [...counts].filter(([pool]) => pool.startsWith('NodePool/'));

const labelsOf = (pool: string, reason: string) => ({
  nodepool: pool.slice(pool.indexOf('/') + 1),
  reason,
});

/**
 * Whether the API server, too, says that the node is unhealthy for longer than is tolerated: a
 * watch may be behind.
 */
async function isUnhealthyLive(
  { deps, cluster }: Pick<ReaperContext, 'deps' | 'cluster'>,
  { name, uid }: Node,
): Promise<boolean> {
  const nowMs = deps.clock.nowMs();
  const kube = kubeBy(deps, nowMs);
  const live = await kube.get({ resource: kubeResources.nodes, name });
  if (live?.metadata.uid !== uid) return false;
  const condition = cluster.unhealthy.read(live);
  return condition !== undefined && condition.dueMs <= nowMs;
}
