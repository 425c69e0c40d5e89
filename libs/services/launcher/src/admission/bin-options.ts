import type { PlanMessage } from '@dovetail/contracts';
import { type Pool, poolKey } from '@dovetail/core-api';
import type { TypesByName } from '@dovetail/core-cluster';
import { at } from '@dovetail/core-invariant';
import { type Resources, sumResources } from '@dovetail/core-kube-model';
import type { BinOption } from '@dovetail/core-scheduling';

import type { Ledger } from './ledger.js';
import {
  amountOf,
  availableNow,
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
    const later = plan.newNodes.slice(index + 1).filter((other) => poolKey(other.pool) === key);
    const limited = Object.keys(remaining);
    return withinLimits(capped.options, types, {
      key,
      remaining,
      reservedForLater: sumResources(
        later.map((other) => cheapestUse(other.options, types, limited)),
      ),
      laterBins: later.length,
    });
  }

  #availableNow(options: readonly BinOption[], types: TypesByName): OptionsLeft {
    const known = this.#available.get(options);
    if (known?.types === types) return known.left;
    const left = availableNow(options, types);
    this.#available.set(options, { types, left });
    return left;
  }
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
