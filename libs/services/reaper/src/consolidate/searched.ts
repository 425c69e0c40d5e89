import type { FoundCommand } from '@dovetail/contracts';
import type { Candidate, Candidates, DisruptionNote } from '@dovetail/core-disruption';
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

/** `nothing`: a whole round found no command. `later`: another search may find one. */
export type NextProposed =
  | { readonly kind: 'command'; readonly proposed: Proposed }
  | { readonly kind: 'nothing' | 'later' };

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

  /** The next command that stands on live state. Searches when none is left. */
  async next(proposing: Proposing, stop: StopSignal): Promise<NextProposed> {
    const { clock } = this.#context.deps;
    if (this.#found.length === 0 || clock.nowMs() - this.#foundMs >= foundMsMax) {
      const ended = await this.#search(proposing.found);
      if (ended !== undefined) return { kind: ended };
    }
    for (let one = this.#found.shift(); one !== undefined; one = this.#found.shift()) {
      if (stop.aborted) break;
      const proposed = await this.#proposed(one, proposing);
      if (proposed !== undefined) return { kind: 'command', proposed };
    }
    return { kind: 'later' };
  }

  /** Searches anew; answers why there is nothing to carry out, if there is not. */
  async #search({ candidates }: Candidates): Promise<'nothing' | 'later' | undefined> {
    const { deps, config } = this.#context;
    if (deps.clock.nowMs() - this.#foundMs < config.disruption.searchPauseMs) return 'later';
    const fresh = candidates.filter(({ view }) => !this.#refused.has(view.claim.uid));
    const uids = fresh.map(({ view }) => view.claim.uid).sort();
    const reply = uids.length === 0 ? undefined : await askSearch(this.#context, uids);
    if (uids.length > 0 && reply === undefined) return 'later';
    this.#foundMs = deps.clock.nowMs();
    this.#found = [...(reply?.commands ?? [])];
    if (this.#found.length > 0) return undefined;
    this.#refused.clear();
    return 'nothing';
  }

  /** The command on what is there now; undefined if it does not stand. */
  async #proposed(
    { claimUids, openNodes }: FoundCommand,
    { found, canRecord, tell }: Proposing,
  ): Promise<Proposed | undefined> {
    for (const uid of claimUids) this.#refused.add(uid);
    if (claimUids.length > 1 && !canRecord) return undefined;
    const named = new Set(claimUids);
    const nodes = found.candidates.filter(({ view }) => named.has(view.claim.uid));
    const candidates = nodes.length === named.size ? sameAmong(nodes, found) : undefined;
    if (candidates === undefined) return undefined;
    const judged = await judgeLive(this.#context, candidates, { mayBuy: canRecord, openNodes });
    if (judged?.kind === 'stays') for (const one of candidates) tell(one, judged.note);
    return judged?.kind === 'command' ? { ...judged, candidates, openNodes } : undefined;
  }
}
