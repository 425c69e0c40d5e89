import { smallWorkloads } from '@dovetail/core-scheduling/testing';

import { type BenchWorld, snapshotOf } from './objects.js';
import { realTypes } from './real-types.js';

/** A few deployments with zone spread and anti-affinity beside daemonsets, on real types. */
export function smallWorld(seed: number): BenchWorld {
  const { pods, daemonSets } = smallWorkloads(seed);
  return {
    name: `small, seed ${seed}, ${pods.length} pods`,
    snapshot: snapshotOf(realTypes(Infinity), daemonSets),
    pods,
  };
}
