import { classLabelOf, labels, type Pool, poolKey, poolLabelOf, sizesOf } from '@dovetail/core-api';
import type { InstanceType, Offering } from '@dovetail/core-ec2-model';
import { lookUp } from '@dovetail/core-invariant';
import {
  compareText,
  intersectRequirements,
  type Requirements,
  requirementsFromLabels,
  requirementsOf,
  type Resources,
  subtractResources,
  sumResources,
} from '@dovetail/core-kube-model';

import type { ExistingNode, PlanOptions, PoolOptions, Snapshot } from '../snapshot.js';
import { type Daemon, daemonsOfTemplate, intersects } from './daemons.js';
import type { Dimensions } from './dimensions.js';
import {
  admitsOffering,
  dependOnPlace,
  type SoldType,
  type TypeRoom,
  TypeRooms,
} from './type-rooms.js';

/**
 * One way to launch a node of a template. Offers are ordered by price, then type, zone, capacity
 * type and reservation. The price of `offering` includes the charge per node.
 */
export type Offer = { readonly type: TypeRoom; readonly offering: Offering };

/** A pool in the terms of planning. Invariant: `index` is its position among the templates. */
export type Template = {
  readonly index: number;
  readonly key: string;
  readonly pool: Pool;
  readonly requirements: Requirements;
  readonly offers: readonly Offer[];
  /** Offers that cost more than the plan may pay. A spread counts their domains. */
  readonly dearOffers?: readonly Offer[];
  /**
   * The types by name, with their rooms by place. Present only if some daemonset runs in some zones
   * or capacity types and not in others.
   */
  readonly roomsByPlace?: ReadonlyMap<string, SoldType>;
  /** The types that nodes are sized by; absent if all types count. */
  readonly sizes?: ReadonlySet<TypeRoom>;
  /**
   * The amounts that the pool's limits leave, by resource name. Limits that cannot bind are left
   * out.
   */
  readonly remaining: Resources;
  readonly limited: boolean;
  readonly reserves: boolean;
  readonly minValues: readonly { readonly key: string; readonly count: number }[];
};

/** The tables of the snapshot that the templates of new nodes are made with. */
export type TemplateTables = {
  readonly dimensions: Dimensions;
  readonly daemons: readonly Daemon[];
  readonly wellKnown: ReadonlySet<string>;
  /** The number of pods to place. */
  readonly pods: number;
  readonly options: Pick<PlanOptions, 'nodeChargeMicrosPerHour'>;
};

/**
 * Karpenter's well-known labels without those that name the pool. A pool sets its own name, and no
 * type fills in another.
 */
const fixedWellKnown = [
  labels.zone,
  labels.region,
  labels.instanceType,
  labels.arch,
  labels.os,
  labels.capacityType,
  labels.windowsBuild,
  labels.zoneId,
];

// Plans that share a catalog share its keys.
const keysOfTypes = new WeakMap<readonly InstanceType[], ReadonlySet<string>>();

function keysOf(types: readonly InstanceType[]): ReadonlySet<string> {
  let keys = keysOfTypes.get(types);
  if (keys === undefined)
    keysOfTypes.set(
      types,
      (keys = new Set(types.flatMap((type) => [...type.requirements.keys()]))),
    );
  return keys;
}

/**
 * Returns the labels that a new node's type or offering fills in: Karpenter's well-known ones and
 * those of the catalog's types.
 */
export function wellKnownLabels(snapshot: Snapshot): ReadonlySet<string> {
  const known = new Set<string>(fixedWellKnown);
  for (const { instanceTypes } of snapshot.pools)
    for (const key of keysOf(instanceTypes)) known.add(key);
  return known;
}

/**
 * Returns the requirements of a template: those of the pool, its labels, and the label that names
 * the pool.
 */
export function templateRequirements(pool: Pool): Requirements {
  const own = requirementsFromLabels({
    ...pool.labels,
    [poolLabelOf(pool.identity.kind)]: pool.identity.name,
    ...laterLabels(pool),
  });
  return intersectRequirements(requirementsOf(pool.requirements), own);
}

/** The hostname of every new node, which no pod can name: its space keeps it from being a label. */
const notNamedYet = 'a new node';

/**
 * Labels that a new node of the pool will carry and that no plan writes. They are its name, its
 * class, and the marks that it is registered and ready. Pods may ask for them, as with Karpenter.
 */
const laterLabels = ({ classRef }: Pool): Readonly<Record<string, string>> => ({
  [labels.hostname]: notNamedYet,
  [labels.registered]: 'true',
  [labels.initialized]: 'true',
  [classLabelOf(classRef)]: classRef.name,
});

/** Requirements without the labels that a new node gets by itself. */
export function withoutLaterLabels(requirements: Requirements, pool: Pool): Requirements {
  const kept = new Map(requirements);
  for (const key of Object.keys(laterLabels(pool))) kept.delete(key);
  return kept;
}

/** Orders pools as Karpenter does: heavier first, then by name from the end of the alphabet. */
export const heavierFirst = (a: Pool, b: Pool): number =>
  b.weight - a.weight ||
  compareText(b.identity.name, a.identity.name) ||
  compareText(a.identity.kind, b.identity.kind);

/** Whether planning may open nodes in a pool: it is ready, not static and not being deleted. */
export const isOpen = (pool: Pool): boolean =>
  pool.ready && pool.replicas === undefined && pool.deletionMs === undefined;

function remainingOf(pool: Pool, nodes: readonly ExistingNode[]): Resources {
  if (Object.keys(pool.limits).length === 0) return {};
  const key = poolKey(pool.identity);
  const mine = nodes.filter((node) => node.poolKey === key && node.state !== 'deleting');
  const used = { ...sumResources(mine.map((node) => node.capacity)), nodes: mine.length };
  const left = subtractResources(pool.limits, used);
  return Object.fromEntries(
    Object.keys(pool.limits).map((name) => [name, lookUp(left, name) ?? 0]),
  );
}

/**
 * Returns the pool's limits without those that no plan for this many pods can reach. The search
 * then has fewer limits to check at each step.
 */
function limitsOf(
  pool: Pool,
  what: {
    readonly nodes: readonly ExistingNode[];
    readonly offers: readonly Offer[];
    readonly pods: number;
  },
): Pick<Template, 'remaining' | 'limited'> {
  const remaining = remainingOf(pool, what.nodes);
  const largest = (name: string): number =>
    name === 'nodes'
      ? 1
      : what.offers.reduce(
          (most, { type }) => Math.max(most, lookUp(type.type.capacity, name) ?? 0),
          0,
        );
  const reachable = Object.entries(remaining).filter(
    ([name, left]) => left < 0 || largest(name) * what.pods > left,
  );
  return { remaining: Object.fromEntries(reachable), limited: reachable.length > 0 };
}

const cheapestFirst = (a: Offer, b: Offer): number =>
  a.offering.priceMicrosPerHour - b.offering.priceMicrosPerHour ||
  compareText(a.type.type.name, b.type.type.name) ||
  compareText(a.offering.zone, b.offering.zone) ||
  compareText(a.offering.capacityType, b.offering.capacityType) ||
  compareText(a.offering.reservation?.id ?? '', b.offering.reservation?.id ?? '');

const usable = (offering: Offering): boolean =>
  offering.available && (offering.reservation === undefined || offering.reservation.remaining > 0);

// Plans that share a catalog and a pool share the types that the pool admits.
const admittedKnown = new WeakMap<
  readonly InstanceType[],
  WeakMap<Pool, readonly InstanceType[]>
>();

/** The types that intersect the requirements, which are those of the pool's template. */
function admittedBy(
  { pool, requirements }: Pick<Template, 'pool' | 'requirements'>,
  types: readonly InstanceType[],
): readonly InstanceType[] {
  const of = admittedKnown.get(types) ?? new WeakMap<Pool, readonly InstanceType[]>();
  admittedKnown.set(types, of);
  const known = of.get(pool) ?? types.filter((type) => intersects(type.requirements, requirements));
  of.set(pool, known);
  return known;
}

/** The types that a pool admits, with their rooms. */
type Sold = Pick<Template, 'roomsByPlace'> & { readonly types: readonly SoldType[] };

/**
 * Returns the types that requirements admit, with their rooms. A pool with minValues counts a
 * daemonset of some places on all offerings, because its nodes must keep many of them.
 */
function soldTypes(
  types: readonly InstanceType[],
  of: Pick<Template, 'pool' | 'requirements'> & { readonly daemons: readonly Daemon[] },
  { dimensions }: TemplateTables,
): Sold {
  const { requirements, daemons } = of;
  const varied = [...requirements.values()].some(({ minValues }) => minValues !== undefined);
  const byPlace = !varied && dependOnPlace(daemons);
  const rooms = new TypeRooms(daemons, { dimensions, byPlace });
  const sold = admittedBy(of, types).map((type) => rooms.of(type));
  return {
    types: sold,
    ...(byPlace ? { roomsByPlace: new Map(sold.map((one) => [one.type.name, one])) } : {}),
  };
}

/** Returns the offers that can be bought now, for no more than the pool's cap, cheapest first. */
function offersOf(
  { types }: Sold,
  { pool, requirements }: Pick<Template, 'pool' | 'requirements'>,
  options: TemplateTables['options'],
): Offer[] {
  const cap = pool.maxPriceMicrosPerHour ?? Infinity;
  const offers: Offer[] = [];
  for (const { type, roomAs } of types)
    for (const offering of type.offerings) {
      if (!usable(offering) || offering.priceMicrosPerHour > cap) continue;
      const room = admitsOffering(requirements, offering) ? roomAs(offering) : undefined;
      if (room !== undefined) offers.push({ type: room, offering: charged(offering, options) });
    }
  return offers.sort(cheapestFirst);
}

/** Splits offers into those that the plan may pay, and those that are too dear for it. */
function byPrice(
  offers: readonly Offer[],
  { priceBelowMicrosPerHour: below }: Pick<PoolOptions, 'priceBelowMicrosPerHour'>,
  { nodeChargeMicrosPerHour: charge }: TemplateTables['options'],
): Pick<Template, 'offers' | 'dearOffers'> {
  if (below === undefined) return { offers };
  const isDear = ({ offering }: Offer): boolean => offering.priceMicrosPerHour - charge >= below;
  return { offers: offers.filter((offer) => !isDear(offer)), dearOffers: offers.filter(isDear) };
}

/**
 * Returns the types that nodes are sized by. It returns none if the pool reserves capacity or has
 * minValues, because these need every type. The same holds if no offer has one of the sizes.
 */
function sizesAmong(
  pool: Pool,
  offers: readonly Offer[],
  chooses: boolean,
): Pick<Template, 'sizes'> {
  const specs = chooses ? undefined : sizesOf(pool);
  if (specs === undefined) return {};
  const wanted = requirementsOf(specs);
  const sizes = new Set(
    offers.map(({ type }) => type).filter(({ type }) => intersects(type.requirements, wanted)),
  );
  return sizes.size === 0 ? {} : { sizes };
}

/**
 * Returns the offering at its price with the charge per node. The charge is equal for all, so it
 * never changes their order.
 */
const charged = (
  offering: Offering,
  { nodeChargeMicrosPerHour: charge }: TemplateTables['options'],
): Offering =>
  charge === 0
    ? offering
    : { ...offering, priceMicrosPerHour: offering.priceMicrosPerHour + charge };

/** Returns the templates of a snapshot in Karpenter's order of pools. */
export function templatesOf(snapshot: Snapshot, tables: TemplateTables): readonly Template[] {
  const open = snapshot.pools
    .filter(({ pool }) => isOpen(pool))
    .sort((a, b) => heavierFirst(a.pool, b.pool));
  return open.map(({ pool, instanceTypes, ...limit }, index) => {
    const requirements = templateRequirements(pool);
    const daemons = daemonsOfTemplate(
      tables.daemons,
      { requirements, taints: pool.taints },
      tables.wellKnown,
    );
    const { roomsByPlace, ...sold } = soldTypes(
      instanceTypes,
      { pool, requirements, daemons },
      tables,
    );
    const all = offersOf(sold, { pool, requirements }, tables.options);
    const { offers, ...dear } = byPrice(all, limit, tables.options);
    const minValues = [...requirements].flatMap(([key, set]) =>
      set.minValues === undefined ? [] : [{ key, count: set.minValues }],
    );
    const reserves = offers.some(({ offering }) => offering.reservation !== undefined);
    return {
      index,
      key: poolKey(pool.identity),
      pool,
      requirements,
      offers,
      ...dear,
      ...(roomsByPlace === undefined ? {} : { roomsByPlace }),
      minValues,
      reserves,
      ...limitsOf(pool, { nodes: snapshot.nodes, offers, pods: tables.pods }),
      ...sizesAmong(pool, offers, reserves || minValues.length > 0),
    };
  });
}

/** Returns the amount that one node counts against a limit: its capacity, or one for `nodes`. */
export const chargeOf = (offer: Offer, name: string): number =>
  name === 'nodes' ? 1 : (lookUp(offer.type.type.capacity, name) ?? 0);

/** Returns the offers, dear ones among them, of which the pool's limits leave room for a node. */
export const roomyOffers = ({ offers, dearOffers = [], remaining }: Template): readonly Offer[] =>
  [...offers, ...dearOffers].filter((offer) =>
    Object.entries(remaining).every(([name, left]) => chargeOf(offer, name) <= left),
  );
