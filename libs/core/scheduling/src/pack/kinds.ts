import type { HostPort } from '@dovetail/core-kube-model';
import type { Item } from '../build/items.js';
import { ByAmounts, placeOf } from '../model/amounts.js';
import type { State } from '../match/states.js';
import type { Shape } from '../model/shapes.js';
import type { World } from '../model/world.js';
import type { Role } from '../topology/roles.js';

/**
 * Items that no new node can tell apart: equal requests, equal demands on the node, equal part in hostname rules. Zone
 * spread and the like are settled by then, so most constraints have vanished, and there are far fewer kinds than classes.
 */
export type Kind = {
  readonly index: number;
  readonly requests: Float64Array;
  readonly shape: Shape;
  /** Hostname roles that can refuse; a merely counted affinity cannot. */
  readonly roles: readonly Role[];
  readonly ports: readonly HostPort[];
  /** Kinds with the same hostname roles and host ports have the same number: what closes a node to one closes it to all. */
  readonly rule: number;
  /** Neither hostname rules nor host ports: only resources decide. */
  readonly plain: boolean;
  /** How many a node takes at most by hostname rules, if there is a most. */
  readonly perHost: number;
  readonly items: { readonly item: Item; readonly count: number }[];
  readonly count: number;
  /** States that a node opened for it may have: templates of the highest weight that can take it. */
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

/** States of new nodes that could take a shape, in the heaviest pools that have any with room for one pod. */
function openingsOf(world: World, shape: Shape, requests: Float64Array): readonly State[] {
  const found: State[] = [];
  for (const template of world.templates) {
    if (found[0] !== undefined && template.pool.weight < found[0].template.pool.weight) break;
    const state = world.states.after(world.states.root(template), shape);
    if (state !== undefined && state.widest.some((room) => room.every((amount, r) => amount >= (requests[r] ?? 0)))) found.push(state);
  }
  return found;
}

type Draft = { readonly first: Item; readonly roles: readonly Role[]; readonly rules: string; readonly items: { item: Item; count: number }[]; count: number; readonly openings: readonly State[] };

const rolesText = (roles: readonly Role[]): string => roles.map((role) => `${role.group.id}${role.carries ? 'c' : ''}${role.selected ? 's' : ''}`).join('|');

function rulesText(roles: readonly Role[], { cls }: Item): string {
  const { hostPorts } = cls.pod;
  return roles.length + hostPorts.length === 0 ? '' : `${rolesText(roles)} ${JSON.stringify(hostPorts)}`;
}

/** Items in lists that no node can tell apart, in the order of their first item. */
function draftsOf(world: World, assigned: ReadonlyMap<Item, number>): readonly Draft[] {
  const drafts: Draft[] = [];
  const known = new ByAmounts<Draft[]>();
  for (const [item, count] of assigned) {
    if (count <= 0) continue;
    // Of one shape and size; what parts them are rules of hosts, and few have any.
    const equals = placeOf(known.after(item.shape.id), item.cls.requests).value ??= [];
    const roles = item.roles.onHost.length === 0 ? item.roles.onHost : item.roles.onHost.filter(matters);
    const rules = rulesText(roles, item);
    let draft = equals.find((one) => one.rules === rules);
    if (draft === undefined) {
      draft = { first: item, roles, rules, items: [], count: 0, openings: equals[0]?.openings ?? openingsOf(world, item.shape, item.cls.requests) };
      equals.push(draft);
      drafts.push(draft);
    }
    draft.items.push({ item, count });
    draft.count += count;
  }
  return drafts;
}

/** Kinds of the assigned items, in the order of their first item: largest pods first. */
export function kindsOf(world: World, assigned: ReadonlyMap<Item, number>): readonly Kind[] {
  const rules = new Map<string, number>();
  return draftsOf(world, assigned).map(({ first, roles, rules: text, items, count, openings }, index) => {
    const ports = first.cls.pod.hostPorts;
    const rule = rules.get(text) ?? rules.size;
    rules.set(text, rule);
    return {
      index, requests: first.cls.requests, shape: first.shape, roles, ports, rule, plain: roles.length === 0 && ports.length === 0,
      perHost: ports.length > 0 ? 1 : perHostOf(roles), items, count, openings,
    };
  });
}
