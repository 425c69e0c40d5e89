import type { SimClock } from '../ambient/clock.js';
import type { FieldError } from '../model/errors.js';
import type { StoredObject } from '../model/objects.js';
import type { ResourceTable } from './table.js';

/** The parts of the store that the rules of a kind may read. */
export type StrategyContext = {
  readonly clock: SimClock;
  /**
   * New nodes start with the not-ready taint, as with the admission plug-in TaintNodesByCondition.
   */
  readonly taintsNewNodes: boolean;
  table(name: string): ResourceTable;
};

/** The rules of one kind when it is written. All are pure functions; only `admit` may throw. */
export type Strategy = {
  /** Fills in what the sender left out; on create and update. */
  readonly defaults?: (object: StoredObject) => StoredObject;
  /** Sets what only the server may set on a new object. */
  readonly prepareCreate?: (object: StoredObject, context: StrategyContext) => StoredObject;
  /** Keeps what an update may not touch. */
  readonly prepareUpdate?: (object: StoredObject, before: StoredObject) => StoredObject;
  /** The errors of an object, in the order of its fields. */
  readonly validate?: (
    object: StoredObject,
    before: StoredObject | undefined,
  ) => readonly FieldError[];
  /** Throws StatusError when a rule outside the object forbids it, such as a quota. */
  readonly admit?: (object: StoredObject, context: StrategyContext) => void;
  /** A create through the main resource keeps the status. */
  readonly statusOnCreate?: boolean;
  /** The rule for names of this kind. Default `subdomain`. */
  readonly names?: 'subdomain' | 'label' | 'path';
};

/** Finds the rules of a resource. */
export type StrategyOf = (type: { readonly table: string }) => Strategy;
