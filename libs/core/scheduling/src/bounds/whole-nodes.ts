import { labels } from '@dovetail/core-api';
import { at, float64At, lookUp } from '@dovetail/core-invariant';
import type { LinearProgram, LpLimits, LpSolution, LpSolver } from '@dovetail/core-ports';

import type { PodClass } from '../model/classes.js';
import type { Group } from '../model/groups.js';
import type { NodeRoom } from '../model/nodes.js';
import type { Offer } from '../model/templates.js';
import { Engine } from '../rooms/engine.js';
import type { World } from '../world/world.js';
import { offersFor, shapesOf } from './columns.js';
import { type Generated, generatedLoads, worthwhileLoads } from './generated-loads.js';
import { fullestLoads, type Item, type Load, type Purchase, worthBuying } from './loads.js';
import { carriedAlways } from './problem.js';
import { type MayShare, sharingOf } from './sharing.js';
import { type Place, placeOf, WholeNodesProgram } from './whole-nodes-program.js';

/** The most pods of a world that is small enough for whole nodes. */
const podsMax = 100;
const microsPerDollar = 1_000_000;

/** The label keys whose domains are looked at: each offer decides them. */
const placeKeys = [labels.zone, labels.capacityType] as const;

const domainOf = (offer: Offer, key: string): string =>
  key === labels.zone ? offer.offering.zone : offer.offering.capacityType;

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

/** A small world in the terms of its program. */
type SmallWorld = {
  readonly world: World;
  readonly classes: readonly PodClass[];
  readonly items: readonly Item[];
  readonly rules: readonly Group[];
  readonly keys: readonly string[];
  readonly shops: readonly Shop[];
  readonly mayShare: MayShare;
  readonly admitted: (cls: PodClass, room: NodeRoom) => boolean;
};

/** Returns the small world of a world; undefined if that is too large, or has no pods. */
function smallWorldOf(world: World): SmallWorld | undefined {
  const offers = new Map(world.classes.map((cls) => [cls, offersFor(world, shapesOf(cls))]));
  const engine = new Engine(world);
  const admitted = (cls: PodClass, room: NodeRoom): boolean =>
    shapesOf(cls).some((shape) => engine.nodeAdmits(room, shape));
  const classes = world.classes.filter(
    (cls) => (offers.get(cls)?.size ?? 0) > 0 || world.nodes.some((room) => admitted(cls, room)),
  );
  const pods = classes.reduce((sum, cls) => sum + cls.uids.length, 0);
  if (pods === 0 || pods > podsMax) return undefined;
  const rules = domainRules(world, classes);
  const keys = placeKeys.filter((key) => rules.some((group) => group.key === key));
  const mine = classes.map((cls) => offers.get(cls) ?? new Set<Offer>());
  return {
    world,
    classes,
    items: classes.map((cls) => ({ requests: cls.requests, count: cls.uids.length })),
    rules,
    keys,
    shops: shopsOf(world, mine, keys),
    mayShare: sharingOf(world, classes),
    admitted,
  };
}

/** The program of these loads by shop, and the rows that count what each shop's nodes hold. */
function programOf(
  { world, classes, rules, keys, shops, admitted }: SmallWorld,
  loads: readonly (readonly Load[])[],
  kind: 'fractions' | 'whole-numbers',
): { readonly program: LinearProgram; readonly rows: readonly (readonly number[])[] } {
  const program = new WholeNodesProgram(world, classes, rules);
  const rows = shops.map(({ place }, shop) => program.buy(place, at(loads, shop)));
  for (const room of world.nodes)
    program.use(
      placeOf(keys, (key) => lookUp(room.node.labels, key)),
      room,
      (cls) => admitted(cls, room),
    );
  program.rule();
  return { program: program.build(kind), rows };
}

type Solve = (program: LinearProgram) => Promise<LpSolution>;

/** The partial loads that are looked at in the time of one counted step. */
const visitsPerStep = 50;

/**
 * Shares of the bound up to which plans are looked through. A larger share proves more, and has
 * more loads; the first that has not too many is taken.
 */
const sharesProven = [0.06, 0.03, 0.015, 0.007] as const;

/**
 * Returns the fullest loads of each shop that a plan within `share` of the bound may have;
 * undefined if there are too many. Beyond its worth, no load of such a plan costs more than that.
 */
function loadsWithin(
  { items, shops, mayShare }: SmallWorld,
  { bound, worths }: Generated,
  { share, visitsMax }: { readonly share: number; readonly visitsMax: number },
): readonly (readonly Load[])[] | undefined {
  const loads = shops.map(({ nodes }, shop) =>
    worthwhileLoads(worthBuying(nodes), items, {
      mayShare,
      worths: at(worths, shop),
      spare: bound * share,
      visitsMax: visitsMax / shops.length,
    }),
  );
  return loads.every((some) => some !== undefined) ? loads : undefined;
}

/** The bound of a world whose nodes can be filled in too many ways to list, in dollars an hour. */
async function generatedBound(small: SmallWorld, solve: Solve, visitsMax: number): Promise<number> {
  const { items, mayShare, shops } = small;
  const generated = await generatedLoads({
    items,
    mayShare,
    places: shops.map(({ nodes }) => worthBuying(nodes)),
    visitsMax,
    priced: async (loads) => {
      const { program, rows } = programOf(small, loads, 'fractions');
      const { status, bound, rowDuals } = await solve(program);
      const worthOf = (row: number): number => Math.max(0, -float64At(rowDuals, row));
      return status === 'optimal'
        ? { price: bound, worths: rows.map((some) => Float64Array.from(some, worthOf)) }
        : undefined;
    },
  });
  if (generated.worths.length === 0) return 0;
  for (const share of sharesProven) {
    const loads = loadsWithin(small, generated, { share, visitsMax });
    if (loads === undefined) continue;
    const { bound } = await solve(programOf(small, loads, 'whole-numbers').program);
    // A plan with other loads costs more than the share allows.
    return Math.max(generated.bound, Math.min(bound, generated.bound * (1 + share)));
  }
  return generated.bound;
}

/**
 * Prices whole nodes for a small world. It knows what fits together on a node beside its
 * daemonsets, host ports, anti-affinity over hostnames, and spread and anti-affinity over zones and
 * capacity types. Each domain counts that a pool offers. It leaves out limits of pools, affinity,
 * and labels of other domains. Returns 0 for a world that is too large.
 */
export async function wholeNodesBound(
  world: World,
  lp: LpSolver,
  limits: LpLimits,
): Promise<number> {
  const small = smallWorldOf(world);
  if (small === undefined) return 0;
  const { items, shops, mayShare } = small;
  const solve: Solve = (program) => lp.solve(program, limits);
  const all = shops.map(({ nodes }) => fullestLoads(nodes, items, mayShare));
  const bound = all.every((loads) => loads !== undefined)
    ? (await solve(programOf(small, all, 'whole-numbers').program)).bound
    : await generatedBound(small, solve, visitsPerStep * (limits.stepsMax ?? Infinity));
  return Number.isFinite(bound) ? bound * microsPerDollar : 0;
}
