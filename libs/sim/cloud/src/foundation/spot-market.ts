import type { TwinType } from './account.js';
import { type SpotPrice, spotPriceAt } from './prices.js';

/** Spot pools: of a family or a type, in a zone. An absent part stands for all of them. */
export type SpotPools = {
  readonly family?: string;
  readonly type?: string;
  readonly zone?: string;
};

/** From a time on, these pools cost so many times what the twin draws for them. */
type Turn = { readonly pools: SpotPools; readonly factor: number; readonly sinceMs: number };

const concerns = ({ pools }: Turn, name: string, zone: string): boolean =>
  (pools.family === undefined || name.startsWith(`${pools.family}.`)) &&
  (pools.type ?? name) === name &&
  (pools.zone ?? zone) === zone;

/**
 * The Spot prices of a twin: those that its seed draws, and the turns that a test orders. The
 * latest turn of a pool replaces the earlier ones.
 */
export class SpotMarket {
  readonly #seed: string;
  #turns: readonly Turn[] = [];
  #standsMs = Infinity;

  constructor(seed: string) {
    this.#seed = seed;
  }

  /** From now on the pools cost this many times the drawn price. 1 is the drawn price again. */
  turn(pools: SpotPools, factor: number, nowMs: number): void {
    this.#turns = [{ pools, factor, sinceMs: nowMs }, ...this.#turns];
  }

  /** From now on the drawn prices stay as they are. */
  stand(nowMs: number): void {
    this.#standsMs = Math.min(this.#standsMs, nowMs);
  }

  /** The price that holds at a time. Undefined for a type without a Spot price. */
  priceAt(type: TwinType, zone: string, nowMs: number): SpotPrice | undefined {
    const drawn = spotPriceAt(this.#seed, type, zone, Math.min(nowMs, this.#standsMs));
    const turn = this.#turns.find(
      (each) => each.sinceMs <= nowMs && concerns(each, type.facts.name, zone),
    );
    if (drawn === undefined || turn === undefined) return drawn;
    return {
      ...drawn,
      priceMicros: Math.max(100, Math.round((drawn.priceMicros * turn.factor) / 100) * 100),
      sinceMs: Math.max(drawn.sinceMs, turn.sinceMs),
    };
  }

  /**
   * Every price that held in the period, newest first, including the one in force at its start. At
   * most `stepsMax` per pool.
   */
  history(
    type: TwinType,
    zone: string,
    period: { readonly startMs: number; readonly endMs: number; readonly stepsMax: number },
  ): readonly SpotPrice[] {
    const prices: SpotPrice[] = [];
    for (let atMs = period.endMs; prices.length < period.stepsMax;) {
      const price = this.priceAt(type, zone, atMs);
      if (price === undefined) break;
      prices.push(price);
      if (price.sinceMs <= period.startMs) break;
      atMs = price.sinceMs - 1;
    }
    return prices;
  }
}
