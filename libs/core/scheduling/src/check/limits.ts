import { poolKey } from '@dovetail/core-api';
import { lookUp } from '@dovetail/core-invariant';

import type { Violation } from '../plan.js';
import type { Snapshot } from '../snapshot.js';
import type { Host } from './hosts.js';

/**
 * Checks pool limits. Every new node counts as the largest of its options, so the limits hold
 * whatever is launched.
 */
export function limitViolations(hosts: readonly Host[], snapshot: Snapshot): readonly Violation[] {
  return snapshot.pools.flatMap(({ pool }) => {
    const key = poolKey(pool.identity);
    const bins = hosts.filter((host) => host.bin !== undefined && poolKey(host.bin.pool) === key);
    if (bins.length === 0) return [];
    const mine = snapshot.nodes.filter((node) => node.poolKey === key && node.state !== 'deleting');
    return Object.entries(pool.limits).flatMap(([name, limit]) => {
      const used =
        name === 'nodes'
          ? mine.length
          : mine.reduce((sum, node) => sum + (lookUp(node.capacity, name) ?? 0), 0);
      const added =
        name === 'nodes'
          ? bins.length
          : bins.reduce(
              (sum, host) =>
                sum +
                Math.max(
                  0,
                  ...host.blueprint.variants.map(
                    (variant) => lookUp(variant.option?.type.capacity, name) ?? 0,
                  ),
                ),
              0,
            );
      return used + added <= limit
        ? []
        : [
            {
              code: 'pool-limit' as const,
              where: key,
              message: `${used} + ${added} ${name} is over the limit of ${limit}`,
            },
          ];
    });
  });
}

/** Checks reservations: the nodes that name one must not exceed its remaining instances. */
export function reservationViolations(
  hosts: Iterable<Host>,
  snapshot: Pick<Snapshot, 'pools'>,
): readonly Violation[] {
  const taken = new Map<string, number>();
  for (const host of hosts)
    for (const id of host.blueprint.reservations) taken.set(id, (taken.get(id) ?? 0) + 1);
  if (taken.size === 0) return [];
  const room = new Map<string, number>();
  for (const { instanceTypes } of snapshot.pools) {
    for (const type of instanceTypes)
      for (const { reservation } of type.offerings)
        if (reservation !== undefined) room.set(reservation.id, reservation.remaining);
  }
  return [...taken]
    .filter(([id, count]) => count > (room.get(id) ?? 0))
    .map(([id, count]) => ({
      code: 'reserved-capacity' as const,
      where: id,
      message: `${count} nodes name reservation ${id}, which has room for ${room.get(id) ?? 0}`,
    }));
}
