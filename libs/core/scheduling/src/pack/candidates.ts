import { type Size } from './packing.js';
import { dot } from './prices.js';

/**
 * The number of bands. Sizes are sorted into bands by the share that the first resource has in
 * their worth. More bands compare mixtures more closely and take longer to go through.
 */
const bandsMax = 8;
/**
 * Tolerance for rounding, so that a search does not end before a size that scores as much as its
 * bound. Larger than the rounding of such sums, and small beside any difference in price.
 */
const rounding = 1 + 1e-9;

/** The rows from `from` to before `to`, with similar mixtures, sorted by worth. */
type Band = { readonly number: number; readonly from: number; readonly to: number };

// Reads here are unchecked for speed, because even filling compares every node with the table.
// `#next` and the bands keep rows within the table.

/** Sizes in bands, side by side in memory, for filling many nodes from the same sizes. */
export class SizeTable {
  readonly bands: readonly Band[];
  readonly rows: readonly Size[];
  readonly worths: Float64Array;
  /** The place of each row in the list from which the table was made. */
  readonly places: Int32Array;
  /**
   * The requests of each row by resource, and the least requests of the row and those below it in
   * its band.
   */
  readonly requests: Float64Array;
  readonly least: Float64Array;
  readonly perUnit: Float64Array;
  readonly width: number;
  readonly #rowOf: ReadonlyMap<Size, number>;
  /**
   * The next row with pods left. Invariant: a row with pods left leads to itself; every other row
   * leads further down.
   */
  readonly #next: Int32Array;

  /** `sizes` must be sorted by worth, the most valuable first. */
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

  /** Marks a size without pods left. */
  drop(size: Size): void {
    const row = this.#rowOf.get(size);
    if (row !== undefined) this.#next[row] = row + 1;
  }

  /** Returns the first row from this one on with pods left; the band's end if there is none. */
  left(from: number, band: Band): number {
    let row = from;
    while (row < band.to && this.#next[row] !== row) row = this.#next[row] as number;
    // The path is shortened for the next call.
    if (from < band.to) this.#next[from] = row;
    return Math.min(row, band.to);
  }

  /**
   * Returns the first row from this one on whose worth is at most `worth`; the band's end if there
   * is none.
   */
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

/** A node that is being filled: its load and its room. */
export type Filling = { readonly used: Float64Array; readonly room: Float64Array };

/** The sizes from which one node is filled. */
export type Candidates = {
  /**
   * Returns the result of `pass` for a size of high score, the first among equals. The score weighs
   * each resource with the share of it that is left. A size that does not pass is never asked
   * again. Invariant: between two calls the node is only filled.
   */
  best<T>(node: Filling, pass: (size: Size) => T | undefined): T | undefined;
};

/** Returns the share of a resource that is left on a node. */
const leftOf = ({ used, room }: Filling, r: number): number =>
  (room[r] as number) > 0 ? 1 - (used[r] as number) / (room[r] as number) : 0;

/**
 * Weighs the worth of each resource with the share of it that is left. Returns the largest share.
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

/** The candidates of a short list, without a table. It finds the size with the highest score. */
export class FewCandidates implements Candidates {
  readonly #perUnit: Float64Array;
  readonly #weights: Float64Array;
  /** The sizes that may still join. */
  readonly #sizes: Size[];

  /** `sizes` must be sorted by worth, the most valuable first. */
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
      // Sizes are sorted by worth, and none scores more than its worth times the largest share that
      // is left.
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
 * The sizes of a table that may still join one node. Only the most valuable size that fits is
 * compared per band. Mixtures in a band are similar, so it nearly always has the highest score of
 * its band.
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
    // A size that is worth more than everything that is left cannot fit.
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
