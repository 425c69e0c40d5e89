import type { PlanMessage } from '@dovetail/contracts';
import { type Pool, poolKey } from '@dovetail/core-api';
import type { TypesByName } from '@dovetail/core-cluster';
import { at } from '@dovetail/core-invariant';
import { addResources, type Resources } from '@dovetail/core-kube-model';
import type { BinOption, Plan } from '@dovetail/core-scheduling';

import type { Ledger } from './ledger.js';
import {
  amountOf,
  availableNow,
  type LimitRoom,
  type OptionsLeft,
  withinLimits,
  withinPriceCap,
} from './options.js';

/** Narrows the options of bins, in one round, to those that may be launched now. */
export class BinOptions {
  readonly #ledger: Ledger;
  /**
   * Bins that share a list of options share what is left of it, so that it is computed once, here
   * and by the checker.
   */
  readonly #available = new Map<
    readonly BinOption[],
    { readonly types: TypesByName; readonly left: OptionsLeft }
  >();

  /** The needs after each bin of a plan, by the pool that they are of. */
  readonly #needs = new WeakMap<Plan, Map<string, readonly Need[]>>();

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  /**
   * The options of the plan's new node at `index` that are available, affordable and within limits.
   */
  left({ plan }: PlanMessage, index: number, pool: Pool, types: TypesByName): OptionsLeft {
    const key = poolKey(pool.identity);
    const available = this.#availableNow(at(plan.newNodes, index).options, types);
    if (!available.ok) return available;
    const capped = withinPriceCap(available.options, { ...pool, key });
    if (!capped.ok) return capped;
    const remaining = this.#ledger.remaining(pool);
    return withinLimits(capped.options, types, {
      key,
      remaining,
      ...this.#later(plan, index, { key, types, limited: Object.keys(remaining) }),
    });
  }

  /** The needs of the pool's later bins. All bins of a plan are added up at once, from its end. */
  #later(
    plan: Plan,
    index: number,
    { key, types, limited }: PoolLimits,
  ): Pick<LimitRoom, 'reservedForLater' | 'laterBins'> {
    const ofPools = this.#needs.get(plan) ?? new Map<string, readonly Need[]>();
    this.#needs.set(plan, ofPools);
    // Which resources are limited does not change within a round.
    const needs = ofPools.get(key) ?? needsAfterEach(plan, { key, types, limited });
    ofPools.set(key, needs);
    return at(needs, index);
  }

  #availableNow(options: readonly BinOption[], types: TypesByName): OptionsLeft {
    const known = this.#available.get(options);
    if (known?.types === types) return known.left;
    const left = availableNow(options, types);
    this.#available.set(options, { types, left });
    return left;
  }
}

type PoolLimits = {
  readonly key: string;
  readonly types: TypesByName;
  /** Names of the limited resources. */
  readonly limited: readonly string[];
};
type Need = Pick<LimitRoom, 'reservedForLater' | 'laterBins'>;

/** The need of the bins after each one, in the order of the bins. */
function needsAfterEach({ newNodes }: Plan, { key, types, limited }: PoolLimits): readonly Need[] {
  let after: Need = { reservedForLater: {}, laterBins: 0 };
  const needs = newNodes.toReversed().map((bin) => {
    const own = after;
    if (poolKey(bin.pool) === key)
      after = {
        reservedForLater: addResources(
          after.reservedForLater,
          cheapestUse(bin.options, types, limited),
        ),
        laterBins: after.laterBins + 1,
      };
    return own;
  });
  return needs.reverse();
}

/**
 * The share of the limits that a bin takes with its cheapest option; options are cheapest first.
 */
function cheapestUse(
  options: readonly BinOption[],
  types: TypesByName,
  limited: readonly string[],
): Resources {
  const type = options[0] === undefined ? undefined : types.get(options[0].instanceType);
  return type === undefined
    ? {}
    : Object.fromEntries(limited.map((name) => [name, amountOf(type, name)]));
}
