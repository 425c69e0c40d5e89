import { type Size } from './packing.js';
import { dot } from './prices.js';

/** Sizes are sorted into so many bands by how much of their worth is the first resource's. */
const bandsMax = 8;
/** Rounding must not end a search before what scores as much as its bound. */
const rounding = 1 + 1e-9;

/** Rows of like mixture, by worth: where they begin and end. */
type Band = { readonly number: number; readonly from: number; readonly to: number };

// Reads here are unchecked: this is the innermost loop of even filling. `#next` and the bands keep
// rows within the table.

/**
 * Sizes in bands, side by side in memory: going through them is most of the work of filling many
 * nodes evenly.
 */
export class SizeTable {
  readonly bands: readonly Band[];
  readonly rows: readonly Size[];
  readonly worths: Float64Array;
  /** The place of each row in the list that the table was made of. */
  readonly places: Int32Array;
  /**
   * What each row asks for, by resource; and the least that it or a row below it in its band does.
   */
  readonly requests: Float64Array;
  readonly least: Float64Array;
  readonly perUnit: Float64Array;
  readonly width: number;
  readonly #rowOf: ReadonlyMap<Size, number>;
  /** Each row that is left leads to itself, any other to one further down. */
  readonly #next: Int32Array;

  /** `sizes`: the most valuable first. */
  constructor(perUnit: Float64Array, sizes: readonly Size[]) {
    this.perUnit = perUnit;
    this.width = perUnit.length;
    const share = ({ requests, worth }: Size): number =>
      worth > 0 ? ((perUnit[0] as number) * (requests[0] as number)) / worth : 0;
    const groups = Array.from({ length: bandsMax }, (): number[] => []);
    sizes.forEach((size, place) =>
      groups[Math.min(bandsMax - 1, Math.floor(share(size) * bandsMax))]?.push(place),
    );
    this.places = Int32Array.from(groups.flat());
    this.rows = [...this.places].map((place) => sizes[place] as Size);
    this.bands = bandsOf(groups.map(({ length }) => length));
    this.worths = new Float64Array(sizes.length);
    this.requests = new Float64Array(sizes.length * this.width);
    this.rows.forEach(({ requests, worth }, row) => {
      this.worths[row] = worth;
      this.requests.set(requests, row * this.width);
    });
    this.least = this.requests.slice();
    for (const { from, to } of this.bands) {
      for (let at = (to - 1) * this.width - 1; at >= from * this.width; at -= 1)
        this.least[at] = Math.min(this.least[at] as number, this.least[at + this.width] as number);
    }
    this.#rowOf = new Map(this.rows.map((size, row) => [size, row]));
    this.#next = new Int32Array(sizes.length + 1);
    for (let row = 0; row <= sizes.length; row += 1) this.#next[row] = row;
  }

  /** No pods of this size are left. */
  drop(size: Size): void {
    const row = this.#rowOf.get(size);
    if (row !== undefined) this.#next[row] = row + 1;
  }

  /** The first row from this one on of which pods are left; the band's end when there is none. */
  left(from: number, band: Band): number {
    let row = from;
    while (row < band.to && this.#next[row] !== row) row = this.#next[row] as number;
    // Who comes this way again goes straight on.
    if (from < band.to) this.#next[from] = row;
    return Math.min(row, band.to);
  }

  /** The first row from this one on that is not worth more; the band's end when all are. */
  notAbove(worth: number, from: number, band: Band): number {
    let low = from;
    let high = band.to;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.worths[middle] as number) > worth) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function bandsOf(lengths: readonly number[]): readonly Band[] {
  const bands: Band[] = [];
  let from = 0;
  for (const length of lengths) {
    if (length === 0) continue;
    bands.push({ number: bands.length, from, to: from + length });
    from += length;
  }
  return bands;
}

/** A node that is being filled: what it holds, and what it may. */
export type Filling = { readonly used: Float64Array; readonly room: Float64Array };

/** Sizes from which one node is filled. */
export type Candidates = {
  /**
   * A size that is worth much when each resource is weighted with the share of it that is left, and
   * that passes; of equals the first. What does not pass is not asked again, so a node may only
   * fill.
   */
  best<T>(node: Filling, pass: (size: Size) => T | undefined): T | undefined;
};

/** What a unit of a resource is worth to a node: much where much is left. */
const leftOf = ({ used, room }: Filling, r: number): number =>
  (room[r] as number) > 0 ? 1 - (used[r] as number) / (room[r] as number) : 0;

/**
 * Sets what a unit of each resource is worth to a node, and gives the largest share that is left of
 * any.
 */
function weigh(weights: Float64Array, perUnit: Float64Array, node: Filling): number {
  let most = 0;
  for (let r = 0; r < weights.length; r += 1) {
    const left = leftOf(node, r);
    weights[r] = (perUnit[r] as number) * left;
    most = Math.max(most, left);
  }
  return most;
}

/** A list too short to be worth a table: the best of all is found. */
export class FewCandidates implements Candidates {
  readonly #perUnit: Float64Array;
  readonly #weights: Float64Array;
  /** Those that may still join. */
  readonly #sizes: Size[];

  /** `sizes`: the most valuable first. */
  constructor(perUnit: Float64Array, sizes: readonly Size[]) {
    this.#perUnit = perUnit;
    this.#weights = new Float64Array(perUnit.length);
    this.#sizes = [...sizes];
  }

  best<T>(node: Filling, pass: (size: Size) => T | undefined): T | undefined {
    const bound = weigh(this.#weights, this.#perUnit, node) * rounding;
    const sizes = this.#sizes;
    let [best, bestScore, kept, at]: [T | undefined, number, number, number] = [undefined, 0, 0, 0];
    for (; at < sizes.length; at += 1) {
      const size = sizes[at] as Size;
      // Sizes come by worth, and none scores more than its worth times the largest share that is
      // left.
      if (size.worth * bound <= bestScore) break;
      const score = dot(this.#weights, size.requests);
      const found = score > bestScore ? pass(size) : undefined;
      if (found !== undefined) [best, bestScore] = [found, score];
      else if (score > bestScore) continue;
      sizes[kept] = size;
      kept += 1;
    }
    if (kept < at) sizes.splice(kept, at - kept);
    return best;
  }
}

/**
 * The sizes of a table that may still join one node. Only the most valuable of each band that fits
 * is compared: within a band mixtures are alike, so what is worth more in general is, but for a
 * little, worth more here too.
 */
export class TableCandidates implements Candidates {
  readonly #table: SizeTable;
  readonly #weights: Float64Array;
  /** The first row of each band that may still join. */
  readonly #first: Int32Array;

  constructor(table: SizeTable) {
    this.#table = table;
    this.#weights = new Float64Array(table.width);
    this.#first = new Int32Array(table.bands.length);
    for (const band of table.bands) this.#first[band.number] = table.left(band.from, band);
  }

  best<T>(node: Filling, pass: (size: Size) => T | undefined): T | undefined {
    const { bands, perUnit, rows } = this.#table;
    weigh(this.#weights, perUnit, node);
    // What is worth more than all that is left cannot fit.
    let most = 0;
    for (let r = 0; r < perUnit.length; r += 1)
      most += (perUnit[r] as number) * ((node.room[r] as number) - (node.used[r] as number));
    for (const band of bands) this.#skipTooLarge(band, node, most * rounding);
    for (let band = this.#bestBand(); band !== undefined; band = this.#bestBand()) {
      const row = this.#first[band.number] as number;
      const found = pass(rows[row] as Size);
      if (found !== undefined) return found;
      this.#first[band.number] = this.#table.left(row + 1, band);
      this.#skipTooLarge(band, node, most * rounding);
    }
    return undefined;
  }

  #bestBand(): Band | undefined {
    let best: Band | undefined;
    let bestScore = 0;
    let bestPlace = 0;
    for (const band of this.#table.bands) {
      const row = this.#first[band.number] as number;
      if (row >= band.to) continue;
      const score = this.#score(row);
      const place = this.#table.places[row] as number;
      if (score < bestScore || score === 0 || (score === bestScore && place >= bestPlace)) continue;
      best = band;
      bestScore = score;
      bestPlace = place;
    }
    return best;
  }

  #skipTooLarge(band: Band, node: Filling, most: number): void {
    const { requests, least } = this.#table;
    let row = this.#first[band.number] as number;
    if (row >= band.to) return;
    if ((this.#table.worths[row] as number) > most)
      row = this.#table.left(this.#table.notAbove(most, row, band), band);
    while (row < band.to && !this.#holds(requests, row, node))
      row = this.#holds(least, row, node) ? this.#table.left(row + 1, band) : band.to;
    this.#first[band.number] = row;
  }

  #holds(amounts: Float64Array, row: number, { used, room }: Filling): boolean {
    const { width } = this.#table;
    for (let r = 0; r < width; r += 1)
      if ((used[r] as number) + (amounts[row * width + r] as number) > (room[r] as number))
        return false;
    return true;
  }

  #score(row: number): number {
    const { requests, width } = this.#table;
    let score = 0;
    for (let r = 0; r < width; r += 1)
      score += (this.#weights[r] as number) * (requests[row * width + r] as number);
    return score;
  }
}
