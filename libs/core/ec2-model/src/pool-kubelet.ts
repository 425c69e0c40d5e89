import type { KubeletConfiguration } from '@dovetail/core-api';
import { addResources, subtractResources, type Resources } from '@dovetail/core-kube-model';
import { familyTraits } from './ami-family.js';
import { evictionThresholds, kubeReservedMemory, type CapacityClass } from './capacity.js';
import type { InstanceType } from './instance-type.js';
import { kubeletProblems, reservationOf } from './kubelet.js';

const keyed = ['systemReserved', 'kubeReserved', 'evictionHard', 'evictionSoft', 'evictionSoftGracePeriod'] as const;

/** A class' kubelet settings with a pool's own on top: each setting, and each key of a map, of the pool wins. */
export function mergedKubelet(ofClass: KubeletConfiguration, ofPool: KubeletConfiguration | undefined): KubeletConfiguration {
  if (ofPool === undefined) return ofClass;
  const maps = keyed.flatMap((name) => (ofClass[name] === undefined && ofPool[name] === undefined ? [] : [[name, { ...ofClass[name], ...ofPool[name] }] as const]));
  return { ...ofClass, ...ofPool, ...Object.fromEntries(maps) };
}

/**
 * A class' types as a pool boots them whose own kubelet settings win (a Provisioner's kubeletConfiguration): the pods that a node takes
 * and what is kept from them. The same as the types of a class that says it all itself, except that podsPerCore of a pool can only lower
 * what its class leaves. Types too small for the reservations are left out; settings that `kubeletProblems` reports leave none.
 */
export function typesWithPoolKubelet(types: readonly InstanceType[], nodeClass: CapacityClass, ofPool: KubeletConfiguration | undefined): readonly InstanceType[] {
  if (ofPool === undefined) return types;
  if (kubeletProblems(ofPool).length > 0) return [];
  return types.map((type) => withKubelet(type, nodeClass, ofPool)).filter(({ allocatable }) => Object.values(allocatable).every((amount) => amount >= 0));
}

function withKubelet(type: InstanceType, nodeClass: CapacityClass, ofPool: KubeletConfiguration): InstanceType {
  const before = nodeClass.kubelet;
  const after = mergedKubelet(before, ofPool);
  const capacity = { ...type.capacity, pods: podsOf(type.capacity, nodeClass, after, ofPool.maxPods) };
  const keptForNodes = (kubelet: KubeletConfiguration): Resources => addResources(reservationOf(kubelet.systemReserved), evictionThresholds(capacity, kubelet));
  const kubeBefore = subtractResources(subtractResources(type.capacity, type.allocatable), keptForNodes(before));
  // Where the reserve follows the node's own pods, fewer of them keep less.
  const followsPods = !familyTraits(nodeClass.amiFamily).interfacesLimitReserve ? { memory: kubeReservedMemory(capacity.pods) } : {};
  const kept = addResources({ ...kubeBefore, ...followsPods, ...reservationOf(after.kubeReserved) }, keptForNodes(after));
  const ofNode = Object.fromEntries(Object.entries(kept).filter(([name]) => name in capacity));
  return { ...type, capacity, allocatable: subtractResources(capacity, ofNode) };
}

function podsOf(capacity: Resources, { amiFamily }: CapacityClass, kubelet: KubeletConfiguration, maxPods: number | undefined): number {
  const count = maxPods ?? capacity['pods'] ?? 0;
  const perCore = kubelet.podsPerCore ?? 0;
  return perCore > 0 && familyTraits(amiFamily).podsPerCore ? Math.min(count, perCore * ((capacity['cpu'] ?? 0) / 1000)) : count;
}
