import type { HostPort } from '@dovetail/core-kube-model';

import type { State } from '../match/states.js';
import { ByAmounts, placeOf } from '../model/amounts.js';
import type { Shape } from '../model/shapes.js';
import { cheapestFor, type Load } from '../rooms/accounts.js';
import type { Item } from '../rooms/items.js';
import type { Role } from '../topology/roles.js';
import type { World } from '../world/world.js';

/**
 * Items that are equal to every new node: equal requests, equal demands on the node, and equal
 * roles in hostname rules. Zone spread is settled before, so there are usually far fewer kinds than
 * classes.
 */
export type Kind = {
  readonly index: number;
  readonly requests: Float64Array;
  readonly shape: Shape;
  /** The hostname roles that can refuse a pod. An affinity that only selects the pod cannot. */
  readonly roles: readonly Role[];
  readonly ports: readonly HostPort[];
  /**
   * The number of the hostname roles and host ports. Invariant: kinds of the same number are closed
   * to the same nodes.
   */
  readonly rule: number;
  /** Whether only resources decide, because there are no hostname rules and no host ports. */
  readonly plain: boolean;
  /**
   * The most pods of this kind that hostname rules and host ports admit per node; Infinity without
   * such a rule.
   */
  readonly perHost: number;
  readonly items: { readonly item: Item; readonly count: number }[];
  readonly count: number;
  /**
   * The states in which a node may open for this kind, in the heaviest pools that can take it. The
   * state with the cheapest node for one pod comes first.
   */
  readonly openings: readonly State[];
};

/** Some pods of a kind. */
export type Portion = { readonly kind: Kind; readonly count: number };

const matters = (role: Role): boolean => role.group.kind !== 'affinity' || role.carries;

function perHostOf(roles: readonly Role[]): number {
  let most = Infinity;
  for (const { group, carries, selected } of roles) {
    if (!carries || !selected) continue;
    if (group.kind === 'anti') most = Math.min(most, 1);
    if (group.kind === 'spread') most = Math.min(most, group.maxSkew);
  }
  return most;
}

/**
 * Returns the opening states that can take a shape, in the heaviest pools with room for one pod.
 * The state with the cheapest node for one pod comes first.
 */
function openingsOf(world: World, shape: Shape, load: Load): readonly State[] {
  const found: { readonly state: State; readonly price: number }[] = [];
  let weight = -Infinity;
  for (const template of world.templates) {
    if (template.pool.weight < weight) break;
    for (const opening of world.states.openings(template)) {
      const state = world.states.after(opening, shape);
      const price = state && cheapestFor(state, load)?.offering.priceMicrosPerHour;
      if (state === undefined || price === undefined) continue;
      found.push({ state, price });
      weight = template.pool.weight;
      break;
    }
  }
  return found.sort((a, b) => a.price - b.price).map(({ state }) => state);
}

type Draft = {
  readonly first: Item;
  readonly roles: readonly Role[];
  readonly rule: number;
  readonly items: { item: Item; count: number }[];
  count: number;
};

const rolesText = (roles: readonly Role[]): string =>
  roles
    .map((role) => `${role.group.id}${role.carries ? 'c' : ''}${role.selected ? 's' : ''}`)
    .join('|');

function rulesText(roles: readonly Role[], { cls }: Item): string {
  const { hostPorts } = cls.pod;
  return roles.length + hostPorts.length === 0
    ? ''
    : `${rolesText(roles)} ${JSON.stringify(hostPorts)}`;
}

/** Groups items that are equal to every node, in the order of their first item. */
function draftsOf(assigned: ReadonlyMap<Item, number>): readonly Draft[] {
  const drafts: Draft[] = [];
  const rules = new Map<string, number>();
  const known = new ByAmounts<Draft>();
  for (const [item, count] of assigned) {
    if (count <= 0) continue;
    const roles =
      item.roles.onHost.length === 0 ? item.roles.onHost : item.roles.onHost.filter(matters);
    const text = rulesText(roles, item);
    const rule = rules.get(text) ?? rules.size;
    rules.set(text, rule);
    const at = placeOf(known.after(item.shape.id).after(rule), item.cls.newNodeRequests);
    if (at.value === undefined)
      drafts.push((at.value = { first: item, roles, rule, items: [], count: 0 }));
    at.value.items.push({ item, count });
    at.value.count += count;
  }
  return drafts;
}

/**
 * Returns the kinds of the assigned items, in the order of their first item: largest pods first.
 */
export function kindsOf(world: World, assigned: ReadonlyMap<Item, number>): readonly Kind[] {
  return draftsOf(assigned).map(({ first, roles, rule, items, count }, index) => {
    const {
      newNodeRequests: requests,
      pod: { hostPorts: ports },
    } = first.cls;
    return {
      index,
      requests,
      shape: first.shape,
      roles,
      ports,
      rule,
      plain: roles.length === 0 && ports.length === 0,
      perHost: ports.length > 0 ? 1 : perHostOf(roles),
      items,
      count,
      openings: openingsOf(world, first.shape, { used: requests, ports }),
    };
  });
}
