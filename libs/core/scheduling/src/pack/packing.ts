import type { HostPort } from '@dovetail/core-kube-model';

import type { State, StateTable } from '../match/states.js';
import type { Tally } from '../topology/ledger.js';
import type { Kind } from './kinds.js';

/** The node that a bin is being filled for. */
export type Target = {
  readonly room: Float64Array;
  /** As much of it as pods could make use of; absent: all. */
  readonly usable?: Float64Array;
  readonly price: number;
};

/** A new node while kinds are packed. */
export type PackBin = {
  /** Each node's own while nodes are packed. The search may give a number twice; it reads none. */
  readonly id: number;
  state: State;
  readonly used: Float64Array;
  /** Pods by kind index. */
  readonly contents: Map<number, number>;
  /**
   * Of these, pods that it must keep for others to stay balanced (hostname spread), by kind index.
   */
  readonly base?: ReadonlyMap<number, number>;
  /** With a base: the state that the node was opened in. */
  readonly opened?: State;
  hosts: Map<number, Tally> | undefined;
  ports: readonly HostPort[];
  pods: number;
  /** In micro-dollars an hour, of the cheapest offer that holds the contents; and its room. */
  price: number;
  room: Float64Array;
};

/** Kinds with equal requests: whether there is room for one is asked once for all of them. */
export type Size = {
  readonly requests: Float64Array;
  readonly worth: number;
  readonly kinds: number[];
};

/** What every packing of one plan shares. */
export type PackContext = {
  readonly states: StateTable;
  readonly kinds: readonly Kind[];
  /** Per hostname group: what every eligible node is sure to hold. */
  readonly hostFloors: Float64Array;
  /** What one pod of a kind is worth, by kind index. */
  readonly worth: Float64Array;
  /** Where each state leads when a kind joins, by kind index and state id. */
  readonly next: readonly (State | null)[][];
  /** What the rooms of a state's frontier are worth, in its order. */
  readonly roomWorths: (state: State) => Float64Array;
  /**
   * Places in a state's frontier by what their rooms are worth for their price, the best first; and
   * the most that any room is worth.
   */
  readonly byValue: (state: State) => { readonly places: Int32Array; readonly mostWorth: number };
  /** What the kinds cost at least, whatever nodes they are packed on. */
  readonly bound: number;
  /** What a node opened in a state could become, in the order of its frontier. */
  readonly targets: (state: State) => readonly Target[];
  /** Each kind by itself, as a size. */
  readonly sizes: readonly Size[];
  /** Worth of resources, per unit. */
  readonly perUnit: Float64Array;
  /**
   * As `perUnit`, with no resource worth more than the best prices say, in micro-dollars an hour.
   * Invariant: no target costs less than its `usable` room is worth, unless hardly any pod fits it
   * (niche).
   */
  readonly duals: Float64Array;
};
