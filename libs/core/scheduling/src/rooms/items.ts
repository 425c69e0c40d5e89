import { ByAmounts } from '../model/amounts.js';
import type { PodClass } from '../model/classes.js';
import type { Shape } from '../model/shapes.js';
import type { Role, Roles } from '../topology/roles.js';

/**
 * Equal pods that have been assigned their domains: a class at one level of relaxation, one
 * alternative of its volumes, one domain per topology key. Moving an item from one new node to
 * another cannot change any domain's counts, so the search only has to look at the nodes
 * themselves.
 */
export type Item = {
  readonly id: number;
  readonly cls: PodClass;
  readonly level: number;
  readonly roles: Roles;
  /** What it asks of the node, its domains included. */
  readonly shape: Shape;
  /** Domain roles with the domain each was assigned. */
  readonly pins: readonly { readonly role: Role; readonly domain: string }[];
};

/** Items by identity. */
export class ItemTable {
  readonly items: Item[] = [];
  readonly #known = new ByAmounts<Item>();

  intern(item: Omit<Item, 'id'>): Item {
    const at = this.#known.after(item.cls.index).after(item.level).after(item.shape.id);
    if (at.value === undefined) this.items.push((at.value = { id: this.items.length, ...item }));
    return at.value;
  }
}
