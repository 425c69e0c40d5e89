/**
 * A tree of values by rows of numbers, one number per step. It finds equal rows without writing
 * them as text.
 */
export class ByAmounts<T> {
  /** The value of the row that ends here; undefined until it is set. */
  value: T | undefined;
  // The first branch of a node is kept without a map, because most nodes have one branch.
  #amount = 0;
  #only: ByAmounts<T> | undefined;
  #next: Map<number, ByAmounts<T>> | undefined;

  /** Returns the node one number further, and creates it if necessary. */
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

/** Returns the node at the end of a row. */
export function placeOf<T>(tree: ByAmounts<T>, amounts: Float64Array): ByAmounts<T> {
  let at = tree;
  for (let index = 0; index < amounts.length; index += 1) at = at.after(amounts[index] as number);
  return at;
}
