import type { Size } from './bins.js';
import { dot } from './prices.js';

/** Sizes are sorted into so many bands by how much of their worth is the first resource's. */
const bandsMax = 8;
/** Rounding must not end a search before what scores as much as its bound. */
const rounding = 1 + 1e-9;

/** Rows of like mixture, by worth: where they begin and end, and the smallest and largest share of the first resource. */
type Band = { readonly number: number; readonly from: number; readonly to: number; readonly least: number; readonly most: number };

/** Sizes in bands, side by side in memory: going through them is most of the work of filling many nodes evenly. */
export class SizeTable {
  readonly bands: readonly Band[];
  readonly rows: readonly Size[];
  /** The place of each row in the list that the table was made of. */
  readonly places: Int32Array;
  /** What each row asks for, by resource; and the least that it or a row below it in its band does. */
  readonly requests: Float64Array;
  readonly least: Float64Array;
  /** What has run out is skipped by every search that begins after. Kept as in `Candidates`. */
  readonly skips: Int32Array;
  readonly #rowOf: ReadonlyMap<Size, number>;
  readonly perUnit: Float64Array;
  readonly width: number;

  /** `sizes`: the most valuable first. */
  constructor(perUnit: Float64Array, sizes: readonly Size[]) {
    this.perUnit = perUnit;
    this.width = perUnit.length;
    const share = ({ requests, worth }: Size): number => (worth > 0 ? ((perUnit[0] as number) * (requests[0] as number)) / worth : 0);
    const groups = Array.from({ length: bandsMax }, (): number[] => []);
    sizes.forEach((size, place) => groups[Math.min(bandsMax - 1, Math.floor(share(size) * bandsMax))]?.push(place));
    this.places = Int32Array.from(groups.flat());
    this.rows = [...this.places].map((place) => sizes[place] as Size);
    this.bands = bandsOf(groups.map((group) => group.map((place) => share(sizes[place] as Size))));
    this.requests = Float64Array.from(this.rows.flatMap(({ requests }) => [...requests]));
    this.least = Float64Array.from(this.requests);
    for (const { from, to } of this.bands) {
      for (let at = (to - 1) * this.width - 1; at >= from * this.width; at -= 1) this.least[at] = Math.min(this.least[at] as number, this.least[at + this.width] as number);
    }
    this.skips = new Int32Array(sizes.length + this.bands.length);
    this.#rowOf = new Map(this.rows.map((size, row) => [size, row]));
  }

  /** No pods of this size are left. */
  drop(size: Size): void {
    const row = this.#rowOf.get(size);
    const band = this.bands.find(({ from, to }) => row !== undefined && from <= row && row < to);
    if (row === undefined || band === undefined) return;
    let before = band.from - 1;
    for (let next = after(this.skips, before, band); next < row; next = after(this.skips, before, band)) before = next;
    this.skips[before + 1 + band.number] = after(this.skips, row, band);
  }
}

function bandsOf(shares: readonly (readonly number[])[]): readonly Band[] {
  const bands: Band[] = [];
  let from = 0;
  for (const mine of shares) {
    if (mine.length === 0) continue;
    bands.push({ number: bands.length, from, to: from + mine.length, least: Math.min(...mine), most: Math.max(...mine) });
    from += mine.length;
  }
  return bands;
}

/**
 * The next row that may join after another. Each is kept where it is not simply the row below (0); what comes first in a band is
 * kept before its first row, so there is one entry more for each band.
 */
function after(skips: Int32Array, row: number, band: Band): number {
  const skip = skips[row + 1 + band.number] as number;
  return skip === 0 ? row + 1 : skip;
}

/** A node that is being filled: what it holds, and what it may. */
export type Filling = { readonly used: Float64Array; readonly room: Float64Array };

/** Sizes from which one node is filled. */
export type Candidates = {
  /**
   * The size that is worth most when each resource is weighted with the share of it that is left, among those that pass; of equals
   * the first. What does not pass is not asked again, so a node may only fill.
   */
  best<T>(node: Filling, pass: (size: Size) => T | undefined): T | undefined;
};

/** What a unit of a resource is worth to a node: much where much is left. */
const leftOf = ({ used, room }: Filling, r: number): number => ((room[r] as number) > 0 ? 1 - (used[r] as number) / (room[r] as number) : 0);

/** A list too short to be worth a table. */
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
    const bound = this.#weigh(node) * rounding;
    const sizes = this.#sizes;
    let [best, bestScore, kept, at]: [T | undefined, number, number, number] = [undefined, 0, 0, 0];
    for (; at < sizes.length; at += 1) {
      const size = sizes[at] as Size;
      // Sizes come by worth, and none scores more than its worth times the largest share that is left.
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

  /** Sets what a unit of each resource is worth here, and gives the largest share that is left of any. */
  #weigh(node: Filling): number {
    let most = 0;
    for (let r = 0; r < this.#weights.length; r += 1) {
      const left = leftOf(node, r);
      this.#weights[r] = (this.#perUnit[r] as number) * left;
      most = Math.max(most, left);
    }
    return most;
  }
}

type Best<T> = { found: T | undefined; score: number; place: number };

/** The sizes of a table that may still join one node. */
export class TableCandidates implements Candidates {
  readonly #table: SizeTable;
  readonly #weights: Float64Array;
  readonly #skips: Int32Array;

  constructor(table: SizeTable) {
    this.#table = table;
    this.#weights = new Float64Array(table.width);
    this.#skips = Int32Array.from(table.skips);
  }

  best<T>(node: Filling, pass: (size: Size) => T | undefined): T | undefined {
    const [first, others] = this.#weigh(node);
    const best: Best<T> = { found: undefined, score: 0, place: 0 };
    for (const band of this.#table.bands) {
      // Nothing in the band scores more than its worth times this.
      const bound = Math.max(band.least * first + (1 - band.least) * others, band.most * first + (1 - band.most) * others) * rounding;
      this.#search(band, bound, node, best, pass);
    }
    return best.found;
  }

  /** Sets what a unit of each resource is worth here, and gives the share that is left of the first, and the largest of any other. */
  #weigh(node: Filling): readonly [number, number] {
    const { perUnit } = this.#table;
    let [first, others] = [0, 0];
    for (let r = 0; r < perUnit.length; r += 1) {
      const left = leftOf(node, r);
      this.#weights[r] = (perUnit[r] as number) * left;
      if (r === 0) first = left;
      else others = Math.max(others, left);
    }
    return [first, others];
  }

  #search<T>(band: Band, bound: number, node: Filling, best: Best<T>, pass: (size: Size) => T | undefined): void {
    const { rows, places } = this.#table;
    let before = band.from - 1;
    for (let row = after(this.#skips, before, band); row < band.to; row = after(this.#skips, row, band)) {
      const size = rows[row] as Size;
      if (size.worth * bound < best.score || !this.#mayFit(row, node)) return;
      const score = this.#score(row);
      const place = places[row] as number;
      const better = score > best.score || (score === best.score && score > 0 && place < best.place);
      const found = better ? pass(size) : undefined;
      if (found !== undefined) [best.found, best.score, best.place] = [found, score, place];
      if (better && found === undefined) this.#skips[before + 1 + band.number] = after(this.#skips, row, band);
      else before = row;
    }
  }

  /** Whether something from this row on asks for no more than is left. */
  #mayFit(row: number, { used, room }: Filling): boolean {
    const { least, width } = this.#table;
    for (let r = 0; r < width; r += 1) if ((used[r] as number) + (least[row * width + r] as number) > (room[r] as number)) return false;
    return true;
  }

  #score(row: number): number {
    const { requests, width } = this.#table;
    let score = 0;
    for (let r = 0; r < width; r += 1) score += (this.#weights[r] as number) * (requests[row * width + r] as number);
    return score;
  }
}
