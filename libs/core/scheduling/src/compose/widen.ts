import { at, float64At, lookUp, numberAt, present } from '@dovetail/core-invariant';

import type { State } from '../match/states.js';
import { chargeOf, type Offer } from '../model/templates.js';
import { cheapestTypes, offersFor } from '../rooms/accounts.js';
import type { Bin } from '../rooms/bin.js';
import type { Engine } from '../rooms/engine.js';
import { holdingAnywhere } from './anywhere.js';

const equal = (a: readonly Offer[], b: readonly Offer[]): boolean =>
  a.length === b.length && a.every((offer, index) => offer === b[index]);

/**
 * Lists of offers that hold a load. Loads that lie between the same sizes share one list, and so do
 * others with equal lists, because each list is rendered once.
 */
class OfferLists {
  readonly #sizes = new Map<State, readonly Float64Array[]>();
  readonly #known = new Map<string, readonly Offer[]>();
  readonly #byCheapest = new Map<Offer | undefined, (readonly Offer[])[]>();
  readonly #typesMax: number;

  constructor(typesMax: number) {
    this.#typesMax = typesMax;
  }

  of(bin: Bin): readonly Offer[] {
    const state = bin.state as State;
    const reservation = bin.offer?.offering.reservation?.id;
    const choose = (): readonly Offer[] => {
      const holding = offersFor(state, bin).filter(
        ({ offering }) => offering.reservation?.id === reservation,
      );
      return cheapestTypes(holdingAnywhere(holding, bin), this.#typesMax);
    };
    // A node keeps the offer that it is charged as, so that offer has a part in the choice.
    const byPlace = state.template.roomsByPlace !== undefined;
    if (bin.ports.length > 0 || (byPlace && bin.offer !== undefined)) return choose();
    let text = `${state.id} ${reservation ?? ''}`;
    this.#sizesOf(state).forEach((sizes, r) => {
      text += ` ${rank(sizes, float64At(bin.used, r))}`;
    });
    const known = this.#known.get(text) ?? this.#shared(choose());
    this.#known.set(text, known);
    return known;
  }

  /** Returns the list that was made before with the same offers, if there is one. */
  #shared(offers: readonly Offer[]): readonly Offer[] {
    const others = this.#byCheapest.get(offers[0]) ?? [];
    const known = others.find((other) => equal(other, offers));
    if (known !== undefined) return known;
    others.push(offers);
    this.#byCheapest.set(offers[0], others);
    return offers;
  }

  /** Returns the distinct sizes of a state's types per resource, ascending. */
  #sizesOf(state: State): readonly Float64Array[] {
    const known = this.#sizes.get(state);
    if (known !== undefined) return known;
    const rooms = [...new Set(roomsOf(state))];
    const sizes = [...(rooms[0] ?? [])].map((_, r) =>
      Float64Array.from(new Set(rooms.map((room) => float64At(room, r)))).sort(),
    );
    this.#sizes.set(state, sizes);
    return sizes;
  }
}

/** Returns the rooms that decide which offers of a state hold a load. */
const roomsOf = ({ offers, template }: State): readonly Float64Array[] =>
  template.roomsByPlace === undefined
    ? offers.map(({ type }) => type.room)
    : [...template.roomsByPlace.values()].flatMap(({ type, roomAs }) =>
        type.offerings.flatMap((offering) => roomAs(offering)?.room ?? []),
      );

/** Returns how many of the sorted sizes are smaller than `used`. */
function rank(sizes: Float64Array, used: number): number {
  let low = 0;
  let high = sizes.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (float64At(sizes, middle) < used) low = middle + 1;
    else high = middle;
  }
  return low;
}

const most = (offers: readonly Offer[], name: string): number =>
  offers.reduce((largest, offer) => Math.max(largest, chargeOf(offer, name)), 0);

/**
 * Narrows the offers of a limited pool's nodes, in order, so that the limit holds for any choice of
 * offers. Updates `choices`.
 */
function withinLimits(engine: Engine, bins: readonly Bin[], choices: (readonly Offer[])[]): void {
  const templates = new Set(
    bins.map((bin) => (bin.state as State).template).filter((template) => template.limited),
  );
  for (const template of templates) {
    const mine = [...bins.keys()].filter(
      (index) => (bins[index]?.state as State).template === template,
    );
    const names = Object.keys(template.remaining);
    const largest = new Map<readonly Offer[], readonly number[]>();
    const sizesOf = (offers: readonly Offer[]): readonly number[] => {
      const known = largest.get(offers) ?? names.map((name) => most(offers, name));
      largest.set(offers, known);
      return known;
    };
    const fits = names.every(
      (name, nameIndex) =>
        mine.reduce((sum, index) => sum + numberAt(sizesOf(at(choices, index)), nameIndex), 0) <=
        present(lookUp(template.remaining, name), 'the names are those of the limits'),
    );
    if (fits) continue;
    const slack = names.map((name) => engine.accounts.left(template, name));
    for (const index of mine) {
      const charged = present(at(bins, index).offer, 'each node of a limited pool is charged');
      const kept = at(choices, index).filter((offer) =>
        names.every(
          (name, nameIndex) =>
            chargeOf(offer, name) <= chargeOf(charged, name) + numberAt(slack, nameIndex),
        ),
      );
      names.forEach((name, nameIndex) => {
        const more = Math.max(0, most(kept, name) - chargeOf(charged, name));
        slack[nameIndex] = numberAt(slack, nameIndex) - more;
      });
      choices[index] = kept;
    }
  }
}

/**
 * Returns the offers that each new node may name: every offer that holds it, so that the launch has
 * a choice. A node in a reservation names only that reservation. The nodes of a limited pool stay
 * within its limits together.
 */
export function widen(engine: Engine, bins: readonly Bin[]): readonly (readonly Offer[])[] {
  const known = new OfferLists(engine.world.options.instanceTypesMax);
  const lists = bins.map((bin) => known.of(bin));
  withinLimits(engine, bins, lists);
  return lists;
}
