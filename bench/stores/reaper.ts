import { poolKey } from '@dovetail/core-api';
import { Cluster } from '@dovetail/core-cluster';
import { consolidatableChanges, decide, type NodeView } from '@dovetail/core-disruption';

import type { ClusterSize } from './manifests.js';
import type { Measure } from './measure.js';
import { fill } from './world.js';

/** The mirror of the reaper, and the pure part of its decision pass. */
export function measureReaper(size: ClusterSize, measure: Measure): void {
  const cluster = new Cluster();
  fill(cluster, size, measure);
  const nowMs = Date.UTC(2026, 0, 3);
  const views = measure.pass('views of all claims', 5, () => viewsOf(cluster));
  measure.pass('decision pass', 5, () =>
    decide(views, { nowMs, budgetsOf: () => [], podOf: (uid) => cluster.pods.get(uid) }),
  );
  measure.pass('comparison of Consolidatable', 5, () => consolidatableChanges(views, nowMs));
}

const viewsOf = (cluster: Cluster): readonly NodeView[] =>
  [...cluster.claims.values()].map((claim) => {
    const node = cluster.nodeOfClaim(claim);
    const pool = cluster.pools.one('key', poolKey(claim.pool));
    return {
      claim,
      pods: node === undefined ? [] : cluster.pods.by('node', node.name),
      ...(node === undefined ? {} : { node }),
      ...(pool === undefined ? {} : { pool }),
    };
  });
