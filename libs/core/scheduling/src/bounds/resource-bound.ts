import { float64At } from '@dovetail/core-invariant';

import { addTo } from '../model/dimensions.js';
import type { Offer } from '../model/templates.js';
import { resourcePrices } from '../pack/prices.js';
import type { Bound } from '../plan.js';
import { requestsIn } from '../rooms/bin.js';
import type { Engine } from '../rooms/engine.js';

/** Returns every offer that some node could be launched as, reserved ones included. */
function allOffers(engine: Engine): readonly Offer[] {
  const { states, templates } = engine.world;
  return templates.flatMap((template) => states.root(template).frontier);
}

/**
 * Returns a price that no plan for the same pods can beat. It prices their requests at the best
 * resource prices, for fractions of nodes. The free room of existing nodes costs nothing. It takes
 * pods by their requests alone, so assumed amounts count only if there are no such nodes.
 */
export function resourceBound(engine: Engine): Bound {
  const size = engine.world.dimensions.names.length;
  const demand = new Float64Array(size);
  for (const bin of [...engine.fresh, ...engine.existing])
    addTo(demand, engine.existing.length === 0 ? bin.used : requestsIn(bin), 1);
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
