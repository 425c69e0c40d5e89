import type { Resources } from '@dovetail/core-kube-model';
import type { ExistingNode } from '@dovetail/core-scheduling';

import { generatedWorld } from './generated.js';
import { type BenchWorld, gibibyte, hostKey, zoneKey, zones } from './objects.js';

/** A ready, empty node of the pool `default`. */
function emptyNode(index: number, capacity: Resources): ExistingNode {
  const name = `node-${index}`;
  return {
    name,
    uid: name,
    poolKey: 'NodePool/default',
    state: 'ready',
    requirements: new Map(),
    taints: [],
    cordoned: false,
    capacity,
    allocatable: capacity,
    labels: {
      [hostKey]: name,
      [zoneKey]: zones[index % zones.length] ?? zones[0],
      'kubernetes.io/arch': 'amd64',
      'kubernetes.io/os': 'linux',
      'karpenter.sh/nodepool': 'default',
    },
    pods: [],
    promisedPods: [],
    reserved: {},
  };
}

/** Many pods in few classes. Existing nodes have room for nine in ten of them. */
export function crowdedWorld(what: {
  readonly pods: number;
  readonly nodes: number;
  readonly seed: number;
}): BenchWorld {
  const base = generatedWorld({ pods: what.pods, seed: what.seed, vcpusMax: 32, rules: 'plain' });
  const total = (name: string): number =>
    base.pods.reduce((sum, pod) => sum + (pod.requests[name] ?? 0), 0);
  const each = (name: string): number => Math.ceil((0.9 * total(name)) / what.nodes);
  const capacity = {
    cpu: Math.max(16_000, each('cpu')),
    memory: Math.max(64 * gibibyte, each('memory')),
    pods: 250,
    'ephemeral-storage': 20 * gibibyte,
  };
  const nodes = Array.from({ length: what.nodes }, (_, index) => emptyNode(index, capacity));
  return {
    ...base,
    name: `crowded ${what.pods} over ${what.nodes}`,
    snapshot: { ...base.snapshot, nodes },
  };
}
