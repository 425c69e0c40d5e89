import { at, lookUp, present, put } from '@dovetail/core-invariant';
import type { HostPort } from '@dovetail/core-kube-model';

import type { State } from '../match/states.js';
import { anyClash } from '../model/host-ports.js';
import { meetsMinValues } from '../model/min-values.js';
import { chargeOf, type Offer, type Template } from '../model/templates.js';
import { type Bin } from './bin.js';

/** The amounts that a node must hold: requests and host ports of its pods. */
export type Load = { readonly used: Float64Array; readonly ports: readonly HostPort[] };

// Invariant: all vectors of one plan have the same length. Reads here are unchecked for speed,
// because every packing compares every load with many offers.
const holds = (room: Float64Array, used: Float64Array): boolean => {
  for (let index = 0; index < used.length; index += 1)
    if ((used[index] as number) > (room[index] as number)) return false;
  return true;
};

/**
 * Whether an offer has room for a load and none of its daemonsets uses one of the load's host
 * ports.
 */
export const offerHolds = (offer: Offer, load: Load): boolean =>
  holds(offer.type.room, load.used) &&
  (load.ports.length === 0 ||
    offer.type.hostPorts.length === 0 ||
    !anyClash(offer.type.hostPorts, load.ports));

/** Returns the cheapest offer that holds a load. Limits and reservations are not checked. */
export function cheapestFor(state: State, load: Load): Offer | undefined {
  for (const offer of state.frontier) if (offerHolds(offer, load)) return offer;
  return undefined;
}

/** Returns every offer of a state that holds a load, cheapest first. */
export const offersFor = (state: State, load: Load): readonly Offer[] =>
  state.offers.filter((offer) => offerHolds(offer, load));

/**
 * Returns the offers that hold a load and that nodes of this state are sized by, cheapest first.
 */
export const sizesFor = (state: State, load: Load): readonly Offer[] =>
  state.sizes.filter((offer) => offerHolds(offer, load));

/** The reason why no offer of a pool can be bought for a load. */
export type Refusal = 'resources-too-large' | 'pool-limit' | 'reserved-capacity' | 'min-values';

/**
 * The accounts of limits and reservations: the amounts that pools may still buy. Each new node of
 * such a pool is charged as the offer that would be launched. Limits therefore hold exactly within
 * one plan.
 */
export class Accounts {
  readonly #templates: readonly Template[];
  readonly #spent: readonly Map<string, number>[];
  readonly #reservations = new Map<string, number>();
  readonly #strictReservations: boolean;
  readonly #strictMinValues: boolean;
  readonly #typesMax: number;

  constructor(
    templates: readonly Template[],
    options: {
      readonly strictReservations: boolean;
      readonly strictMinValues: boolean;
      readonly typesMax: number;
    },
  ) {
    this.#templates = templates;
    this.#spent = templates.map(() => new Map());
    this.#strictReservations = options.strictReservations;
    this.#strictMinValues = options.strictMinValues;
    this.#typesMax = options.typesMax;
    for (const template of templates) {
      for (const { offering } of template.offers) {
        if (offering.reservation !== undefined)
          this.#reservations.set(offering.reservation.id, offering.reservation.remaining);
      }
    }
  }

  /** Whether nodes of this template are charged as an offer after every change. */
  static applies(template: Template): boolean {
    return template.limited || template.reserves || template.minValues.length > 0;
  }

  /**
   * Returns the offer that a node with this load is charged as, or the reason why there is none.
   * `bin` is the node itself if it is already charged.
   */
  choose(state: State, load: Load, bin: Bin | undefined): Offer | Refusal {
    if (state.template.limited && state.template.minValues.length > 0)
      return this.#chooseMany(state, load, bin);
    let refusal: Refusal = 'resources-too-large';
    for (const offer of state.chargeable) {
      if (!offerHolds(offer, load)) continue;
      if (!this.#reservable(offer, bin)) {
        if (this.#strictReservations) return 'reserved-capacity';
        refusal = 'reserved-capacity';
        continue;
      }
      if (this.#withinLimits(state.template, offer, bin)) return offer;
      refusal = 'pool-limit';
    }
    return refusal;
  }

  /**
   * With minValues the node must keep several types. It is charged as the largest of the fitting
   * types that are each within the limits, as in Karpenter. This charge may be too high, so the
   * rest of a limit may need another round.
   */
  #chooseMany(state: State, load: Load, bin: Bin | undefined): Offer | Refusal {
    const fitting = offersFor(state, load);
    const offers = fitting.filter(
      (offer) =>
        offer.offering.reservation === undefined && this.#withinLimits(state.template, offer, bin),
    );
    const [cheapest] = offers;
    if (cheapest === undefined) return fitting.length === 0 ? 'resources-too-large' : 'pool-limit';
    const values = (list: readonly Offer[]): boolean => meetsMinValues(state, list);
    if (
      this.#strictMinValues &&
      values(cheapestTypes(fitting, this.#typesMax)) &&
      !values(cheapestTypes(offers, this.#typesMax))
    )
      return 'pool-limit';
    const capacity: Record<string, number> = {};
    for (const name of Object.keys(state.template.remaining))
      put(
        capacity,
        name,
        offers.reduce((most, offer) => Math.max(most, chargeOf(offer, name)), 0),
      );
    return { ...cheapest, type: { ...cheapest.type, type: { ...cheapest.type.type, capacity } } };
  }

  /** Whether every key with a minimum keeps enough distinct values. */
  keepsMinValues(state: State, load: Load): boolean {
    if (state.template.minValues.length === 0) return true;
    const offers = cheapestTypes(offersFor(state, load), this.#typesMax);
    return meetsMinValues(state, offers);
  }

  /**
   * Charges a bin as `offer` and gives back its previous charge. Without an offer it only gives
   * back.
   */
  charge(bin: Bin, template: Template, offer: Offer | undefined): void {
    if (bin.offer !== undefined) this.#book(template, bin.offer, -1);
    if (offer === undefined) delete bin.offer;
    else bin.offer = offer;
    if (offer !== undefined) this.#book(template, offer, 1);
  }

  /** Returns how much of one limit is left. */
  left(template: Template, name: string): number {
    const limit = present(
      lookUp(template.remaining, name),
      'only limits that can bind have accounts',
    );
    return limit - (at(this.#spent, template.index).get(name) ?? 0);
  }

  /**
   * Whether no account is below zero: each limit covers what new nodes are charged, no charge was
   * given back twice, and no reservation has more nodes than instances. Invariant: true whenever
   * `charge` books only offers from `choose`. A limit that was overdrawn before may stay so.
   */
  neverOverdrawn(): boolean {
    return (
      [...this.#reservations.values()].every((instances) => instances >= 0) &&
      this.#templates.every((template) =>
        [...at(this.#spent, template.index)].every(
          ([name, spent]) => spent >= 0 && (spent === 0 || this.left(template, name) >= 0),
        ),
      )
    );
  }

  #book(template: Template, offer: Offer, sign: 1 | -1): void {
    const spent = at(this.#spent, template.index);
    for (const name of Object.keys(template.remaining)) {
      spent.set(name, (spent.get(name) ?? 0) + sign * chargeOf(offer, name));
    }
    const id = offer.offering.reservation?.id;
    if (id !== undefined) this.#reservations.set(id, this.#instancesOf(id) - sign);
  }

  /** The instances of a reservation that are not given out. */
  #instancesOf(id: string): number {
    return present(this.#reservations.get(id), 'each reservation of an offer has an account');
  }

  #reservable(offer: Offer, bin: Bin | undefined): boolean {
    const id = offer.offering.reservation?.id;
    if (id === undefined) return true;
    const own = bin?.offer?.offering.reservation?.id === id ? 1 : 0;
    return this.#instancesOf(id) + own > 0;
  }

  #withinLimits(template: Template, offer: Offer, bin: Bin | undefined): boolean {
    for (const name of Object.keys(template.remaining)) {
      const own = bin?.offer === undefined ? 0 : chargeOf(bin.offer, name);
      if (chargeOf(offer, name) > this.left(template, name) + own) return false;
    }
    return true;
  }
}

/** Returns the offers of the `max` cheapest types. `offers` must be sorted by price. */
export function cheapestTypes(offers: readonly Offer[], max: number): readonly Offer[] {
  if (offers.length <= max) return offers;
  const names = new Set<string>();
  for (const offer of offers) {
    if (names.size >= max) break;
    names.add(offer.type.type.name);
  }
  if (names.size < max) return offers;
  return offers.filter((offer) => names.has(offer.type.type.name));
}
