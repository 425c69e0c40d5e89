import { ByAmounts } from '../model/amounts.js';
import type { PodClass } from '../model/classes.js';
import type { Shape } from '../model/shapes.js';
import type { Role, Roles } from '../topology/roles.js';

/**
 * Equal pods with assigned domains: a class at one level of relaxation, with one alternative of its
 * volumes and one domain per topology key. Moving an item between new nodes changes no domain's
 * counts, so the search only has to check the nodes.
 */
export type Item = {
  readonly id: number;
  readonly cls: PodClass;
  readonly level: number;
  readonly roles: Roles;
  /** The requirements on the node, including the assigned domains. */
  readonly shape: Shape;
  /** Roles in topology domains, each with its assigned domain. */
  readonly pins: readonly { readonly role: Role; readonly domain: string }[];
};

/** Items by identity: equal items are one object. */
export class ItemTable {
  readonly items: Item[] = [];
  readonly #known = new ByAmounts<Item>();

  intern(item: Omit<Item, 'id'>): Item {
    const at = this.#known.after(item.cls.index).after(item.level).after(item.shape.id);
    if (at.value === undefined) this.items.push((at.value = { id: this.items.length, ...item }));
    return at.value;
  }
}
