import type { FoundCommand } from '@dovetail/contracts';
import {
  type Candidate,
  type Candidates,
  type DisruptionNote,
  note,
} from '@dovetail/core-disruption';
import type { StopSignal } from '@dovetail/core-ports';

import type { ReaperContext } from '../context.js';
import { askSearch } from '../outside/searches.js';
import { judgeLive } from './judging.js';
import { type Proposed, sameAmong } from './together.js';

/**
 * Commands of a search that are older are searched afresh. It trades searches for commands that
 * live state refuses.
 */
const foundMsMax = 600_000;

/**
 * Commands that may be carried out side by side. `nothing`: a whole round found no command.
 * `later`: another search may find one.
 */
export type NextProposed =
  | { readonly kind: 'commands'; readonly proposed: readonly Proposed[] }
  | { readonly kind: 'nothing' | 'later' };

/** The note on a node that no command of a search gives up. */
const leftNote = note(
  'not-worthwhile',
  'a search over the whole cluster found no command with this node that saves enough',
);

/** A command that was found, with its nodes as they are now. */
type Searched = { readonly command: FoundCommand; readonly candidates: readonly Candidate[] };

/** The parts of the cluster that proposing reads and tells. */
type Proposing = {
  readonly found: Candidates;
  /** Whether commands that buy, or that take several nodes, can be carried out. */
  readonly canRecord: boolean;
  readonly tell: (candidate: Candidate, note: DisruptionNote) => void;
};

/**
 * The commands that a solver's search over the whole cluster found, best saving per disruption
 * first. It is only a proposal: each command is judged on live state before it is begun. A crash
 * loses it, and the successor searches again.
 */
export class SearchedCommands {
  readonly #context: ReaperContext;
  #found: FoundCommand[] = [];
  #foundMs = -Infinity;
  /** Claims of commands that live state refused in this round, by UID. */
  readonly #refused = new Set<string>();

  constructor(context: ReaperContext) {
    this.#context = context;
  }

  /**
   * The next commands that stand on live state, as many as budgets allow together. Searches when
   * none is left.
   */
  async next(proposing: Proposing, stop: StopSignal): Promise<NextProposed> {
    const { clock } = this.#context.deps;
    if (this.#found.length === 0 || clock.nowMs() - this.#foundMs >= foundMsMax) {
      const ended = await this.#search(proposing);
      if (ended !== undefined) return { kind: ended };
    }
    const proposed: Proposed[] = [];
    for (const one of this.#within(proposing.found)) {
      if (stop.aborted) break;
      const stands = await this.#proposed(one, proposing);
      if (stands !== undefined) proposed.push(stands);
    }
    return proposed.length > 0 ? { kind: 'commands', proposed } : { kind: 'later' };
  }

  /** Takes the commands whose nodes may go now, together. Others wait if budgets hold them. */
  #within(found: Candidates): readonly Searched[] {
    const taken: Searched[] = [];
    let nodes: readonly Candidate[] = [];
    const waiting: FoundCommand[] = [];
    for (const command of this.#found) {
      const named = new Set(command.claimUids);
      const its = found.beyondBudgets.filter(({ view }) => named.has(view.claim.uid));
      const all = [...nodes, ...its];
      if (its.length < named.size) continue;
      if (sameAmong(all, { ...found, candidates: all }) === undefined) {
        waiting.push(command);
        continue;
      }
      taken.push({ command, candidates: its });
      nodes = all;
    }
    this.#found = waiting;
    return taken;
  }

  /**
   * Searches anew; answers why there is nothing to carry out, if there is not. It looks at all
   * nodes: those that budgets hold back may go together with others, once those have ended. While
   * budgets hold all of them back, nothing could be carried out.
   */
  async #search({ found, tell }: Proposing): Promise<'nothing' | 'later' | undefined> {
    const { deps, config } = this.#context;
    const { candidates, beyondBudgets } = found;
    if (candidates.length === 0) return 'nothing';
    if (deps.clock.nowMs() - this.#foundMs < config.disruption.searchPauseMs) return 'later';
    const fresh = beyondBudgets.filter(({ view }) => !this.#refused.has(view.claim.uid));
    const uids = fresh.map(({ view }) => view.claim.uid).sort();
    const reply = uids.length === 0 ? undefined : await askSearch(this.#context, uids);
    if (uids.length > 0 && reply === undefined) return 'later';
    this.#foundMs = deps.clock.nowMs();
    this.#found = [...(reply?.commands ?? [])];
    const named = new Set(this.#found.flatMap(({ claimUids }) => claimUids));
    for (const one of fresh) if (!named.has(one.view.claim.uid)) tell(one, leftNote);
    if (this.#found.length > 0) return undefined;
    this.#refused.clear();
    return 'nothing';
  }

  /** The command on what is there now; undefined if it does not stand. */
  async #proposed(
    { command: { claimUids, openNodes }, candidates }: Searched,
    { found: { totals }, canRecord, tell }: Proposing,
  ): Promise<Proposed | undefined> {
    for (const uid of claimUids) this.#refused.add(uid);
    if (claimUids.length > 1 && !canRecord) return undefined;
    const judged = await judgeLive(this.#context, candidates, {
      totals,
      mayBuy: canRecord,
      openNodes,
    });
    if (judged?.kind === 'stays') for (const one of candidates) tell(one, judged.note);
    return judged?.kind === 'command' ? { ...judged, candidates, openNodes } : undefined;
  }
}
