import { assert } from '@dovetail/core-invariant';

/** Lets pieces of work in, in the order in which they come, and at most so many at a time. */
export class Gate {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  /** Invariant: 1 <= limit. */
  constructor(limit: number) {
    assert(limit >= 1, 'a gate lets one piece of work in at least');
    this.#free = limit;
  }

  /** Does the work when its turn has come. Rejects as the work does. */
  async pass<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }
}
