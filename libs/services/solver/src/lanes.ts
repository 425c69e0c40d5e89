/** Kinds of planning work, the most urgent first. */
const lanes = ['batch', 'committed', 'what-if', 'record', 'search'] as const;

/**
 * A kind of planning work. Pending pods come before plans that the launcher will carry out, and
 * those before questions. Records of plans come after all answers. Searches and
 * plans from nothing come last.
 */
export type Lane = (typeof lanes)[number];

/** Takes the result of some work in the turn in which the work ends. */
export type Done<T> = {
  readonly resolve: (value: T) => void;
  readonly reject: (error: unknown) => void;
};

/** The thread that the lanes run in. */
export type Thread = {
  /** Hands in the questions that have come meanwhile. Absent: each is handed in as it comes. */
  readonly receive?: () => void;
  /** Lets the event loop turn between two pieces of work. */
  readonly between?: () => Promise<void>;
};

/**
 * The work of one thread. Work begins in the order of its lanes, and in each lane in the order in
 * which it came. Work under way calls `giveWay` between its steps, and more urgent work is done
 * inside that call. So nothing is thrown away, and nothing is begun twice.
 *
 * Invariant: work never interrupts work of its own lane or of a more urgent one.
 */
export class Lanes {
  readonly #receive: () => void;
  readonly #between: () => Promise<void>;
  readonly #waiting: readonly (() => void)[][] = lanes.map(() => []);
  /** Work of lanes before this one may begin. */
  #open: number = lanes.length;
  #isGoingOn = false;

  constructor({ receive = () => undefined, between = () => Promise.resolve() }: Thread = {}) {
    this.#receive = receive;
    this.#between = between;
  }

  /** Does the work now if the thread is idle; otherwise when its lane has its turn. */
  put<T>(lane: Lane, work: () => T, done: Done<T>): void {
    this.#waiting[lanes.indexOf(lane)]?.push(() => {
      let value: T;
      try {
        value = work();
      } catch (error) {
        done.reject(error);
        return;
      }
      done.resolve(value);
    });
    if (this.#open < lanes.length || this.#isGoingOn) return;
    this.#isGoingOn = true;
    // More urgent work may have come in the same moment.
    this.#receive();
    this.#next();
    void this.#goOn();
  }

  /** Does the work that has come meanwhile and is more urgent than the work under way. */
  giveWay(): void {
    this.#receive();
    while (this.#next());
  }

  async #goOn(): Promise<void> {
    while (this.#waiting.some((lane) => lane.length > 0)) {
      await this.#between();
      this.#next();
    }
    this.#isGoingOn = false;
  }

  /** Does the most urgent work that may begin. Returns whether there was some. */
  #next(): boolean {
    const open = this.#open;
    const rank = this.#waiting.findIndex((lane, index) => index < open && lane.length > 0);
    const work = this.#waiting[rank]?.shift();
    if (work === undefined) return false;
    this.#open = rank;
    try {
      work();
    } finally {
      this.#open = open;
    }
    return true;
  }
}
