import { decodeStateRecord, encodeStateRecord, type StateValue } from '@dovetail/contracts';
import { ec2NodeClassOf, nodeClaimOf, nodePoolOf } from '@dovetail/core-api';
import { nodeOf, podOf } from '@dovetail/core-kube-model';
import { Mirror, snapshotOf } from '@dovetail/service-solver';
import { m5Types } from '@dovetail/sim-stage';

import { claimManifest, type ClusterSize, nodeManifest, podManifest } from './manifests.js';
import type { Measure } from './measure.js';
import { classManifest, poolManifest, valueOf } from './world.js';

/** The mirror of a solver, fed by records as the bus carries them, and the snapshot of a plan. */
export function measureSolver(size: ClusterSize, measure: Measure): void {
  const mirror = new Mirror();
  const hear = listener(mirror);
  const pods = size.nodes * size.podsPerNode;
  for (let index = 0; index < pods; index += 1) {
    const raw = podManifest(index, Math.floor(index / size.podsPerNode));
    hear({ kind: 'pod', value: valueOf(podOf(raw)) });
  }
  measure.grew('pods', pods);
  for (let index = 0; index < size.nodes; index += 1)
    hear({ kind: 'node', value: valueOf(nodeOf(nodeManifest(index))) });
  measure.grew('nodes', size.nodes);
  for (let index = 0; index < size.nodes; index += 1)
    hear({ kind: 'claim', value: valueOf(nodeClaimOf(claimManifest(index, size))) });
  measure.grew('claims', size.nodes);
  hear({ kind: 'pool', value: { ...valueOf(nodePoolOf(poolManifest())), ready: true } });
  hear({ kind: 'nodeclass', value: valueOf(ec2NodeClassOf(classManifest())) });
  const part = { classUid: 'class-1', revision: 'r1', part: 0, parts: 1, instanceTypes: m5Types };
  mirror.catalog.apply({ kind: 'class', part, sequence: 1 });
  const none = new Set<string>();
  measure.pass('snapshot of a plan', 5, () =>
    snapshotOf(mirror, { without: none, moving: none, nowMs: 0 }),
  );
}

/** Applies states as records that were encoded and decoded. */
function listener(mirror: Mirror): (state: StateValue) => void {
  let sequence = 0;
  return (state) => {
    const { uid } = state.value as { readonly uid: string };
    const bytes = encodeStateRecord({ kind: 'set', uid, state, generation: '1.1' });
    const read = decodeStateRecord(bytes);
    if (!read.ok) throw new Error(`a record cannot be read: ${read.field}`);
    mirror.applyState({ kind: 'record', record: read.value, sequence: (sequence += 1), timeMs: 0 });
  };
}
