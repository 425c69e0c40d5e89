/**
 * Values by rows of numbers, one number a step: numbers find their place much sooner than their
 * text would, and the first plan of many classes is mostly looking up what is equal.
 */
export class ByAmounts<T> {
  /** What the row that ends here stands for, once somebody has set it. */
  value: T | undefined;
  // Most rows go on one way only: that one is kept without a map.
  #amount = 0;
  #only: ByAmounts<T> | undefined;
  #next: Map<number, ByAmounts<T>> | undefined;

  /** One number further. */
  after(amount: number): ByAmounts<T> {
    if (this.#only === undefined) {
      this.#amount = amount;
      return (this.#only = new ByAmounts<T>());
    }
    if (this.#amount === amount) return this.#only;
    this.#next ??= new Map<number, ByAmounts<T>>();
    let next = this.#next.get(amount);
    if (next === undefined) this.#next.set(amount, (next = new ByAmounts<T>()));
    return next;
  }
}

/** Where a whole row leads. */
export function placeOf<T>(tree: ByAmounts<T>, amounts: Float64Array): ByAmounts<T> {
  let at = tree;
  for (let index = 0; index < amounts.length; index += 1) at = at.after(amounts[index] as number);
  return at;
}
