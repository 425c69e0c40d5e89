import type { SimClock } from '../ambient/clock.js';
import { randomFrom } from '../ambient/random.js';
import type { StoredObject } from '../model/objects.js';
import { Registry } from './registry.js';
import type { StrategyOf } from './strategy.js';
import { type Change, ResourceTable } from './table.js';

/** A receiver of the changes of a store. */
export type ChangeListener = (change: Change) => void;

/** How to make a store. */
export type StoreOptions = {
  readonly clock: SimClock;
  /** Decides uids and generated names. */
  readonly seed: number;
  /** The rules of each kind. */
  readonly strategyOf: StrategyOf;
  /** Changes per resource that watches can replay; older ones are answered 410. Default 10,000. */
  readonly changesMax?: number;
};

/** All tables, their common revision counter, and the listeners. */
export class StoreState {
  readonly clock: SimClock;
  readonly random: () => number;
  readonly registry = new Registry();
  readonly strategyOf: StrategyOf;
  /**
   * New nodes start with the not-ready taint, as with the admission plug-in TaintNodesByCondition.
   */
  taintsNewNodes = false;
  readonly #tables = new Map<string, ResourceTable>();
  readonly #listeners = new Set<ChangeListener>();
  readonly #changesMax: number;
  #revision = 1;

  constructor(options: StoreOptions) {
    this.clock = options.clock;
    this.strategyOf = options.strategyOf;
    this.random = randomFrom(options.seed);
    this.#changesMax = options.changesMax ?? 10_000;
  }

  get revision(): number {
    return this.#revision;
  }

  table(name: string): ResourceTable {
    let table = this.#tables.get(name);
    if (table === undefined) {
      table = new ResourceTable(name, this.#changesMax);
      this.#tables.set(name, table);
    }
    return table;
  }

  /** Stores a decided change under a new revision, and calls every listener. */
  commit(change: {
    readonly kind: Change['kind'];
    readonly table: string;
    readonly object: StoredObject;
    readonly before?: StoredObject;
  }): StoredObject {
    this.#revision += 1;
    const object = {
      ...change.object,
      metadata: { ...change.object.metadata, resourceVersion: String(this.#revision) },
    };
    const recorded: Change = { ...change, object, revision: this.#revision };
    this.table(change.table).record(recorded);
    for (const listener of [...this.#listeners]) listener(recorded);
    return object;
  }

  /**
   * Calls the listener with every change, in order, within the write. A listener must return
   * quickly.
   */
  subscribe(listener: ChangeListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}
