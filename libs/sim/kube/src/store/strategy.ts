import type { FieldError } from '../errors.js';
import type { Stored } from '../model.js';
import type { StoreState } from './state.js';

/** What is particular to one kind when it is written. Everything here is a pure function but `admit`, which may refuse. */
export type Strategy = {
  /** Fills in what the sender left out; on create and update. */
  readonly defaults?: (object: Stored) => Stored;
  /** Sets what only the server may set on a new object. */
  readonly prepareCreate?: (object: Stored, state: StoreState) => Stored;
  /** Keeps what an update may not touch. */
  readonly prepareUpdate?: (object: Stored, before: Stored) => Stored;
  /** The complaints about an object, in the order of its fields. */
  readonly validate?: (object: Stored, before: Stored | undefined) => readonly FieldError[];
  /** Throws StatusError when a rule outside of the object forbids it (quota). */
  readonly admit?: (object: Stored, state: StoreState) => void;
  /** Keeps its status when created through the main resource. */
  readonly statusOnCreate?: boolean;
  /** Which rule names of this kind follow. */
  readonly names?: 'subdomain' | 'label' | 'path';
};
