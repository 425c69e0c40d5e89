import type { SimClock } from '../clock.js';
import type { Stored } from '../model.js';
import { randomFrom } from '../random.js';
import { Registry } from './registry.js';
import { Table, type Change } from './table.js';

export type ChangeListener = (change: Change) => void;

/** How to make a store. */
export type StoreOptions = {
  readonly clock: SimClock;
  /** Decides uids and generated names. */
  readonly seed: number;
  /** Changes per resource that watches can replay; older ones are answered 410. Default 10,000. */
  readonly changesMax?: number;
};

/** All tables, one revision counter over them, and those who listen. */
export class StoreState {
  readonly clock: SimClock;
  readonly random: () => number;
  readonly registry = new Registry();
  /** New nodes start with the not-ready taint, as where the admission plug-in TaintNodesByCondition is on. */
  taintsNewNodes = false;
  readonly #tables = new Map<string, Table>();
  readonly #listeners = new Set<ChangeListener>();
  readonly #changesMax: number;
  #revision = 1;

  constructor(options: StoreOptions) {
    this.clock = options.clock;
    this.random = randomFrom(options.seed);
    this.#changesMax = options.changesMax ?? 10_000;
  }

  get revision(): number {
    return this.#revision;
  }

  table(name: string): Table {
    let table = this.#tables.get(name);
    if (table === undefined) {
      table = new Table(name, this.#changesMax);
      this.#tables.set(name, table);
    }
    return table;
  }

  /** Stores what was decided, under a new revision, and tells everybody at once. */
  commit(change: { readonly kind: Change['kind']; readonly table: string; readonly object: Stored; readonly before?: Stored }): Stored {
    this.#revision += 1;
    const object = { ...change.object, metadata: { ...change.object.metadata, resourceVersion: String(this.#revision) } };
    const recorded: Change = { ...change, object, revision: this.#revision };
    this.table(change.table).record(recorded);
    for (const listener of [...this.#listeners]) listener(recorded);
    return object;
  }

  /** Hears of every change, in order, within the write that makes it: listeners note it and return. */
  subscribe(listener: ChangeListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}
