import { requirementsOf, type Requirements, type RequirementSpec } from '@dovetail/core-kube-model';
import type { PodClass } from '../model/classes.js';
import type { Shape } from '../model/shapes.js';
import { openDomains } from '../topology/domains.js';
import type { Role, Roles } from '../topology/roles.js';
import type { Engine } from './engine.js';
import type { Item, ItemTable } from './items.js';

type Pin = { readonly role: Role; readonly domain: string };
type Choice = { readonly text: string; readonly requirements: Requirements; readonly pins: readonly Pin[] };

/** Whether every role of a key is content on a node without that label: only spread and affinity demand one. */
const labelOptional = (roles: readonly Role[]): boolean => roles.every((role) => !role.carries || role.group.kind === 'anti');

function domainsOfKey(engine: Engine, shape: Shape, key: string): readonly string[] {
  const { states, templates } = engine.world;
  const found = new Set<string>();
  for (const template of templates) {
    const state = states.after(states.root(template), shape);
    if (state !== undefined) for (const domain of openDomains(state.requirements, state.offers, key)) found.add(domain);
  }
  return [...found].sort();
}

/** Every combination of one domain per topology key that the class takes part in. */
function choicesOf(engine: Engine, shape: Shape, roles: Roles): readonly Choice[] {
  let choices: readonly { readonly specs: readonly RequirementSpec[]; readonly pins: readonly Pin[] }[] = [{ specs: [], pins: [] }];
  for (const key of roles.domainKeys) {
    const mine = roles.onDomain.filter((role) => role.group.key === key);
    const domains = domainsOfKey(engine, shape, key);
    if (domains.length === 0 && labelOptional(mine)) continue;
    choices = choices.flatMap((choice) => domains.map((domain) => ({
      specs: [...choice.specs, { key, operator: 'In' as const, values: [domain] }],
      pins: [...choice.pins, ...mine.map((role) => ({ role, domain }))],
    })));
  }
  return choices.map(({ specs, pins }) => ({ text: specs.length === 0 ? '' : JSON.stringify(specs.map((one) => [one.key, one.values])), requirements: requirementsOf(specs), pins }));
}

/** The cheapest price of a node per core among the offers that a shape leaves: how candidates of equal standing are ranked. */
function pricePerCore(engine: Engine, shape: Shape): number {
  const { states, templates } = engine.world;
  let best = Infinity;
  let weight = -1;
  for (const template of templates) {
    const state = states.after(states.root(template), shape);
    if (state === undefined || template.pool.weight < weight) continue;
    if (template.pool.weight > weight) best = Infinity;
    weight = template.pool.weight;
    for (const { type, offering } of state.frontier) best = Math.min(best, offering.priceMicrosPerHour / Math.max(1, type.room[0] ?? 0));
  }
  return best;
}

/** The items that pods of a class may become on new nodes, best first among equals: cheaper domains, then by name. */
export function candidatesOf(engine: Engine, table: ItemTable, what: { readonly cls: PodClass; readonly level: number; readonly roles: Roles }): readonly Item[] {
  const { cls, level, roles } = what;
  const { shapes, templates } = engine.world;
  const ranked = (cls.levels[level]?.shapes ?? []).flatMap((shape) => choicesOf(engine, shape, roles).map((choice) => {
    const pinned = shapes.narrowed(shape, choice);
    return { item: table.intern({ cls, level, roles, shape: pinned, pins: choice.pins }), price: pricePerCore(engine, pinned) };
  }));
  const open = ranked.filter(({ item }) => roles.needsHostMates || templates.some((template) => engine.roomInNew(template, item) > 0));
  // The sort is stable, so equal prices keep the order of volume alternatives and of domain names.
  return open.sort((a, b) => a.price - b.price).map(({ item }) => item);
}

/** How many more pods the domains of an item take. */
export function domainRoom(engine: Engine, pins: readonly Pin[]): number {
  let room = Infinity;
  for (const { role, domain } of pins) {
    room = Math.min(room, engine.ledger.roomInDomain(role, domain));
    if (room <= 0) return 0;
  }
  return room;
}

/** Pods already counted in the domains that a spread would even out; the emptiest candidate goes first. */
export function crowding(engine: Engine, pins: readonly Pin[]): number {
  let crowd = 0;
  for (const { role, domain } of pins) if (role.group.kind === 'spread') crowd += engine.ledger.of(role.group).tallies.get(domain)?.selected ?? 0;
  return crowd;
}

/** Notes `count` pods in the item's domains; a negative count takes them back. */
export function noteDomains(engine: Engine, pins: readonly Pin[], count: number): void {
  for (const { role, domain } of pins) engine.ledger.note(role, domain, count);
}

/** Whether pods must be assigned one at a time to stay level. */
export const evensOut = (roles: Roles): boolean => roles.onDomain.some((role) => role.group.kind === 'spread');

/** Distributes up to `count` pods over candidates and notes them in their domains. */
export function assignDomains(engine: Engine, candidates: readonly Item[], count: number): ReadonlyMap<Item, number> {
  const assigned = new Map<Item, number>();
  const [first] = candidates;
  if (first === undefined) return assigned;
  const single = evensOut(first.roles);
  let left = count;
  while (left > 0) {
    let best: Item | undefined;
    let least = Infinity;
    for (const item of candidates) {
      const crowd = single ? crowding(engine, item.pins) : 0;
      if (crowd < least && domainRoom(engine, item.pins) > 0) [best, least] = [item, crowd];
    }
    if (best === undefined) break;
    const chunk = single ? 1 : Math.min(left, domainRoom(engine, best.pins));
    noteDomains(engine, best.pins, chunk);
    assigned.set(best, (assigned.get(best) ?? 0) + chunk);
    left -= chunk;
  }
  return assigned;
}
