import type { TwinType } from '@dovetail/sim-cloud';

import type { Hand, Move } from './hand.js';

/** The world in which the users and faults of a simulation act, in the language of the stories. */
export type World = {
  /** The types that EC2 sells. Default: six. */
  readonly types?: readonly TwinType[];
  /** The lines before all others, as many for each seed. */
  readonly beginning: (hand: Hand) => readonly string[];
  readonly users: readonly Move[];
  readonly faults: readonly Move[];
  /**
   * More moves, which calm stories draw only: busy ones are played with fixed seeds, which would
   * tell other stories.
   */
  readonly more?: readonly Move[];
  /** The lines that end all faults, and let everything come to rest. */
  readonly ending: readonly string[];
  /** More lines, the last of ten minutes, in which nothing moves and the reaper is to rest. */
  readonly rest?: readonly string[];
};
