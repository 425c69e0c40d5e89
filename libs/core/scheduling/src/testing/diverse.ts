import type { InstanceType } from '@dovetail/core-ec2-model';
import type { Pod } from '@dovetail/core-kube-model';

import type { Snapshot } from '../snapshot.js';
import {
  gibibytes,
  mebibytes,
  offeringOf,
  podOf,
  poolOf,
  selecting,
  snapshotOf,
  typeOf,
} from './objects.js';
import { Random } from './random.js';

/**
 * The fake types of Karpenter's scheduling benchmark: type i has i+1 cores, 2(i+1) GiB and 10(i+1)
 * pods, priced by size.
 */
export function fakeTypes(count: number): readonly InstanceType[] {
  return Array.from({ length: count }, (_, index) => {
    const size = index + 1;
    const price = 1e6 * (0.1 * size + (0.1 * gibibytes(2 * size)) / 1e9);
    return typeOf({
      name: `fake-it-${index}`,
      cpuMillis: 1000 * size,
      memoryBytes: gibibytes(2 * size),
      pods: 10 * size,
      overhead: { cpu: 100, memory: mebibytes(10) },
      offerings: [
        offeringOf('test-zone-1', 'spot', price),
        offeringOf('test-zone-2', 'spot', price),
        offeringOf('test-zone-1', 'on-demand', price),
        offeringOf('test-zone-2', 'on-demand', price),
        offeringOf('test-zone-3', 'on-demand', price),
      ],
    });
  });
}

const letters = ['a', 'b', 'c', 'd', 'e', 'f', 'g'] as const;

function diversePod(random: Random, kind: number, uid: string): Pod {
  const requests = {
    cpu: random.pick([100, 250, 500, 1000, 1500]),
    memory: mebibytes(random.pick([100, 256, 512, 1024, 2048, 4096])),
    pods: 1,
  };
  const labels = { 'my-label': random.pick(letters) };
  const spread = (topologyKey: string): Partial<Pod> => ({
    requests,
    labels,
    topologySpread: [
      {
        maxSkew: 1,
        topologyKey,
        whenUnsatisfiable: 'DoNotSchedule',
        selector: selecting({ 'my-label': random.pick(letters) }),
        nodeAffinityPolicy: 'Honor',
        nodeTaintsPolicy: 'Ignore',
      },
    ],
  });
  switch (kind) {
    case 1:
      return podOf(uid, spread('topology.kubernetes.io/zone'));
    case 2:
      return podOf(uid, spread('kubernetes.io/hostname'));
    case 3: {
      const affinity = { 'my-affininity': random.pick(letters) };
      return podOf(uid, {
        requests,
        labels: affinity,
        requiredPodAffinity: [
          {
            topologyKey: 'topology.kubernetes.io/zone',
            selector: selecting(affinity),
            namespaces: [],
          },
        ],
      });
    }
    case 4:
      return podOf(uid, {
        requests,
        labels: { app: 'nginx' },
        requiredPodAntiAffinity: [
          {
            topologyKey: 'kubernetes.io/hostname',
            selector: selecting({ app: 'nginx' }),
            namespaces: [],
          },
        ],
      });
    default:
      return podOf(uid, { requests, labels });
  }
}

/**
 * The diverse mix of Karpenter's scheduling benchmark: five kinds of pods in equal parts, one pool,
 * no nodes yet.
 */
export function diverseWorld(
  count: number,
  seed = 42,
): { readonly snapshot: Snapshot; readonly pods: readonly Pod[] } {
  const random = new Random(seed);
  const pods = Array.from({ length: count }, (_, index) =>
    diversePod(random, Math.floor((index * 5) / count), `pod-${String(index).padStart(6, '0')}`),
  );
  const pool = poolOf('default', { limits: { cpu: 1e10, memory: gibibytes(1e7) } });
  return { snapshot: snapshotOf({ pools: [{ pool, instanceTypes: fakeTypes(400) }] }), pods };
}
