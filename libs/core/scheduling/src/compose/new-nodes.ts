import type { RandomNumbers } from '../improve/random-numbers.js';
import type { State } from '../match/states.js';
import type { Bin } from '../rooms/bin.js';
import { crowding, domainRoom, evensOut, noteDomains } from '../rooms/domain-room.js';
import type { Engine } from '../rooms/engine.js';
import type { Item } from '../rooms/items.js';
import { EmptiestFirst } from './emptiest-first.js';

type Opening = { readonly state: State; readonly price: number };

/**
 * Returns the cheapest opening for the item in the heaviest pools that can take it, or one drawn
 * from theirs if `random` is given. Returns undefined if no pool can, or if the item waits for a
 * reservation.
 */
function openingFor(engine: Engine, item: Item, random?: RandomNumbers): Opening | undefined {
  let best: Opening | undefined;
  let weight = -Infinity;
  for (const template of engine.world.templates) {
    if (best !== undefined && template.pool.weight < weight) break;
    const state = engine.openingFor(template, item);
    if (state !== undefined) {
      const price = engine.openingPrice(state, item);
      const taken =
        random === undefined ? price < (best?.price ?? Infinity) : random.below(2) === 0;
      if (best === undefined || taken) best = { state, price };
      weight = template.pool.weight;
    } else if (best === undefined && engine.waitsForReservation(template, item)) return undefined;
  }
  return best;
}

/** A domain that the class may choose, with the planned nodes that may still take its pods. */
type Choice = { readonly item: Item; readonly bins: EmptiestFirst; closed: boolean };

type Found = { readonly choice: Choice; readonly bin: Bin };

/**
 * The condition under which a pod joins a planned node. `always` is as in Karpenter; `thrifty`,
 * only where that adds no more to the price than a new node.
 */
export type Joining = 'always' | 'thrifty';

/** How a class chooses among places that its rules leave open. */
export type Choosing = {
  readonly joining: Joining;
  /** If given, it draws the pool and domain of a new node. Otherwise the cheapest are taken. */
  readonly random?: RandomNumbers | undefined;
};

/**
 * The new nodes of a plan as places for pods of one class at one level. Each pod joins the planned
 * node with the fewest pods that takes it, in any domain that its rules leave open. If no node
 * takes it, it opens one in the emptiest domain. Karpenter does both the same way.
 */
export class NewNodes {
  readonly #engine: Engine;
  readonly #choosing: Choosing;
  readonly #choices: readonly Choice[];

  constructor(engine: Engine, candidates: readonly Item[], choosing: Choosing) {
    this.#engine = engine;
    this.#choosing = choosing;
    const items = choosing.random?.shuffled(candidates) ?? candidates;
    this.#choices = items.map((item) => ({
      item,
      bins: new EmptiestFirst(engine.fresh),
      closed: false,
    }));
  }

  /** Places one pod and returns whether it found a place. */
  place(): boolean {
    const joined = this.#toJoin();
    const found =
      joined === undefined
        ? this.#opened(Infinity)
        : this.#choosing.joining === 'always'
          ? joined
          : (this.#opened(this.#engine.growth(joined.bin, joined.choice.item)) ?? joined);
    if (found === undefined) return false;
    const { choice, bin } = found;
    this.#engine.put(bin, choice.item, 1);
    noteDomains(this.#engine, choice.item.pins, 1);
    return true;
  }

  #toJoin(): Found | undefined {
    let best: (Found & { readonly crowd: number }) | undefined;
    for (const choice of this.#choices) {
      if (domainRoom(this.#engine, choice.item.pins) <= 0) continue;
      const bin = choice.bins.first((one) => this.#engine.roomInFresh(one, choice.item) > 0);
      if (bin === undefined) continue;
      const crowd = this.#crowd(choice.item);
      const fewer =
        best === undefined ? -1 : bin.pods - best.bin.pods || bin.index - best.bin.index;
      if (best === undefined || fewer < 0 || (fewer === 0 && crowd < best.crowd))
        best = { choice, bin, crowd };
    }
    return best;
  }

  /** Opens a node that costs less than `below`, if a pool can take the pod. */
  #opened(below: number): Found | undefined {
    const open = this.#choices
      .filter(({ item, closed }) => !closed && domainRoom(this.#engine, item.pins) > 0)
      .map((choice) => ({ choice, crowd: this.#crowd(choice.item) }))
      .sort((a, b) => a.crowd - b.crowd);
    for (const { choice } of open) {
      const opening = openingFor(this.#engine, choice.item, this.#choosing.random);
      if (opening === undefined) {
        // Limits and reservations only shrink.
        choice.closed = true;
        continue;
      }
      if (opening.price >= below) return undefined;
      const bin = this.#engine.open(opening.state);
      for (const { bins } of this.#choices) bins.push(bin);
      return { choice, bin };
    }
    return undefined;
  }

  #crowd(item: Item): number {
    return evensOut(item.roles) ? crowding(this.#engine, item.pins) : 0;
  }
}
