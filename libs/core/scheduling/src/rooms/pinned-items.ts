import { float64At } from '@dovetail/core-invariant';
import { requirementsOf, type RequirementSpec } from '@dovetail/core-kube-model';

import type { PodClass } from '../model/classes.js';
import type { Shape } from '../model/shapes.js';
import { mayName, openDomains } from '../topology/domains.js';
import type { Role, Roles } from '../topology/roles.js';
import type { Pin } from './domain-room.js';
import type { Engine } from './engine.js';
import type { Item, ItemTable } from './items.js';

/**
 * Whether nodes without this label satisfy every role of its key. Only spread and affinity require
 * the label.
 */
const labelOptional = (roles: readonly Role[]): boolean =>
  roles.every((role) => !role.carries || role.group.kind === 'anti');

function domainsOfKey(engine: Engine, shape: Shape, key: string): readonly string[] {
  const { states, templates } = engine.world;
  const found = new Set<string>();
  for (const template of templates) {
    if (!shape.requirements.has(key) && !mayName(template, key)) continue;
    const state = states.after(states.root(template), shape);
    if (state !== undefined)
      for (const domain of openDomains(state.requirements, state.offers, key)) found.add(domain);
  }
  return [...found].sort();
}

type Spec = RequirementSpec & { readonly operator: 'In' };

const pinnedTo = (engine: Engine, shape: Shape, specs: readonly Spec[]): Shape =>
  engine.world.shapes.narrowed(shape, {
    text: specs.map(({ key, values }) => `${key}=${values[0]}`).join(','),
    requirements: requirementsOf(specs),
  });

/**
 * The combinations of domains of several keys that pods of one class choose from. Spread over zones
 * and capacity types has about ten. Each one more is a form of a node that planning compares.
 */
const combinationsMax = 32;

/**
 * Returns the combinations of one domain per topology key of the class that new nodes may have: all
 * of a single key, and of several keys at most `combinationsMax`.
 */
function choicesOf(
  engine: Engine,
  shape: Shape,
  what: { readonly keys: readonly string[]; readonly optional: readonly boolean[] },
): readonly (readonly Spec[])[] {
  let choices: readonly (readonly Spec[])[] = [[]];
  for (const [index, key] of what.keys.entries()) {
    const longer: (readonly Spec[])[] = [];
    for (const choice of choices) {
      if (longer.length >= combinationsMax && index > 0) break;
      const pinned = choice.length === 0 ? shape : pinnedTo(engine, shape, choice);
      const domains = domainsOfKey(engine, pinned, key);
      if (domains.length === 0 && what.optional[index] === true) longer.push(choice);
      for (const domain of domains)
        longer.push([...choice, { key, operator: 'In' as const, values: [domain] }]);
    }
    if (longer.length === 0) return [];
    choices = index > 0 ? longer.slice(0, combinationsMax) : longer;
  }
  return choices;
}

/** The weight of some pools, and the lowest price per unit of CPU among their offers. */
type Rank = { readonly weight: number; readonly price: number };

/**
 * Ranks candidates that are otherwise equal: by the heaviest pools that admit the shape, then by
 * their lowest price per unit of CPU.
 */
function rankOf(engine: Engine, shape: Shape): Rank {
  const { states, templates } = engine.world;
  let best = Infinity;
  let weight = -1;
  for (const template of templates) {
    const state = states.after(states.root(template), shape);
    if (state === undefined || template.pool.weight < weight) continue;
    if (template.pool.weight > weight) best = Infinity;
    weight = template.pool.weight;
    for (const { type, offering } of state.frontier)
      best = Math.min(best, offering.priceMicrosPerHour / Math.max(1, float64At(type.room, 0)));
  }
  return { weight, price: best };
}

type Pinned = { readonly shape: Shape; readonly specs: readonly Spec[] };

/**
 * Returns the ways to pin a shape to domains of some keys: those of the heaviest pools first, then
 * the cheapest. Equal ones stay in the order of domain names.
 */
function pinnedShapes(engine: Engine, shape: Shape, roles: Roles): readonly Pinned[] {
  const optional = roles.domainKeys.map((key) =>
    labelOptional(roles.onDomain.filter((role) => role.group.key === key)),
  );
  const text = `${shape.id} ${roles.domainKeys.join(' ')} ${optional.join(' ')}`;
  const known = engine.pinned.get(text);
  if (known !== undefined) return known;
  const made = choicesOf(engine, shape, { keys: roles.domainKeys, optional })
    .map((specs) => {
      const pinned = pinnedTo(engine, shape, specs);
      return { shape: pinned, specs, rank: rankOf(engine, pinned) };
    })
    .sort((a, b) => b.rank.weight - a.rank.weight || a.rank.price - b.rank.price)
    .map(({ shape: pinned, specs }): Pinned => ({ shape: pinned, specs }));
  engine.pinned.set(text, made);
  return made;
}

/** Whether some template can open a node for one pod of an item. Later nodes are not considered. */
export function canOpen(engine: Engine, item: Item): boolean {
  const { states, templates } = engine.world;
  const used = item.cls.newNodeRequests;
  return templates.some((template) => {
    const state = states.after(states.root(template), item.shape);
    if (
      state === undefined ||
      !state.widest.some((room) => room.every((amount, r) => amount >= float64At(used, r)))
    )
      return false;
    const { hostPorts: ports } = item.cls.pod;
    if (ports.length > 0 || template.minValues.length > 0 || template.reserves)
      return engine.openingFor(template, item) !== undefined;
    return (
      !template.limited ||
      typeof engine.accounts.choose(state, { used, ports }, undefined) !== 'string'
    );
  });
}

const pinsOf = (roles: Roles, specs: readonly Spec[]): readonly Pin[] =>
  specs.flatMap(({ key, values }) =>
    roles.onDomain
      .filter((role) => role.group.key === key)
      .map((role) => ({ role, domain: values[0] ?? '' })),
  );

/**
 * Returns the shapes that pods with these roles may have on new nodes, each with its pins. Classes
 * that differ only in their requests share their roles and shapes.
 */
function choicesFor(
  engine: Engine,
  shapes: readonly Shape[],
  roles: Roles,
): readonly Pick<Item, 'shape' | 'pins'>[] {
  const known = engine.choices.get(roles);
  if (known !== undefined) return known;
  const made = shapes
    .flatMap((shape) => pinnedShapes(engine, shape, roles))
    .map(({ shape, specs }) => ({ shape, pins: pinsOf(roles, specs) }));
  engine.choices.set(roles, made);
  return made;
}

/**
 * Returns the items that pods of a class may become on new nodes, heaviest pools first, then
 * cheapest domains, then by name. Some of them may only join planned nodes (`openableOf`).
 */
export function candidatesOf(
  engine: Engine,
  table: ItemTable,
  what: { readonly cls: PodClass; readonly level: number; readonly roles: Roles },
): readonly Item[] {
  const { cls, level, roles } = what;
  const shapes = cls.levels[level]?.shapes ?? [];
  return roles.domainKeys.length === 0
    ? shapes.map((shape) => table.intern({ cls, level, roles, shape, pins: [] }))
    : choicesFor(engine, shapes, roles).map((choice) =>
        table.intern({ cls, level, roles, ...choice }),
      );
}

/** Returns those of the candidates for which a node may be opened, in the same order. */
export const openableOf = (
  engine: Engine,
  table: ItemTable,
  what: { readonly cls: PodClass; readonly level: number; readonly roles: Roles },
): readonly Item[] =>
  candidatesOf(engine, table, what).filter(
    (item) => what.roles.needsHostMates || canOpen(engine, item),
  );
