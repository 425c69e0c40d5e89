import type { PendingBatch, PlanRequest, SearchReply, SearchRequest } from '@dovetail/contracts';
import type { Clock, FollowEvent } from '@dovetail/core-ports';

import { Changes } from './changes.js';
import type { Solved, SolverEngine } from './engine.js';
import { type Done, Lanes, type Thread } from './lanes.js';
import type { RecordSlice } from './records.js';

/**
 * The result of a search. `behind`: the mirror is not complete yet. `busy`: one search is under
 * way, and a second would only make both slower.
 */
export type Searched =
  { readonly kind: 'found'; readonly found: SearchReply } | { readonly kind: 'behind' | 'busy' };

/**
 * The questions to an engine, answered in the order of their lanes. Answers are callbacks: a batch
 * that interrupts a what-if is answered before the what-if goes on.
 */
export class EngineDesk {
  readonly #engine: SolverEngine;
  readonly #lanes: Lanes;
  readonly #changes: Changes;
  readonly #between: () => Promise<void>;
  readonly #giveWay = (): void => this.#lanes.giveWay();
  #isSearching = false;

  constructor(engine: SolverEngine, clock: Clock, thread: Thread = {}) {
    this.#engine = engine;
    this.#changes = new Changes(clock);
    this.#lanes = new Lanes(thread);
    this.#between = thread.between ?? (() => Promise.resolve());
  }

  /** Applies an event of the state feed, at once. */
  state(event: FollowEvent): void {
    this.#engine.state(event);
    this.#changes.raise();
  }

  /** Applies an event of the catalog stream, at once. */
  catalog(event: FollowEvent): void {
    this.#engine.catalog(event);
    this.#changes.raise();
  }

  /** Plans a batch before all other work. */
  solveBatch(batch: PendingBatch, budgetMs: number, done: Done<Solved>): void {
    this.#lanes.put(
      'batch',
      () => this.#look(() => this.#engine.solveBatch(batch, budgetMs)),
      done,
    );
  }

  /** Plans a what-if request. Batches interrupt it, and committed requests those that only ask. */
  solveRequest(request: PlanRequest, done: Done<Solved>): void {
    const lane = request.commit === undefined ? 'what-if' : 'committed';
    const solve = (): Solved => this.#engine.solveRequest(request, this.#giveWay);
    this.#lanes.put(lane, () => this.#look(solve), done);
  }

  /** Searches slice by slice, one search at a time. All other work interrupts it. */
  async search(request: SearchRequest, budgetMs: number): Promise<Searched> {
    if (this.#isSearching) return { kind: 'busy' };
    const slices = this.#engine.search(request, budgetMs, this.#giveWay);
    if (slices === undefined) return { kind: 'behind' };
    this.#isSearching = true;
    try {
      return { kind: 'found', found: await this.#finish(slices) };
    } finally {
      this.#isSearching = false;
    }
  }

  /** Writes a slice of what a plan was made from, after all other work. */
  record(planId: string, done: Done<RecordSlice | undefined>): void {
    this.#lanes.put('record', () => this.#engine.record(planId), done);
  }

  /** Calls `done` when the mirror has changed since the last question, after `waitMs` at most. */
  changed(waitMs: number, done: () => void): void {
    this.#changes.wait(waitMs, done);
  }

  /** A change that arrives between an answer and the next wait must end that wait at once. */
  #look<T>(solve: () => T): T {
    this.#changes.clear();
    return solve();
  }

  async #finish(slices: Generator<undefined, SearchReply>): Promise<SearchReply> {
    for (;;) {
      const { done, value } = await new Promise<IteratorResult<undefined, SearchReply>>(
        (resolve, reject) => this.#lanes.put('search', () => slices.next(), { resolve, reject }),
      );
      if (done === true) return value;
      await this.#between();
    }
  }
}
