import { at } from '@dovetail/core-invariant';
import {
  intersectRequirements,
  isCompatible,
  isUnsatisfiable,
  type Requirements,
  toSpecs,
} from '@dovetail/core-kube-model';

import { intersects } from '../model/daemons.js';
import { type Shape, taintAgainst } from '../model/shapes.js';
import type { Offer, Template } from '../model/templates.js';
import { admitsOffering, type TypeRoom } from '../model/type-rooms.js';

/**
 * The choices that a new node still has: the requirements of its pool combined with those of its
 * pods. Nodes share few states. The table remembers which state follows when a pod of a shape
 * joins, so matching costs one lookup.
 */
export type State = {
  readonly id: number;
  readonly template: Template;
  readonly requirements: Requirements;
  /** Every offer that is still possible. Invariant: cheapest first. */
  readonly offers: readonly Offer[];
  /**
   * Whether the node is sized only by the template's `sizes`. The other offers may still be
   * launched.
   */
  readonly sized: boolean;
  /**
   * The offers that the node is sized by, cheapest first. `frontier`, `chargeable` and `widest` are
   * taken from them.
   */
  readonly sizes: readonly Offer[];
  /**
   * Offers that can be the cheapest for some load, cheapest first. Invariant: for none of them is
   * there a cheaper unreserved offer with at least as much room and the same host ports.
   */
  readonly frontier: readonly Offer[];
  /**
   * The offers that limits and reservations choose from: the cheapest offer of each type, and every
   * reserved offer.
   */
  readonly chargeable: readonly Offer[];
  /**
   * The rooms of the frontier that no other room contains. Invariant: a load without host ports
   * fits some offer only if it fits one of them.
   */
  readonly widest: readonly Float64Array[];
};

// Invariant: all vectors of one plan have the same length. Reads here are unchecked for speed.
const holdsAll = (large: Float64Array, small: Float64Array): boolean => {
  for (let index = 0; index < small.length; index += 1)
    if ((small[index] as number) > (large[index] as number)) return false;
  return true;
};

function cheapestOfTypes(offers: readonly Offer[]): readonly Offer[] {
  const seen = new Set<TypeRoom>();
  return offers.filter((offer) => {
    if (offer.offering.reservation !== undefined) return true;
    if (seen.has(offer.type)) return false;
    seen.add(offer.type);
    return true;
  });
}

/**
 * Keeps the offers that no cheaper offer replaces. Reserved offers replace none, because they can
 * run out.
 */
function frontierOf(offers: readonly Offer[]): readonly Offer[] {
  const kept: Offer[] = [];
  // The most of each resource among those kept. Most offers have more of one, and replace nothing.
  const most = Float64Array.from(offers[0]?.type.room ?? [], () => -Infinity);
  for (const offer of offers) {
    const dominated =
      offer.offering.reservation === undefined &&
      holdsAll(most, offer.type.room) &&
      kept.some(
        (cheaper) =>
          cheaper.offering.reservation === undefined &&
          cheaper.type.hostPorts === offer.type.hostPorts &&
          holdsAll(cheaper.type.room, offer.type.room),
      );
    if (dominated) continue;
    kept.push(offer);
    offer.type.room.forEach((amount, r) => {
      most[r] = Math.max(most[r] as number, amount);
    });
  }
  return kept;
}

function widestOf(frontier: readonly Offer[]): readonly Float64Array[] {
  const rooms: Float64Array[] = [];
  // The dearest offers come first, because their rooms are usually large and contain many others.
  for (const offer of [...frontier].reverse()) {
    if (!rooms.some((room) => holdsAll(room, offer.type.room))) rooms.push(offer.type.room);
  }
  return rooms.filter(
    (room, index) =>
      !rooms.some(
        (other, at) =>
          at !== index && holdsAll(other, room) && (at < index || !holdsAll(room, other)),
      ),
  );
}

/** All states of one plan, and the transitions between them. */
export class StateTable {
  readonly states: State[] = [];
  readonly #ids = new Map<string, number>();
  readonly #next = new Map<number, Map<number, State | null>>();
  readonly #wellKnown: ReadonlySet<string>;
  readonly #roots: readonly State[];
  /** Per template: the states in which a node may open, in the order in which they are tried. */
  readonly #openings: readonly (readonly State[])[];

  constructor(templates: readonly Template[], wellKnown: ReadonlySet<string>) {
    this.#wellKnown = wellKnown;
    this.#roots = templates.map(
      (template) =>
        this.#intern({ template, sized: false }, template.requirements, template.offers) as State,
    );
    this.#openings = templates.map((template) => {
      const root = this.root(template);
      const sized =
        template.sizes === undefined
          ? undefined
          : this.#intern({ template, sized: true }, template.requirements, template.offers);
      return sized === undefined ? [root] : [sized, root];
    });
  }

  /** Returns the state of a template without pods, with every offer. */
  root(template: Template): State {
    return at(this.#roots, template.index);
  }

  /**
   * Returns the states in which a node of a template may open. The state that is sized by the
   * template's `sizes` comes before the one with every offer.
   */
  openings(template: Template): readonly State[] {
    return at(this.#openings, template.index);
  }

  /** Returns the opening state from which a node reached this state. */
  openingOf(state: State): State {
    return state.sized ? at(this.openings(state.template), 0) : this.root(state.template);
  }

  /** Returns the state after a pod of this shape joins; undefined if it cannot join. */
  after(state: State, shape: Shape): State | undefined {
    let known = this.#next.get(state.id);
    if (known === undefined) this.#next.set(state.id, (known = new Map<number, State | null>()));
    let next = known.get(shape.id);
    if (next === undefined) known.set(shape.id, (next = this.#compute(state, shape) ?? null));
    return next ?? undefined;
  }

  #compute(state: State, shape: Shape): State | undefined {
    if (taintAgainst(shape, state.template.pool.taints) !== undefined) return undefined;
    // Also to the template alone: a pod that excludes a value of a label defines the label for
    // nobody. The order in which pods join must not matter.
    const allowUndefined = this.#wellKnown;
    for (const offered of new Set([state.template.requirements, state.requirements]))
      if (!isCompatible(offered, shape.requirements, { allowUndefined })) return undefined;
    const requirements = intersectRequirements(state.requirements, shape.requirements);
    if (isUnsatisfiable(requirements)) return undefined;
    const types = new Map<string, boolean>();
    const offers = state.offers.filter((offer) => {
      const { name } = offer.type.type;
      let fits = types.get(name);
      if (fits === undefined)
        types.set(name, (fits = intersects(offer.type.type.requirements, requirements)));
      return fits && admitsOffering(requirements, offer.offering);
    });
    if (offers.length === 0) return undefined;
    // If none of the template's sizes is left, the remaining offers size the node.
    return (
      this.#intern(state, requirements, offers) ??
      this.#intern({ template: state.template, sized: false }, requirements, offers)
    );
  }

  /**
   * Returns the state for these requirements; undefined if it is sized and none of its sizes is
   * left.
   */
  #intern(
    { template, sized }: Pick<State, 'template' | 'sized'>,
    requirements: Requirements,
    offers: readonly Offer[],
  ): State | undefined {
    const text = `${template.index}${sized ? ' sized' : ''}|${JSON.stringify(toSpecs(requirements))}`;
    const known = this.#ids.get(text);
    if (known !== undefined) return this.states[known];
    const sizes = sized ? offers.filter(({ type }) => template.sizes?.has(type)) : offers;
    if (sized && sizes.length === 0) return undefined;
    const chargeable = cheapestOfTypes(sizes);
    const frontier = frontierOf(chargeable);
    const state: State = {
      id: this.states.length,
      template,
      requirements,
      offers,
      sized,
      sizes,
      chargeable,
      frontier,
      widest: widestOf(frontier),
    };
    this.#ids.set(text, state.id);
    this.states.push(state);
    return state;
  }
}
