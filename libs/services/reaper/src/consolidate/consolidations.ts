import {
  type Candidate,
  type CandidateOptions,
  type Candidates,
  candidatesInSteps,
  type Command,
  consolidationCandidates,
  type DisruptionNote,
} from '@dovetail/core-disruption';
import { at } from '@dovetail/core-invariant';
import { type StopSignal } from '@dovetail/core-ports';
import { backgroundTurnMs, inParallel, type LoopTurn, tryTurn, Turns } from '@dovetail/service-kit';

import { isSameNews, type NewsCounts, noNews } from '../cluster/news.js';
import type { ReaperContext } from '../context.js';
import { tellExhausted, tellStays, tellUnrecorded } from '../outside/disruption-events.js';
import type { Commands } from '../retire/commands.js';
import { countOutdated, countTimeout } from '../retire/disruption-counts.js';
import type { Retirer } from '../retire/retirer.js';
import { placesOf } from '../retire/under-used.js';
import { judgeLive } from './judging.js';
import { markDestinations, nextPauseEndMs } from './moved-pods.js';
import { type NextProposed, SearchedCommands } from './searched.js';
import { type Proposed, sameAmong, searchTogether } from './together.js';

/** A turn that lasts longer is hung: far over the longest search and the wait after it. */
const consolidationTurn: LoopTurn = {
  loop: 'consolidation',
  msMax: 900_000,
  failure: 'consolidation-failed',
  what: 'looking for under-used nodes failed',
};

/** Budgets that begin and end by the clock are looked at so often (Karpenter: everything is). */
const windowMs = 300_000;
/**
 * Solvers change without a change of the cluster, and offerings that were avoided come back. So a
 * search that found nothing is made again, after twice the time each time.
 */
const idleMs = { first: 300_000, most: 3_600_000 };

/**
 * Consolidation: looks for commands that give up under-used nodes whose pods fit on others, or on
 * cheaper new ones. A command is proposed on what a solver says, waits, and is judged again. Only
 * then it is begun. A command that is carried out does not keep the next from its turn: its nodes
 * are no candidates, and the room that it needs is promised.
 */
export class Consolidations {
  readonly #context: ReaperContext;
  readonly #retirer: Retirer;
  readonly #commands: Commands;
  readonly #searched: SearchedCommands;
  /** Claims that this round has looked at in vain, by UID: the next turn begins with the others. */
  readonly #looked = new Set<string>();
  /** A whole round found nothing: nothing is searched until there is news, or until the time. */
  #idle = { news: noNews, untilMs: 0, forMs: idleMs.first };
  #last: Candidates | undefined;
  /** Why the last look left a node, by the UID of its claim. */
  readonly #said = new Map<string, DisruptionNote>();

  constructor(context: ReaperContext, retirer: Retirer, commands: Commands) {
    this.#context = context;
    this.#retirer = retirer;
    this.#commands = commands;
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
    const { deps, config } = this.#context;
    while (!stop.aborted) {
      await this.#turn(stop);
      await deps.clock.sleep(config.disruption.passIntervalMs, stop);
    }
  }

  async #turn(stop: StopSignal): Promise<void> {
    const { deps, cluster, clockCheck } = this.#context;
    if (!cluster.knowsForCommands() || !clockCheck.isRight() || !this.#commands.isKnown()) return;
    await tryTurn(deps, consolidationTurn, () => this.#consolidate(stop));
  }

  async #consolidate(stop: StopSignal): Promise<void> {
    const { clock } = this.#context.deps;
    const startMs = clock.nowMs();
    const news = this.#context.news.counts();
    if (isSameNews(news, this.#idle.news) && startMs < this.#idle.untilMs) return;
    const found = (this.#last = await this.#findInTurns(stop));
    const { stays, exhausted, nextDueMs = Infinity } = found;
    for (const { view, notes } of stays) tellStays(this.#context.events, view, at(notes, 0));
    for (const { pool, note } of exhausted) tellExhausted(this.#context.events, pool, note);
    const next = await this.#next(found, stop);
    if (next.kind === 'commands') return this.#carryOut(next.proposed, stop);
    if (next.kind === 'nothing') this.#rest(news, startMs, nextDueMs);
  }

  #rest(news: NewsCounts, startMs: number, nextDueMs: number): void {
    for (const uid of this.#said.keys())
      if (this.#context.cluster.claims.get(uid) === undefined) this.#said.delete(uid);
    const hasWindows = [...this.#context.cluster.pools.values()].some(({ disruption }) =>
      disruption.budgets.some(({ schedule }) => schedule !== undefined),
    );
    const longerMs = Math.min(2 * this.#idle.forMs, idleMs.most);
    const forMs = isSameNews(news, this.#idle.news) ? longerMs : idleMs.first;
    const untilMs = startMs + (hasWindows ? Math.min(windowMs, forMs) : forMs);
    const pausedMs = nextPauseEndMs(this.#context);
    this.#idle = { news, forMs, untilMs: Math.min(nextDueMs, pausedMs, untilMs) };
  }

  /**
   * The next command that stands now: of a search, of several nodes, or of one. Where consolidation
   * is switched off there is no candidate, and each node that would be one has been told so.
   */
  async #next(found: Candidates, stop: StopSignal): Promise<NextProposed> {
    const { consolidation } = this.#context.config;
    if (consolidation === 'none') return { kind: 'nothing' };
    const mayRecord = consolidation !== 'delete';
    const canRecord = mayRecord && (await this.#commands.areServed());
    if (mayRecord && !canRecord) this.#tellUnrecorded(found);
    if (consolidation === 'search') {
      const tell = (candidate: Candidate, why: DisruptionNote): void => this.#tell(candidate, why);
      return this.#searched.next({ found, canRecord, tell }, stop);
    }
    // Each round searches the commands of several nodes once.
    const isTogether = consolidation === 'all' && canRecord && this.#looked.size === 0;
    const together = isTogether ? await searchTogether(this.#context, found, stop) : undefined;
    if (together !== undefined) return { kind: 'commands', proposed: [together] };
    return this.#oneByOne(found, canRecord, stop);
  }

  #tellUnrecorded({ candidates }: Candidates): void {
    const pools = new Map(candidates.map(({ view: { pool } }) => [pool.uid, pool]));
    for (const pool of pools.values()) tellUnrecorded(this.#context.events, pool);
  }

  /** The first command of one node. Nodes that were looked at in vain wait for the next round. */
  async #oneByOne(
    { candidates, totals }: Candidates,
    mayBuy: boolean,
    stop: StopSignal,
  ): Promise<NextProposed> {
    const { deps, config } = this.#context;
    const untilMs = deps.clock.nowMs() + config.disruption.consolidationSearchMsMax;
    const fresh = candidates.filter(
      ({ view, notAlone }) => notAlone === undefined && !this.#looked.has(view.claim.uid),
    );
    let unanswered = 0;
    for (const candidate of fresh) {
      if (deps.clock.nowMs() >= untilMs) countTimeout(deps.metrics, 'single');
      if (stop.aborted || deps.clock.nowMs() >= untilMs) return { kind: 'later' };
      this.#looked.add(candidate.view.claim.uid);
      const judged = await judgeLive(this.#context, [candidate], { totals, mayBuy });
      if (judged === undefined) unanswered += 1;
      if (judged?.kind === 'stays') this.#tell(candidate, judged.note);
      if (judged?.kind !== 'command') continue;
      this.#looked.clear();
      return { kind: 'commands', proposed: [{ ...judged, candidates: [candidate] }] };
    }
    this.#looked.clear();
    // Without an answer nothing is known: the search does not rest.
    return { kind: unanswered > 0 ? 'later' : 'nothing' };
  }

  #tell({ view }: Candidate, why: DisruptionNote): void {
    this.#said.set(view.claim.uid, why);
    tellStays(this.#context.events, view, why);
  }

  /** The nodes that may go now. Other work of the process gets its turn in between. */
  async #findInTurns(stop: StopSignal): Promise<Candidates> {
    const turns = new Turns(this.#context.deps.clock, backgroundTurnMs);
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
    const { deps, cluster, config } = this.#context;
    return {
      budgetsOf: cluster.budgetsOf,
      podOf: (uid) => cluster.pods.get(uid),
      nowMs: deps.clock.nowMs(),
      consolidates: config.consolidation !== 'none',
      pausedUntilMs: (claim) => this.#retirer.vain.pausedUntilMs(claim),
    };
  }

  /**
   * Waits, judges each command again on what is there then, and begins it if it still stands. Those
   * that have begun count: their nodes are going, and their pods need their room.
   */
  async #carryOut(proposed: readonly Proposed[], stop: StopSignal): Promise<void> {
    const { deps, config } = this.#context;
    for (const { command } of proposed) {
      const about = { command: command.name, nodes: nodesOf(command) };
      const message = `${nodesOf(command).join(', ')} may go: ${placesOf(command)}`;
      deps.log.info('consolidation-proposed', message, about);
    }
    await deps.clock.sleep(config.disruption.validationDelayMs, stop);
    // One whose nodes the API server does not let change keeps no other from its turn.
    await inParallel(proposed, 1, async (one) => {
      if (stop.aborted) return;
      const again = await this.#judgeAgain(one);
      if (again === undefined) this.#tellOutdated(one.command);
      else await this.#begin(again);
    });
  }

  #tellOutdated(command: Command): void {
    const { deps } = this.#context;
    countOutdated(deps.metrics, command);
    const message = `${nodesOf(command).join(', ')} stay: they are needed again`;
    const about = { command: command.name, nodes: nodesOf(command) };
    deps.log.info('consolidation-outdated', message, about);
  }

  /**
   * The command as it stands now. Undefined: its nodes are needed again, or it would buy more than
   * before, which needs a wait of its own.
   */
  async #judgeAgain({ command, candidates, openNodes }: Proposed): Promise<Proposed | undefined> {
    const found = this.#find(candidates);
    const again = sameAmong(candidates, found);
    if (again === undefined) return undefined;
    const judged = await judgeLive(this.#context, again, {
      totals: found.totals,
      mayBuy: true,
      isSecondLook: true,
      ...(openNodes === undefined ? {} : { openNodes }),
    });
    const [alone, ...others] = again;
    if (judged?.kind === 'stays' && alone !== undefined && others.length === 0)
      this.#tell(alone, judged.note);
    if (judged?.kind !== 'command' || judged.command.nodesIn.length > command.nodesIn.length)
      return undefined;
    const still = sameAmong(again, this.#find(again)) !== undefined;
    return still ? { ...judged, candidates: again } : undefined;
  }

  /**
   * Marks the nodes that pods move to, and begins the command. Its candidates were within their
   * budgets at the call, and count as retiring from then on: others decide meanwhile.
   */
  #begin(proposed: Proposed): Promise<void> {
    const { cause } = proposed.command;
    const begun = proposed.candidates.map(({ view: { claim } }) => ({ claim, cause }));
    return this.#retirer.pending.holding(begun, async () => {
      await markDestinations(this.#context, proposed.command);
      await this.#commands.begin(proposed);
    });
  }
}

const nodesOf = ({ nodesOut }: Command): readonly string[] =>
  nodesOut.map(({ nodeName }) => nodeName);
