import type { HostPort } from '@dovetail/core-kube-model';

import type { State, StateTable } from '../match/states.js';
import type { Tally } from '../topology/ledger.js';
import type { Kind } from './kinds.js';

/** A node for which a bin is filled: its room and its price in micro-dollars an hour. */
export type Target = {
  readonly room: Float64Array;
  /** The part of the room that pods can use; absent if they can use all of it. */
  readonly usable?: Float64Array;
  readonly price: number;
};

/** A new node while kinds are packed. */
export type PackBin = {
  /**
   * The number of the node. Invariant: numbers are unique while nodes are packed. The search may
   * repeat a number and reads none.
   */
  readonly id: number;
  state: State;
  readonly used: Float64Array;
  /** Pods by kind index. */
  readonly contents: Map<number, number>;
  /**
   * The part of `contents` that the node must keep so that hostname spread stays balanced, by kind
   * index.
   */
  readonly base?: ReadonlyMap<number, number>;
  /** The state in which the node opened; present with `base`. */
  readonly opened?: State;
  hosts: Map<number, Tally> | undefined;
  ports: readonly HostPort[];
  pods: number;
  /**
   * The price in micro-dollars an hour of the cheapest offer that holds the contents, and that
   * offer's room. Invariant: valid after `settle`, until the contents change.
   */
  price: number;
  room: Float64Array;
};

/** Kinds with equal requests. Whether one fits is computed once for all of them. */
export type Size = {
  readonly requests: Float64Array;
  readonly worth: number;
  readonly kinds: number[];
};

/** The data that all packings of one plan share. */
export type PackContext = {
  readonly states: StateTable;
  readonly kinds: readonly Kind[];
  /** Per hostname group, the number of selected pods that every eligible node is sure to hold. */
  readonly hostFloors: Float64Array;
  /** The worth of one pod, by kind index, in micro-dollars an hour. */
  readonly worth: Float64Array;
  /** The state after a kind joins, by kind index and state id; null if it cannot join. */
  readonly next: readonly (State | null)[][];
  /** The worth of the rooms of a state's frontier, in its order. */
  readonly roomWorths: (state: State) => Float64Array;
  /** The prices of a state's frontier, in its order. */
  readonly offerPrices: (state: State) => Float64Array;
  /**
   * Indices into a state's frontier by the rooms' worth per price, the best first, the largest
   * worth of any room, and the best worth per price.
   */
  readonly byValue: (state: State) => {
    readonly places: Int32Array;
    readonly mostWorth: number;
    readonly bestRatio: number;
  };
  /**
   * A lower bound on the price of the kinds, whatever nodes they are packed on, in micro-dollars an
   * hour.
   */
  readonly bound: number;
  /** The targets of nodes that open in a state, in the order of its frontier. */
  readonly targets: (state: State) => readonly Target[];
  /** Each kind as a size of its own, by kind index. */
  readonly sizes: readonly Size[];
  /** The worth of each resource per unit, in micro-dollars an hour. */
  readonly perUnit: Float64Array;
  /**
   * The best price of each resource per unit, in micro-dollars an hour; never above `perUnit`.
   * Invariant: no target costs less than its `usable` room is worth, unless the target is niche.
   */
  readonly duals: Float64Array;
};
