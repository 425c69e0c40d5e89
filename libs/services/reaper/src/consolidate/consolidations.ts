import { type PlanMessage, publishPlan } from '@dovetail/contracts';
import { annotations } from '@dovetail/core-api';
import {
  type Candidate,
  type CandidateOptions,
  type Candidates,
  candidatesInSteps,
  type Command,
  consolidationCandidates,
  type DisruptionNote,
  note,
  parseRetirement,
} from '@dovetail/core-disruption';
import { at } from '@dovetail/core-invariant';
import { isReschedulable } from '@dovetail/core-kube-model';
import { messageOf, type StopSignal } from '@dovetail/core-ports';
import { countText, Turns } from '@dovetail/service-kit';

import type { ReaperContext } from '../context.js';
import { channelOf, source } from '../deps.js';
import { tellExhausted, tellStays } from '../outside/disruption-events.js';
import { readNode, readPodsOn } from '../outside/live.js';
import type { Retirer } from '../retire/retirer.js';
import { planOfCommand } from './command-plan.js';
import { type JudgedAnswer, judgeLive } from './judging.js';
import { markDestinations } from './moved-pods.js';
import { isNews } from './news.js';
import { SearchedCommands } from './searched.js';
import type { SharedCommands } from './shared-commands.js';
import { type ProposedTogether, sameAmong, searchTogether } from './together.js';
import { placesOf, underUsed } from './under-used.js';

/** A command, the answer that it was judged on, and the node that it gives up. */
type Proposed = Extract<JudgedAnswer, { readonly kind: 'command' }> & {
  readonly candidate: Candidate;
};

/** A turn that lasts longer is hung: far over the longest search and the wait after it. */
const turnMsMax = 900_000;

/** Prices, budgets and solvers change without a change of the cluster (Karpenter: 5 min). */
const idleMsMax = 300_000;

/**
 * Consolidation: gives up under-used nodes whose pods fit on others, or on one cheaper new node. It
 * carries out one command at a time. A command is proposed on what a solver says, waits, and is
 * judged again. Only then the node is tainted. From there on, its retirement is carried on like any
 * other.
 */
export class Consolidations {
  readonly #context: ReaperContext;
  readonly #retirer: Retirer;
  readonly #shared: SharedCommands;
  readonly #searched: SearchedCommands;
  /** Claims that this round has looked at in vain, by UID: the next turn begins with the others. */
  readonly #looked = new Set<string>();
  /** Counts the changes of the cluster that may make a command possible. */
  #changes = 0;
  /** A whole round found nothing: nothing is searched until the count moves, or until the time. */
  #idle = { changes: -1, untilMs: 0 };
  #last: Candidates | undefined;
  /** Why the last look left a node, by the UID of its claim. */
  readonly #said = new Map<string, DisruptionNote>();

  constructor(context: ReaperContext, retirer: Retirer, shared: SharedCommands) {
    this.#context = context;
    this.#retirer = retirer;
    this.#shared = shared;
    this.#searched = new SearchedCommands(context);
  }

  /** The nodes that the last search looked at, for /debug/state. */
  last(): Candidates | undefined {
    return this.#last;
  }

  /** The reason why the node of this claim was left when it was last looked at. */
  lastNoteOn(claimUid: string): DisruptionNote | undefined {
    return this.#said.get(claimUid);
  }

  async run(stop: StopSignal): Promise<void> {
    const { deps, config, cluster } = this.#context;
    if (config.consolidation === 'none') return;
    const unsubscribe = cluster.subscribe((change) => {
      if (isNews(change)) this.#changes += 1;
    });
    try {
      while (!stop.aborted) {
        await this.#turn(stop);
        await deps.clock.sleep(config.disruption.passIntervalMs, stop);
      }
    } finally {
      unsubscribe();
    }
  }

  async #turn(stop: StopSignal): Promise<void> {
    const { deps, cluster, clockCheck } = this.#context;
    if (!cluster.synced() || !clockCheck.isRight() || this.#isUnderWay()) return;
    try {
      await deps.vitals.turn('consolidation', turnMsMax, () => this.#consolidate(stop));
    } catch (error) {
      deps.metrics.count('dovetail_loop_failures_total', { loop: 'consolidation' });
      const why = `looking for under-used nodes failed: ${messageOf(error)}; trying again`;
      deps.log.warn('consolidation-failed', why);
    }
  }

  /**
   * Whether a command is being carried out. The next is judged on what it leaves. It is over once
   * the claims of its nodes are deleted: their pods have their places by then, and a node that
   * drains for long keeps no other from its turn.
   */
  #isUnderWay(): boolean {
    const { cluster } = this.#context;
    if (this.#shared.isUnderWay()) return true;
    return [...cluster.claims.values()].some((claim) => {
      if (claim.deletionMs !== undefined) return false;
      const text = cluster.nodeOfClaim(claim)?.annotations[annotations.retirement];
      return parseRetirement(text)?.cause === 'underutilized';
    });
  }

  async #consolidate(stop: StopSignal): Promise<void> {
    const { deps, config } = this.#context;
    const [startMs, changes] = [deps.clock.nowMs(), this.#changes];
    if (changes === this.#idle.changes && startMs < this.#idle.untilMs) return;
    const found = (this.#last = await this.#findInTurns(stop));
    const { candidates, stays, exhausted, nextDueMs = Infinity } = found;
    for (const { view, notes } of stays) tellStays(this.#context.events, view, at(notes, 0));
    for (const { pool, note } of exhausted) tellExhausted(this.#context.events, pool, note);
    if (config.consolidation === 'search') {
      const isOver = await this.#bySearch(found, stop);
      if (isOver) this.#idle = { changes, untilMs: Math.min(nextDueMs, startMs + idleMsMax) };
      return;
    }
    const together = await this.#together(found, stop);
    if (together !== undefined) return this.#carryOutTogether(together, stop);
    const untilMs = startMs + config.disruption.consolidationSearchMsMax;
    const fresh = candidates.filter(({ view }) => !this.#looked.has(view.claim.uid));
    let unanswered = 0;
    for (const candidate of fresh) {
      if (stop.aborted || deps.clock.nowMs() >= untilMs) return;
      this.#looked.add(candidate.view.claim.uid);
      const judged = await this.#judge(candidate);
      if (judged === 'unanswered') unanswered += 1;
      if (judged === 'unanswered' || judged === 'stays') continue;
      this.#looked.clear();
      return this.#carryOut(judged, stop);
    }
    this.#looked.clear();
    for (const uid of this.#said.keys())
      if (this.#context.cluster.claims.get(uid) === undefined) this.#said.delete(uid);
    // Without an answer nothing is known: the search does not rest.
    if (unanswered > 0) return;
    this.#idle = { changes, untilMs: Math.min(nextDueMs, startMs + idleMsMax) };
  }

  /** Carries out the next command of a search; answers whether a whole round found nothing. */
  async #bySearch(found: Candidates, stop: StopSignal): Promise<boolean> {
    const canShare = await this.#shared.canBegin();
    const tell = (candidate: Candidate, why: DisruptionNote): void => this.#tell(candidate, why);
    const next = await this.#searched.next({ found, canShare, tell }, stop);
    if (next.kind === 'command') await this.#carryOutTogether(next.proposed, stop);
    return next.kind === 'nothing';
  }

  #tell({ view }: Candidate, why: DisruptionNote): void {
    this.#said.set(view.claim.uid, why);
    tellStays(this.#context.events, view, why);
  }

  /** The nodes that may go now. Other work of the process gets its turn in between. */
  async #findInTurns(stop: StopSignal): Promise<Candidates> {
    const turns = new Turns(this.#context.deps.clock);
    const steps = candidatesInSteps(this.#retirer.pending.views(), this.#facts());
    for (;;) {
      const { done, value } = steps.next();
      if (done === true) return value;
      await turns.give(stop);
    }
  }

  /** Those of these nodes that may go now, in one turn: what is begun must be true at its begin. */
  #find(among: readonly Candidate[]): Candidates {
    const only = new Set(among.map(({ view }) => view.claim.uid));
    return consolidationCandidates(this.#retirer.pending.views(), { ...this.#facts(), only });
  }

  #facts(): CandidateOptions {
    const { deps, cluster } = this.#context;
    return {
      budgetsOf: cluster.budgetsOf,
      podOf: (uid) => cluster.pods.get(uid),
      nowMs: deps.clock.nowMs(),
      pauses: (claim) => this.#retirer.pauses(claim),
    };
  }

  /** The command that gives up the candidate, if its pods have another place. */
  async #judge(candidate: Candidate): Promise<Proposed | 'stays' | 'unanswered'> {
    const judged = await judgeLive(this.#context, [candidate]);
    if (judged === undefined) return 'unanswered';
    if (judged.kind === 'command') return { ...judged, candidate };
    this.#tell(candidate, judged.note);
    return 'stays';
  }

  /** The command of several nodes that comes before those of one. Each round searches it once. */
  async #together(found: Candidates, stop: StopSignal): Promise<ProposedTogether | undefined> {
    const isOff = this.#context.config.consolidation !== 'all' || this.#looked.size > 0;
    if (isOff || !(await this.#shared.canBegin())) return undefined;
    return searchTogether(this.#context, found, stop);
  }

  /** Does the same as `#carryOut` for a command of several nodes. */
  async #carryOutTogether(proposed: ProposedTogether, stop: StopSignal): Promise<void> {
    const { deps, config } = this.#context;
    const { command, candidates } = proposed;
    const nodes = candidates.map(({ view }) => view.node.name);
    const about = { command: command.name, nodes };
    const text = nodes.join(', ');
    deps.log.info('consolidation-proposed', `${text} may go: ${placesOf(command)}`, about);
    await deps.clock.sleep(config.disruption.validationDelayMs, stop);
    if (stop.aborted || this.#isUnderWay()) return;
    const again = sameAmong(candidates, this.#find(candidates));
    const judged =
      again === undefined ? undefined : await judgeLive(this.#context, again, proposed.openNodes);
    if (
      again === undefined ||
      judged?.kind !== 'command' ||
      judged.command.nodesIn.length > command.nodesIn.length ||
      sameAmong(again, this.#find(again)) === undefined
    ) {
      deps.metrics.count('karpenter_voluntary_disruption_failed_validations_total');
      deps.log.info('consolidation-outdated', `${text} stay: they are needed again`, about);
      return;
    }
    await this.#begin(judged.command, again, () => this.#beginOn({ ...judged, candidates: again }));
  }

  /** Begins a command: with a resource of its own, if several nodes go. */
  #beginOn({ command, reply, candidates }: ProposedTogether): Promise<void> {
    const { deps } = this.#context;
    if (candidates.length === 1)
      return this.#beginAlone({ kind: 'command', command, reply, candidate: at(candidates, 0) });
    const by = { hash: deps.hash, nowMs: deps.clock.nowMs(), source };
    const plan = command.nodesIn.length === 0 ? {} : { plan: planOfCommand(command, reply, by) };
    return this.#shared.begin({ command, candidates, ...plan });
  }

  #beginAlone(judged: Proposed): Promise<void> {
    return judged.command.nodesIn.length === 0 ? this.#remove(judged) : this.#replace(judged);
  }

  /** Waits, judges the command again on what is there then, and begins it if it still stands. */
  async #carryOut({ command, candidate }: Proposed, stop: StopSignal): Promise<void> {
    const { deps, config } = this.#context;
    const { node, claim } = candidate.view;
    const about = { command: command.name, node: node.name, claim: claim.name };
    deps.log.info('consolidation-proposed', `${node.name} may go: ${placesOf(command)}`, about);
    await deps.clock.sleep(config.disruption.validationDelayMs, stop);
    if (stop.aborted || this.#isUnderWay()) return;
    const [again] = this.#find([candidate]).candidates;
    const judged = again === undefined ? 'stays' : await this.#judge(again);
    // A node that was to be given up for nothing is not replaced without a wait of its own.
    if (
      judged === 'stays' ||
      judged === 'unanswered' ||
      judged.command.nodesIn.length > command.nodesIn.length ||
      sameAmong([judged.candidate], this.#find([judged.candidate])) === undefined
    ) {
      deps.metrics.count('karpenter_voluntary_disruption_failed_validations_total');
      deps.log.info('consolidation-outdated', `${node.name} stays: it is needed again`, about);
      return;
    }
    await this.#begin(judged.command, [judged.candidate], () => this.#beginAlone(judged));
  }

  /**
   * Marks the nodes that pods move to, and begins the command. Its candidates were within their
   * budgets at the call, and count as retiring from then on: other loops decide meanwhile.
   */
  #begin(
    command: Command,
    candidates: readonly Candidate[],
    begin: () => Promise<void>,
  ): Promise<void> {
    const { cause } = command;
    const begun = candidates.map(({ view: { claim } }) => ({ claim, cause }));
    return this.#retirer.pending.holding(begun, async () => {
      await markDestinations(this.#context, command);
      await begin();
    });
  }

  /** Begins to give a node up; from here on its retirement asks for the places of its pods. */
  async #remove(judged: Proposed, plan?: PlanMessage): Promise<void> {
    const { command, candidate } = judged;
    const retirement = {
      cause: 'underutilized',
      atMs: this.#context.deps.clock.nowMs(),
      detail: command.name,
      ...(plan === undefined ? {} : { planId: plan.id }),
    } as const;
    const why = underUsed(command, candidate.view.node.name);
    await this.#retirer.begin(candidate.view, retirement, why);
  }

  /**
   * Taints the node first, and then publishes the plan of the command. A crash in between leaves a
   * taint, which the retirement takes off when no room comes.
   */
  async #replace(judged: Proposed): Promise<void> {
    const { deps, config, cluster } = this.#context;
    const { command, candidate, reply } = judged;
    const by = { hash: deps.hash, nowMs: deps.clock.nowMs(), source };
    const plan = planOfCommand(command, reply, by);
    await this.#remove(judged, plan);
    const { claim } = candidate.view;
    const node = await readNode(deps.kube, cluster, claim);
    const retirement = parseRetirement(node?.annotations[annotations.retirement]);
    if (node === undefined || retirement?.planId !== plan.id) return;
    const moving = new Set(command.moves.map(({ podUid }) => podUid));
    const pods = (await readPodsOn(deps.kube, node.name)).filter(isReschedulable);
    const late = pods.find(({ uid }) => !moving.has(uid));
    if (late !== undefined) {
      const message = `pod ${late.namespace}/${late.name} came before the taint`;
      const notes = [note('not-empty', message, { pods: pods.length })];
      return this.#retirer.abandon({ ...candidate.view, node, pods }, retirement, notes);
    }
    await publishPlan(channelOf(deps, config), plan);
    const { priceAfterMicrosPerHour: price, name } = command;
    deps.log.info(
      'command-published',
      `${node.name} is to be replaced by ${countText(command.nodesIn.length, 'cheaper node')}`,
      {
        ...{ command: name, plan: plan.id, node: node.name, claim: claim.name },
        priceMicrosPerHour: price,
      },
    );
  }
}
