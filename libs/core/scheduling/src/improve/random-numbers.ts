/**
 * The random numbers of the search (xorshift32). Invariant: equal seeds give equal numbers on every
 * machine.
 */
export class RandomNumbers {
  #state: number;

  constructor(seed: number) {
    this.#state = (Math.imul(seed | 0, 0x9e3779b1) ^ 0x85ebca6b) | 0;
    if (this.#state === 0) this.#state = 1;
  }

  /** Returns an integer in [0, below). */
  below(below: number): number {
    let x = this.#state;
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    this.#state = x;
    return Math.floor(((x >>> 0) / 4294967296) * below);
  }

  /** Returns the elements in an order that is drawn, each order equally likely. */
  shuffled<T>(list: readonly T[]): readonly T[] {
    const drawn = [...list];
    for (let index = drawn.length - 1; index > 0; index -= 1) {
      const other = this.below(index + 1);
      const element = drawn[index] as T;
      drawn[index] = drawn[other] as T;
      drawn[other] = element;
    }
    return drawn;
  }
}
