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
import { admitsOffering, type Offer, type Template, type TypeRoom } from '../model/templates.js';

/**
 * What a new node is still free to become: its pool's requirements met with those of the pods on
 * it. Nodes share few states, and where a state leads when a pod of a shape joins is remembered, so
 * that matching costs one lookup.
 */
export type State = {
  readonly id: number;
  readonly template: Template;
  readonly requirements: Requirements;
  /** Every offer that is still possible, cheapest first. */
  readonly offers: readonly Offer[];
  /**
   * Whether nodes are sized by some of the offers only, as the template says; any of the others may
   * still be launched.
   */
  readonly sized: boolean;
  /** The offers that nodes are sized by, cheapest first; those below are taken from them. */
  readonly sizes: readonly Offer[];
  /**
   * Offers worth pricing: for each there is no cheaper one with at least as much room. Cheapest
   * first.
   */
  readonly frontier: readonly Offer[];
  /**
   * What limits and reservations choose from: every type's cheapest offer, and every reserved one.
   */
  readonly chargeable: readonly Offer[];
  /**
   * Of the frontier, the rooms that no other exceeds in everything: what fits in none of them fits
   * nowhere.
   */
  readonly widest: readonly Float64Array[];
};

// Unchecked: vectors of one plan have one length, and checked reads here cost a tenth of planning.
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

/** Exact as long as offers are unlimited. Reserved ones never rule out others: they run out. */
function frontierOf(offers: readonly Offer[]): readonly Offer[] {
  const kept: Offer[] = [];
  for (const offer of offers) {
    const dominated =
      offer.offering.reservation === undefined &&
      kept.some(
        (cheaper) =>
          cheaper.offering.reservation === undefined &&
          cheaper.type.hostPorts === offer.type.hostPorts &&
          holdsAll(cheaper.type.room, offer.type.room),
      );
    if (!dominated) kept.push(offer);
  }
  return kept;
}

function widestOf(frontier: readonly Offer[]): readonly Float64Array[] {
  const rooms: Float64Array[] = [];
  // From the dear end: large rooms come first and rule out most others at once.
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

/** All states of one plan. */
export class StateTable {
  readonly states: State[] = [];
  readonly #ids = new Map<string, number>();
  readonly #next = new Map<number, Map<number, State | null>>();
  readonly #wellKnown: ReadonlySet<string>;
  readonly #roots: readonly State[];
  /** By template: the states that a node may be opened in, in the order in which they are tried. */
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

  /** A template before any pod has joined. */
  root(template: Template): State {
    return at(this.#roots, template.index);
  }

  /**
   * The states that a node of a template may be opened in: one whose sizes take a pod comes before
   * one for which every offer counts.
   */
  openings(template: Template): readonly State[] {
    return at(this.#openings, template.index);
  }

  /** A state in which a node that has come to this one may be opened. */
  openingOf(state: State): State {
    return state.sized ? at(this.openings(state.template), 0) : this.root(state.template);
  }

  /** The state after a pod of this shape joins; undefined when it cannot. */
  after(state: State, shape: Shape): State | undefined {
    let known = this.#next.get(state.id);
    if (known === undefined) this.#next.set(state.id, (known = new Map<number, State | null>()));
    let next = known.get(shape.id);
    if (next === undefined) known.set(shape.id, (next = this.#compute(state, shape) ?? null));
    return next ?? undefined;
  }

  #compute(state: State, shape: Shape): State | undefined {
    if (taintAgainst(shape, state.template.pool.taints) !== undefined) return undefined;
    if (!isCompatible(state.requirements, shape.requirements, { allowUndefined: this.#wellKnown }))
      return undefined;
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
    // A node of which only other types are left is sized by those.
    return (
      this.#intern(state, requirements, offers) ??
      this.#intern({ template: state.template, sized: false }, requirements, offers)
    );
  }

  /** Undefined when a sized state has no offer left to size nodes by. */
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
