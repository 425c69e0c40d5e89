import type {
  GapReply,
  PendingBatch,
  PlanRequest,
  SearchReply,
  SearchRequest,
} from '@dovetail/contracts';
import { type Clock, type FollowEvent, messageOf } from '@dovetail/core-ports';

import { Changes } from './changes.js';
import type { Solved, SolverEngine } from './engine.js';
import { type Done, Lanes, type Thread } from './lanes.js';
import type { RecordSlice } from './records.js';

/**
 * Why there is no answer to a question that has time. `behind`: the mirror is not complete yet.
 * `busy`: one such question is under way, and a second would only make both slower.
 */
type NotNow = { readonly kind: 'behind' | 'busy' };
/** The result of a search. */
export type Searched = { readonly kind: 'found'; readonly found: SearchReply } | NotNow;
/**
 * The price beside that of a plan from nothing. If the proof of the bound failed, `failure` says
 * why, and the bound is the plan's own.
 */
export type Measured =
  { readonly kind: 'gap'; readonly gap: GapReply; readonly failure?: string } | NotNow;

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
  /** Whether a search or a plan from nothing is under way. */
  #isBusy = false;

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

  /** Searches slice by slice, one question of this lane at a time. All other work interrupts it. */
  async search(request: SearchRequest, budgetMs: number): Promise<Searched> {
    return this.#alone(async () => {
      const slices = this.#engine.search(request, budgetMs, this.#giveWay);
      if (slices === undefined) return { kind: 'behind' };
      return { kind: 'found', found: await this.#finish(slices) };
    });
  }

  /**
   * Plans from nothing, one question of this lane at a time. All other work interrupts the plan.
   * The proof of its bound takes at most `boundMs`, in which other work goes on; 0: none is made.
   */
  async gap(budgetMs: number, boundMs: number): Promise<Measured> {
    return this.#alone(async () => {
      const measured = await this.#last(() => this.#engine.gap(budgetMs, this.#giveWay));
      if (measured === undefined) return { kind: 'behind' };
      const { gap } = measured;
      try {
        const bound =
          boundMs > 0 ? await this.#engine.boundOfGap(measured, boundMs, this.#giveWay) : undefined;
        return { kind: 'gap', gap: bound === undefined ? gap : { ...gap, bound } };
      } catch (error) {
        return { kind: 'gap', gap, failure: messageOf(error) };
      }
    });
  }

  async #alone<T>(work: () => Promise<T>): Promise<T | NotNow> {
    if (this.#isBusy) return { kind: 'busy' };
    this.#isBusy = true;
    try {
      return await work();
    } finally {
      this.#isBusy = false;
    }
  }

  /** Does some work after all other work. */
  #last<T>(work: () => T): Promise<T> {
    return new Promise((resolve, reject) => this.#lanes.put('search', work, { resolve, reject }));
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
      const { done, value } = await this.#last(() => slices.next());
      if (done === true) return value;
      await this.#between();
    }
  }
}
