import { float64At } from '@dovetail/core-invariant';

import type { Offer } from '../model/templates.js';
import { resourcePrices } from '../pack/prices.js';
import type { Bound } from '../plan.js';
import type { Engine } from '../rooms/engine.js';

/**
 * Offers that price the bound: every one that any node could be launched as, reserved ones
 * included.
 */
function allOffers(engine: Engine): readonly Offer[] {
  const { states, templates } = engine.world;
  return templates.flatMap((template) => states.root(template).frontier);
}

/**
 * A price that no plan for the same pods can beat: what their requests cost at the best resource
 * prices, when everything that existing nodes had free is taken for nothing and fractions of nodes
 * can be bought.
 */
export function resourceBound(engine: Engine): Bound {
  const size = engine.world.dimensions.names.length;
  const demand = new Float64Array(size);
  for (const bin of [...engine.fresh, ...engine.existing])
    for (let r = 0; r < size; r += 1) demand[r] = float64At(demand, r) + float64At(bin.used, r);
  for (const { room } of engine.existing)
    for (let r = 0; r < size; r += 1)
      demand[r] = float64At(demand, r) - Math.max(0, room?.free[r] ?? 0);
  for (let r = 0; r < size; r += 1) demand[r] = Math.max(0, float64At(demand, r));
  const offers = allOffers(engine).map(({ type, offering }) => ({
    room: type.room,
    price: offering.priceMicrosPerHour,
  }));
  const total = Math.floor(resourcePrices(offers, demand).total);
  return total > 0
    ? { kind: 'aggregate-lp', priceMicrosPerHour: total }
    : { kind: 'none', priceMicrosPerHour: 0 };
}
