import type { Pod } from '@dovetail/core-kube-model';

import { addTo } from '../model/dimensions.js';
import { resourcePrices } from '../pack/prices.js';
import type { PlanOptions, Snapshot } from '../snapshot.js';
import { worldOf } from '../world/world.js';

/**
 * The price of one unit of each resource, in micro-dollars an hour: the highest prices at which no
 * new node costs less than its room is worth, for as much of each as the pods request. Resources
 * that are never short are left out. Empty if nothing can be bought.
 */
export function unitPricesOf(
  snapshot: Snapshot,
  pods: readonly Pod[],
  options: PlanOptions,
): ReadonlyMap<string, number> {
  const { classes, templates, states, dimensions } = worldOf(
    { ...snapshot, nodes: [] },
    pods,
    options,
  );
  const demand = new Float64Array(dimensions.names.length);
  for (const { requests, uids } of classes) addTo(demand, requests, uids.length);
  const offers = templates
    .flatMap((template) => states.root(template).frontier)
    .map(({ type, offering }) => ({ room: type.room, price: offering.priceMicrosPerHour }));
  const { perUnit } = resourcePrices(offers, demand);
  return new Map(
    dimensions.names.flatMap((name, r) => {
      const price = perUnit[r] ?? 0;
      return price > 0 ? [[name, price] as const] : [];
    }),
  );
}
