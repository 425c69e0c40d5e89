import type { InstanceType, Offering } from '@dovetail/core-ec2-model';
import { type Pod, requirementsOf, type RequirementSpec } from '@dovetail/core-kube-model';
import { Random } from '@dovetail/core-scheduling/testing';

import {
  type BenchWorld,
  gibibyte,
  hostKey,
  mebibyte,
  podOf,
  poolOf,
  selecting,
  snapshotOf,
  zoneKey,
} from './objects.js';

/** The fake type `fake-it-<index>` of Karpenter's scheduling benchmark. */
function fakeType(index: number): InstanceType {
  const name = `fake-it-${index}`;
  const size = index + 1;
  const priceMicrosPerHour = Math.round(1e6 * (0.1 * size + (0.1 * 2 * size * gibibyte) / 1e9));
  const offering = (zone: string, capacityType: Offering['capacityType']): Offering => ({
    zone,
    capacityType,
    priceMicrosPerHour,
    available: true,
    priceEstimated: false,
  });
  const capacity = {
    cpu: 1000 * size,
    memory: 2 * size * gibibyte,
    pods: 10 * size,
    'ephemeral-storage': 20 * gibibyte,
  };
  return {
    name,
    offerings: [
      offering('test-zone-1', 'spot'),
      offering('test-zone-2', 'spot'),
      offering('test-zone-1', 'on-demand'),
      offering('test-zone-2', 'on-demand'),
      offering('test-zone-3', 'on-demand'),
    ],
    capacity,
    allocatable: { ...capacity, cpu: capacity.cpu - 100, memory: capacity.memory - 10 * mebibyte },
    requirements: requirementsOf(fakeRequirements(name)),
  };
}

const fakeRequirements = (name: string): readonly RequirementSpec[] => [
  { key: 'node.kubernetes.io/instance-type', operator: 'In', values: [name] },
  { key: 'kubernetes.io/arch', operator: 'In', values: ['amd64'] },
  { key: 'kubernetes.io/os', operator: 'In', values: ['linux'] },
  { key: zoneKey, operator: 'In', values: ['test-zone-1', 'test-zone-2', 'test-zone-3'] },
  { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['spot', 'on-demand'] },
];

/** Type i has i+1 cores, 2(i+1) GiB and 10(i+1) pods, priced by size. */
const fakeTypes = (count: number): readonly InstanceType[] =>
  Array.from({ length: count }, (_, index) => fakeType(index));

const letters = ['a', 'b', 'c', 'd', 'e', 'f', 'g'] as const;

const onHosts = (labels: Readonly<Record<string, string>>): Pod['requiredPodAffinity'][number] => ({
  topologyKey: hostKey,
  selector: selecting(labels),
  namespaces: [],
});

/**
 * One pod of the mix. The draws come in a fixed order: requests, label, then what the kind needs.
 */
function diversePod(random: Random, kind: number, uid: string): Pod {
  const requests = {
    cpu: random.pick([100, 250, 500, 1000, 1500]),
    memory: random.pick([100, 256, 512, 1024, 2048, 4096]) * mebibyte,
    pods: 1,
  };
  const labels = { 'my-label': random.pick(letters) };
  const spread = (topologyKey: string): Pod =>
    podOf(uid, { requests, labels, topologySpread: [spreadOver(random, topologyKey)] });
  switch (kind) {
    case 1:
      return spread(zoneKey);
    case 2:
      return spread(hostKey);
    case 3: {
      const affinity = { 'my-affininity': random.pick(letters) };
      const inZone = { topologyKey: zoneKey, selector: selecting(affinity), namespaces: [] };
      return podOf(uid, { requests, labels: affinity, requiredPodAffinity: [inZone] });
    }
    case 4: {
      const nginx = { app: 'nginx' };
      return podOf(uid, { requests, labels: nginx, requiredPodAntiAffinity: [onHosts(nginx)] });
    }
    default:
      return podOf(uid, { requests, labels });
  }
}

const spreadOver = (random: Random, topologyKey: string): Pod['topologySpread'][number] => ({
  maxSkew: 1,
  topologyKey,
  whenUnsatisfiable: 'DoNotSchedule',
  selector: selecting({ 'my-label': random.pick(letters) }),
  nodeAffinityPolicy: 'Honor',
  nodeTaintsPolicy: 'Ignore',
});

/**
 * The diverse mix of Karpenter's scheduling benchmark: five kinds of pods in equal parts, one pool,
 * no nodes yet.
 */
export function diverseWorld(count: number, seed = 42): BenchWorld {
  const random = new Random(seed);
  const pods = Array.from({ length: count }, (_, index) =>
    diversePod(random, Math.floor((index * 5) / count), `pod-${String(index).padStart(6, '0')}`),
  );
  const pool = poolOf({ limits: { cpu: 1e10, memory: 1e7 * gibibyte } });
  return { name: `diverse ${count}`, snapshot: snapshotOf(fakeTypes(400), [], pool), pods };
}
