import { labels } from '@dovetail/core-api';
import { at, float64At } from '@dovetail/core-invariant';
import type { LpLimits, LpSolver } from '@dovetail/core-ports';

import type { PodClass } from '../model/classes.js';
import type { Group } from '../model/groups.js';
import type { NodeRoom } from '../model/nodes.js';
import type { Offer } from '../model/templates.js';
import { Engine } from '../rooms/engine.js';
import type { World } from '../world/world.js';
import { offersFor, shapesOf } from './columns.js';
import { fullestLoads, type Load, type Purchase } from './loads.js';
import { carriedAlways } from './problem.js';
import { type Entry, ProgramBuilder } from './program.js';
import { sharingOf } from './sharing.js';

/** The most pods of a world that is small enough for whole nodes. */
const podsMax = 100;
const microsPerDollar = 1_000_000;

/** The label keys whose domains are looked at: each offer decides them. */
const placeKeys = [labels.zone, labels.capacityType] as const;

/** A place for nodes: one domain of each key that a rule is about; absent where none is. */
type Place = { readonly text: string; readonly domains: ReadonlyMap<string, string> };

/** A class in the program, and the entries that say how many of its pods a place takes. */
type Taken = { readonly item: number; readonly place: Place; readonly column: number };

const domainOf = (offer: Offer, key: string): string =>
  key === labels.zone ? offer.offering.zone : offer.offering.capacityType;

const placeOf = (keys: readonly string[], valueOf: (key: string) => string | undefined): Place => {
  const domains = new Map<string, string>();
  for (const key of keys) {
    const value = valueOf(key);
    if (value !== undefined) domains.set(key, value);
  }
  return { text: JSON.stringify([...domains]), domains };
};

/** Rules over domains that some class follows at every level. */
const domainRules = (world: World, items: readonly PodClass[]): readonly Group[] =>
  world.groups.groups.filter(
    (group) =>
      group.hard &&
      group.kind !== 'affinity' &&
      placeKeys.some((key) => key === group.key) &&
      items.some((cls) => carriedAlways(cls, group) && cls.selectedBy.includes(group)),
  );

type Shop = { readonly place: Place; readonly nodes: Purchase[] };

/** The nodes that can be bought, by place. */
function shopsOf(
  world: World,
  offers: readonly ReadonlySet<Offer>[],
  keys: readonly string[],
): readonly Shop[] {
  const shops = new Map<string, Shop>();
  const known = new Set<string>();
  for (const offer of new Set(world.templates.flatMap((template) => template.offers))) {
    const admits = offers.map((mine) => mine.has(offer));
    if (!admits.includes(true)) continue;
    const place = placeOf(keys, (key) => domainOf(offer, key));
    const { room } = offer.type;
    const { priceMicrosPerHour } = offer.offering;
    const text = `${place.text}|${priceMicrosPerHour}|${room.join(',')}|${admits.join(',')}`;
    if (known.has(text)) continue;
    known.add(text);
    const shop = shops.get(place.text) ?? { place, nodes: [] };
    shops.set(place.text, shop);
    shop.nodes.push({ room, priceMicrosPerHour, admits });
  }
  return [...shops.values()];
}

/** The program under construction: rows by item, and how many pods each place takes. */
class WholeNodes {
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

  /** New nodes of a place: whole nodes by load, and pods within what they hold. */
  buy(place: Place, loads: readonly Load[]): void {
    const rows = this.#items.map(() => this.builder.row(-Infinity, 0));
    for (const { counts, priceMicrosPerHour } of loads)
      this.#entries.push({
        cost: priceMicrosPerHour / microsPerDollar,
        upper: podsMax,
        entries: counts.map((count, item): Entry => [at(rows, item), -count]),
      });
    this.#items.forEach((cls, item) => {
      if (loads.some(({ counts }) => at(counts, item) > 0))
        this.#take(item, place, [[at(rows, item), 1]], cls.uids.length);
    });
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
  build(): ReturnType<ProgramBuilder['build']> {
    for (const { cost, upper, entries } of this.#entries) this.builder.column(cost, upper, entries);
    return this.builder.build('whole-numbers');
  }
}

/**
 * Prices whole nodes for a small world. It knows what fits together on a node beside its
 * daemonsets, host ports, anti-affinity over hostnames, and spread and anti-affinity over zones and
 * capacity types. Each domain counts that a pool offers. It leaves out limits of pools, affinity,
 * and labels of other domains. Returns 0 for a world that is too large, or whose nodes can be
 * filled in too many ways.
 */
export async function wholeNodesBound(
  world: World,
  lp: LpSolver,
  limits: LpLimits,
): Promise<number> {
  const offers = new Map(world.classes.map((cls) => [cls, offersFor(world, shapesOf(cls))]));
  const engine = new Engine(world);
  const admitted = (cls: PodClass, room: NodeRoom): boolean =>
    shapesOf(cls).some((shape) => engine.nodeAdmits(room, shape));
  const items = world.classes.filter(
    (cls) => (offers.get(cls)?.size ?? 0) > 0 || world.nodes.some((room) => admitted(cls, room)),
  );
  const pods = items.reduce((sum, cls) => sum + cls.uids.length, 0);
  if (pods === 0 || pods > podsMax) return 0;
  const rules = domainRules(world, items);
  const keys = placeKeys.filter((key) => rules.some((group) => group.key === key));
  const program = new WholeNodes(world, items, rules);
  const mayShare = sharingOf(world, items);
  const counted = items.map((cls) => ({ requests: cls.requests, count: cls.uids.length }));
  const mine = items.map((cls) => offers.get(cls) ?? new Set<Offer>());
  for (const { place, nodes } of shopsOf(world, mine, keys)) {
    const loads = fullestLoads(nodes, counted, mayShare);
    if (loads === undefined) return 0;
    program.buy(place, loads);
  }
  for (const room of world.nodes)
    program.use(
      placeOf(keys, (key) => room.node.labels[key]),
      room,
      (cls) => admitted(cls, room),
    );
  program.rule();
  const { bound } = await lp.solve(program.build(), limits);
  return Number.isFinite(bound) ? bound * microsPerDollar : 0;
}
