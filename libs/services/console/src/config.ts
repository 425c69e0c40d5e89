/** How often the console tells its pages, and how much. */
export type ConsoleConfig = {
  /** The least time between two frames. */
  readonly frameMs: number;
  /** A frame comes at least so often, so that a page notices that the console is away. */
  readonly heartbeatMs: number;
  /** The time between two looks at the lag of solvers. */
  readonly measureMs: number;
  /** The most waiting pods of a frame. The rest is counted. */
  readonly waitingMax: number;
  /** The most points of the history of the cost. */
  readonly costPointsMax: number;
};

/**
 * Twice a second looks live, and a look at 5,000 nodes takes a few hundredths of a second. A page
 * scrolls through hundreds of pods, and reads no thousands.
 */
export const defaultConsoleConfig: ConsoleConfig = {
  frameMs: 500,
  heartbeatMs: 5_000,
  measureMs: 1_000,
  waitingMax: 500,
  costPointsMax: 400,
};
