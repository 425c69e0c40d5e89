import { type PoolIdentity, poolKey } from '@dovetail/core-api';
import type { VainPools } from '@dovetail/core-cluster';
import type { Reason } from '@dovetail/core-scheduling';

import type { AdmissionMemory } from './ledger.js';
import { poolHeld } from './rules.js';

/**
 * Why a pool of which nodes of several types never became usable gets no node now; undefined if it
 * may. After a hold it is tried with one node at a time.
 */
export function poolHeldNow(
  pool: PoolIdentity,
  {
    vainPools,
    memory,
    nowMs,
  }: {
    readonly vainPools: Pick<VainPools, 'holdOf' | 'isFailing'>;
    readonly memory: Pick<AdmissionMemory, 'launchesLastMinute'>;
    readonly nowMs: number;
  },
): Reason | undefined {
  const hold = vainPools.holdOf(pool);
  if (hold !== undefined) return poolHeld(hold);
  const isTried = vainPools.isFailing(pool) && memory.launchesLastMinute(poolKey(pool), nowMs) > 0;
  return isTried ? poolHeld({ pool, types: [] }) : undefined;
}
