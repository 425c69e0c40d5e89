import type { KubeletConfiguration } from '@dovetail/core-api';
import { addResources, type Resources, subtractResources } from '@dovetail/core-kube-model';

import { familyTraits } from './ami-family.js';
import { type CapacityClass, evictionThresholds, kubeReservedMemory } from './capacity.js';
import type { InstanceType } from './instance-type.js';
import { kubeletProblems, reservationOf } from './kubelet.js';

const keyed = [
  'systemReserved',
  'kubeReserved',
  'evictionHard',
  'evictionSoft',
  'evictionSoftGracePeriod',
] as const;

/**
 * Merges a pool's kubelet settings into its class'. Each setting of the pool wins, and so does each
 * key of a map.
 */
export function mergedKubelet(
  ofClass: KubeletConfiguration,
  ofPool: KubeletConfiguration | undefined,
): KubeletConfiguration {
  if (ofPool === undefined) return ofClass;
  const maps = keyed.flatMap((name) =>
    ofClass[name] === undefined && ofPool[name] === undefined
      ? []
      : [[name, { ...ofClass[name], ...ofPool[name] }] as const],
  );
  return { ...ofClass, ...ofPool, ...Object.fromEntries(maps) };
}

/**
 * A class' types as a pool with kubelet settings of its own boots them (a Provisioner's
 * kubeletConfiguration). They equal the types of a class with the merged settings, except that the
 * pool's podsPerCore can only lower the class' pods. Types too small for the reservations are left
 * out. Settings that `kubeletProblems` reports leave no type.
 */
export function typesWithPoolKubelet(
  types: readonly InstanceType[],
  nodeClass: CapacityClass,
  ofPool: KubeletConfiguration | undefined,
): readonly InstanceType[] {
  if (ofPool === undefined) return types;
  if (kubeletProblems(ofPool).length > 0) return [];
  return types
    .map((type) => withKubelet(type, nodeClass, ofPool))
    .filter(({ allocatable }) => Object.values(allocatable).every((amount) => amount >= 0));
}

function withKubelet(
  type: InstanceType,
  nodeClass: CapacityClass,
  ofPool: KubeletConfiguration,
): InstanceType {
  const before = nodeClass.kubelet;
  const after = mergedKubelet(before, ofPool);
  const capacity = {
    ...type.capacity,
    pods: podsOf(type.capacity, nodeClass, after, ofPool.maxPods),
  };
  const keptForNodes = (kubelet: KubeletConfiguration): Resources =>
    addResources(reservationOf(kubelet.systemReserved), evictionThresholds(capacity, kubelet));
  const kubeBefore = subtractResources(
    subtractResources(type.capacity, type.allocatable),
    keptForNodes(before),
  );
  // Where the reservation follows the node's own pods, fewer pods reserve less.
  const followsPods = !familyTraits(nodeClass.amiFamily).interfacesLimitReserve
    ? { memory: kubeReservedMemory(capacity.pods) }
    : {};
  const kept = addResources(
    { ...kubeBefore, ...followsPods, ...reservationOf(after.kubeReserved) },
    keptForNodes(after),
  );
  const ofNode = Object.fromEntries(Object.entries(kept).filter(([name]) => name in capacity));
  return { ...type, capacity, allocatable: subtractResources(capacity, ofNode) };
}

function podsOf(
  capacity: Resources,
  { amiFamily }: CapacityClass,
  kubelet: KubeletConfiguration,
  maxPods: number | undefined,
): number {
  const count = maxPods ?? capacity['pods'] ?? 0;
  const perCore = kubelet.podsPerCore ?? 0;
  return perCore > 0 && familyTraits(amiFamily).podsPerCore
    ? Math.min(count, perCore * ((capacity['cpu'] ?? 0) / 1000))
    : count;
}
