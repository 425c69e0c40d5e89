import type { NodeRoom } from '../model/nodes.js';
import { filterAdmits } from '../topology/domains.js';
import type { Role, Roles } from '../topology/roles.js';
import type { Engine } from './engine.js';
import type { Item } from './items.js';

/** A domain that the pods of an item are assigned to, for one of their roles. */
export type Pin = { readonly role: Role; readonly domain: string };

/** Returns how many more pods the domains of an item take. */
export function domainRoom(engine: Engine, pins: readonly Pin[]): number {
  let room = Infinity;
  for (const { role, domain } of pins) {
    room = Math.min(room, engine.ledger.roomInDomain(role, domain));
    if (room <= 0) return 0;
  }
  return room;
}

/**
 * Returns how many pods the spread domains of an item already count. Candidates with fewer go
 * first.
 */
export function crowding(engine: Engine, pins: readonly Pin[]): number {
  let crowd = 0;
  for (const { role, domain } of pins)
    if (role.group.kind === 'spread')
      crowd += engine.ledger.of(role.group).tallies.get(domain)?.selected ?? 0;
  return crowd;
}

const countsEverywhere = ({ group, carries }: Role): boolean =>
  carries || (group.filter.alternatives === undefined && group.filter.tolerations === undefined);

/** Notes `count` pods in the domains of an item for new nodes. A negative count removes them. */
export function noteDomains(engine: Engine, pins: readonly Pin[], count: number): void {
  for (const { role, domain } of pins)
    engine.ledger.note(role, domain, count, countsEverywhere(role));
}

/**
 * Notes pods as `noteDomains` does, on an existing node. A spread that does not count the node gets
 * no note.
 */
export function noteOnNode(
  engine: Engine,
  pins: readonly Pin[],
  what: { readonly room: NodeRoom; readonly count: number },
): void {
  for (const { role, domain } of pins) {
    const counted =
      countsEverywhere(role) ||
      filterAdmits(role.group.filter, {
        requirements: what.room.requirements,
        taints: what.room.node.taints,
      });
    if (counted) engine.ledger.note(role, domain, what.count, true);
  }
}

/** Whether pods must be assigned one at a time to keep a spread level. */
export const evensOut = (roles: Roles): boolean =>
  roles.onDomain.some((role) => role.group.kind === 'spread');

/**
 * The domain that a spread's next pod is given: the emptiest, or the cheapest that its skew allows.
 * The first keeps the most room for later pods, the other needs fewer or cheaper nodes. `draw` is
 * any that the skew allows: it returns a whole number from 0 to below its argument.
 */
export type DomainPreference =
  'emptiest' | 'cheapest' | { readonly draw: (choices: number) => number };

/** Returns the candidate for the next pod: the first of equal ones, undefined if none has room. */
function preferred(
  engine: Engine,
  candidates: readonly Item[],
  preference: DomainPreference,
): Item | undefined {
  if (typeof preference === 'object') {
    const open = candidates.filter(({ pins }) => domainRoom(engine, pins) > 0);
    return open.length === 0 ? undefined : open[preference.draw(open.length)];
  }
  let best: Item | undefined;
  let least = Infinity;
  for (const item of candidates) {
    const crowd = preference === 'emptiest' ? crowding(engine, item.pins) : 0;
    if (crowd < least && domainRoom(engine, item.pins) > 0) [best, least] = [item, crowd];
  }
  return best;
}

/**
 * Distributes up to `count` pods over candidates, notes them in their domains and returns them by
 * candidate. Candidates are in order of their prices.
 */
export function assignDomains(
  engine: Engine,
  candidates: readonly Item[],
  what: { readonly count: number; readonly preference: DomainPreference },
): ReadonlyMap<Item, number> {
  const assigned = new Map<Item, number>();
  const [first] = candidates;
  if (first === undefined) return assigned;
  const single = evensOut(first.roles);
  let left = what.count;
  while (left > 0) {
    const best = preferred(engine, candidates, single ? what.preference : 'cheapest');
    if (best === undefined) break;
    const chunk = single ? 1 : Math.min(left, domainRoom(engine, best.pins));
    noteDomains(engine, best.pins, chunk);
    assigned.set(best, (assigned.get(best) ?? 0) + chunk);
    left -= chunk;
  }
  return assigned;
}
