import { describe, expect, test } from 'vitest';

import { drained, type PoolOptions } from './snapshot.js';
import { podsOf, poolOf } from './testing/objects.js';
import { planScenario } from './testing/scenario.js';
import { running, spread, web, zoneKey } from './testing/topology.js';
import { familyTypes } from './testing/worlds.js';

describe('a spread over zones in a what-if', () => {
  // Two pods run in zone-a, on a node with room for more.
  test.each<[string, Partial<PoolOptions>, 'Ignore' | 'Honor' | 'gone', number]>([
    ['zones where all is too dear for this plan count', { priceBelowMicrosPerHour: 0 }, 'gone', 2],
    ['zones where the pool cannot buy do not', { instanceTypes: [] }, 'gone', 0],
    ['the zone of a node that is drained counts', { instanceTypes: [] }, 'Ignore', 2],
    ['unless the spread honours its taint', { instanceTypes: [] }, 'Honor', 0],
  ])('%s', (_, pool, other, left) => {
    const nodes = [
      { ...running('zone-a', 2), cordoned: false },
      ...(other === 'gone' ? [] : [drained(running('zone-b', 2))]),
    ];
    const pools = [{ pool: poolOf('default'), instanceTypes: familyTypes(), ...pool }];
    const rule = spread(zoneKey, { nodeTaintsPolicy: other === 'Honor' ? 'Honor' : 'Ignore' });
    const made = planScenario({
      snapshot: { nodes, pools },
      pods: podsOf('w', 2, web({ topologySpread: [rule] })),
    });
    expect(made.unplaced).toHaveLength(left);
  });
});
