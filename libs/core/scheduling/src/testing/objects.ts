import type { Pool } from '@dovetail/core-api';
import { poolValue } from '@dovetail/core-api/testing';
import type { DaemonSet, Pod } from '@dovetail/core-kube-model';
import { daemonSetValue, gibibytes, mebibytes, podValue } from '@dovetail/core-kube-model/testing';

import type { ExistingNode, Snapshot } from '../snapshot.js';

export {
  offeringValue as offeringOf,
  instanceTypeValue as typeOf,
} from '@dovetail/core-ec2-model/testing';
export { gibibytes, mebibytes, selecting } from '@dovetail/core-kube-model/testing';

/** A pod with one core's tenth and 128 MiB unless told otherwise. */
export const podOf = (uid: string, over: Partial<Pod> = {}): Pod =>
  podValue(uid, {
    ...over,
    requests: { cpu: 100, memory: mebibytes(128), pods: 1, ...over.requests },
  });

/** `count` equal pods named `<prefix>-<n>`. */
export const podsOf = (prefix: string, count: number, over: Partial<Pod> = {}): readonly Pod[] =>
  Array.from({ length: count }, (_, index) => podOf(`${prefix}-${index}`, over));

/** A pool whose nodes may be consolidated at once. */
export const poolOf = (name: string, over: Partial<Pool> = {}): Pool =>
  poolValue(name, {
    disruption: { policy: 'WhenEmptyOrUnderutilized', consolidateAfterMs: 0, budgets: [] },
    ...over,
  });

/** A ready node of four CPUs and 16 GiB, and changes to it. */
export function nodeOf(name: string, over: Partial<ExistingNode> = {}): ExistingNode {
  const capacity = {
    cpu: 4000,
    memory: gibibytes(16),
    pods: 110,
    'ephemeral-storage': gibibytes(20),
  };
  return {
    name,
    uid: `node-${name}`,
    state: 'ready',
    requirements: new Map(),
    taints: [],
    cordoned: false,
    capacity,
    allocatable: capacity,
    pods: [],
    promisedPods: [],
    reserved: {},
    ...over,
    labels: {
      'kubernetes.io/hostname': name,
      'kubernetes.io/arch': 'amd64',
      'kubernetes.io/os': 'linux',
      ...over.labels,
    },
  };
}

/** A daemonset whose pods are `podOf` with changes. */
export const daemonSetOf = (name: string, over: Partial<Pod> = {}): DaemonSet =>
  daemonSetValue(name, podOf(`ds-${name}`, over));

/** An empty cluster that may launch nothing, and changes to it. */
export function snapshotOf(over: Partial<Snapshot> = {}): Snapshot {
  return {
    stateSequence: 1,
    catalogRevision: 'r1',
    admissionHead: '',
    pools: [],
    nodes: [],
    daemonSets: [],
    namespaces: [],
    persistentVolumes: [],
    persistentVolumeClaims: [],
    storageClasses: [],
    csiNodes: [],
    ...over,
  };
}
