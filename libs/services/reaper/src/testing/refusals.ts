import { publishVerdict, type Verdict } from '@dovetail/contracts';

import { cluster } from './current-cluster.js';

/** The launcher publishes that it refuses these pods of a plan: their pool has no room left. */
export async function refusePlan(planId: string, podUids: readonly string[]): Promise<void> {
  const reasons = [{ code: 'pool-limit', message: 'the pool has reached its limit', values: {} }];
  for (const podUid of podUids)
    await publishVerdict(
      cluster.channelOf('launcher'),
      {
        ...({ podUid, outcome: 'refused', planId, binId: 'bin-0' } as const),
        admission: { epoch: 1, number: 1 },
        reasons: reasons as unknown as Verdict['reasons'],
        atMs: cluster.clock.nowMs(),
      },
      { generation: '1.1' },
    );
}
