import { at, float64At } from '@dovetail/core-invariant';
import type { LinearProgram } from '@dovetail/core-ports';

import type { PodClass } from '../model/classes.js';
import type { Group } from '../model/groups.js';
import type { NodeRoom } from '../model/nodes.js';
import type { World } from '../world/world.js';
import type { Load } from './loads.js';
import { carriedAlways } from './problem.js';
import { type Entry, ProgramBuilder } from './program.js';

const microsPerDollar = 1_000_000;
/** The most nodes of one load. No plan of so few pods has more. */
const nodesMax = 100;

/** A place for nodes: one domain of each key that a rule is about; absent where none is. */
export type Place = { readonly text: string; readonly domains: ReadonlyMap<string, string> };

/** A class in the program, and the entries that say how many of its pods a place takes. */
type Taken = { readonly item: number; readonly place: Place; readonly column: number };

/** Returns the place whose domain of each key `valueOf` tells. */
export const placeOf = (
  keys: readonly string[],
  valueOf: (key: string) => string | undefined,
): Place => {
  const domains = new Map<string, string>();
  for (const key of keys) {
    const value = valueOf(key);
    if (value !== undefined) domains.set(key, value);
  }
  return { text: JSON.stringify([...domains]), domains };
};

/** The program under construction: rows by item, and how many pods each place takes. */
export class WholeNodesProgram {
  readonly builder = new ProgramBuilder();
  readonly taken: Taken[] = [];
  readonly #world: World;
  readonly #items: readonly PodClass[];
  readonly #rules: readonly Group[];
  readonly #entries: {
    readonly cost: number;
    readonly upper: number;
    readonly entries: Entry[];
  }[] = [];
  readonly #itemRows: readonly number[];

  constructor(world: World, items: readonly PodClass[], rules: readonly Group[]) {
    this.#world = world;
    this.#items = items;
    this.#rules = rules;
    this.#itemRows = items.map((cls) => this.builder.row(cls.uids.length, cls.uids.length));
  }

  /**
   * New nodes of a place: whole nodes by load, and pods within what they hold. Returns the rows of
   * the items, which say so.
   */
  buy(place: Place, loads: readonly Load[]): readonly number[] {
    const rows = this.#items.map(() => this.builder.row(-Infinity, 0));
    for (const { counts, priceMicrosPerHour } of loads)
      this.#entries.push({
        cost: priceMicrosPerHour / microsPerDollar,
        upper: nodesMax,
        entries: counts.map((count, item): Entry => [at(rows, item), -count]),
      });
    this.#items.forEach((cls, item) => {
      if (loads.some(({ counts }) => at(counts, item) > 0))
        this.#take(item, place, [[at(rows, item), 1]], cls.uids.length);
    });
    return rows;
  }

  /** An existing node, with what it has free. */
  use(place: Place, room: NodeRoom, admits: (cls: PodClass) => boolean): void {
    const rows = [...room.free].map((free) => this.builder.row(-Infinity, Math.max(0, free)));
    this.#items.forEach((cls, item) => {
      if (!admits(cls)) return;
      const entries = rows.map((row, r): Entry => [row, float64At(cls.requests, r)]);
      this.#take(item, place, entries, cls.uids.length);
    });
  }

  #take(item: number, place: Place, entries: Entry[], upper: number): void {
    const own: Entry = [at(this.#itemRows, item), 1];
    this.taken.push({ item, place, column: this.#entries.length });
    this.#entries.push({ cost: 0, upper, entries: [own, ...entries] });
  }

  /** Adds the rules over domains; all places must be known. */
  rule(): void {
    for (const group of this.#rules) {
      const domains = new Set(
        this.taken.flatMap(({ place }) => place.domains.get(group.key) ?? []),
      );
      const bound = group.kind === 'anti' ? this.#apart(group) : this.#spread(group);
      for (const domain of domains) bound(domain);
    }
  }

  /** At most one pod that carries and is selected by the group in each domain. */
  #apart(group: Group): (domain: string) => void {
    const { tallies } = this.#world.standings.ledger.of(group);
    return (domain) => {
      const row = this.builder.row(-Infinity, (tallies.get(domain)?.selected ?? 0) > 0 ? 0 : 1);
      this.#addTo(row, 1, { group, domain, carriers: true });
    };
  }

  /**
   * When the last pod under the rule came to a domain, it had at most maxSkew more than the
   * emptiest. The emptiest has at least as many in the end.
   */
  #spread(group: Group): (domain: string) => void {
    const { tallies, eligible } = this.#world.standings.ledger.of(group);
    const counted = [...eligible].filter((domain) => this.#openToAll(group, domain));
    if (counted.length === 0) return () => undefined;
    const least: Entry[] = [];
    this.#entries.push({ cost: 0, upper: 1e6, entries: least });
    if (eligible.size < group.minDomains) least.push([this.builder.row(-Infinity, 0), 1]);
    for (const domain of counted) {
      const row = this.builder.row(-Infinity, tallies.get(domain)?.selected ?? 0);
      least.push([row, 1]);
      this.#addTo(row, -1, { group, domain, carriers: false });
    }
    return (domain) => {
      const row = this.builder.row(-Infinity, group.maxSkew);
      least.push([row, -1]);
      this.#addTo(row, 1, { group, domain, carriers: true });
    };
  }

  /** Whether every item under the rule has a place in the domain, so that each counts it. */
  #openToAll(group: Group, domain: string): boolean {
    return this.#items.every(
      (cls, item) =>
        !carriedAlways(cls, group) ||
        this.taken.some((one) => one.item === item && one.place.domains.get(group.key) === domain),
    );
  }

  #addTo(
    row: number,
    sign: number,
    what: { readonly group: Group; readonly domain: string; readonly carriers: boolean },
  ): void {
    const { group, domain, carriers } = what;
    for (const { item, place, column } of this.taken) {
      const cls = at(this.#items, item);
      if (place.domains.get(group.key) !== domain || !cls.selectedBy.includes(group)) continue;
      if (carriers && !carriedAlways(cls, group)) continue;
      at(this.#entries, column).entries.push([row, sign]);
    }
  }

  /** Builds the program. */
  build(kind: 'fractions' | 'whole-numbers'): LinearProgram {
    for (const { cost, upper, entries } of this.#entries) this.builder.column(cost, upper, entries);
    return this.builder.build(kind);
  }
}
