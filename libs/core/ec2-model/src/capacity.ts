import type {
  AmiFamily,
  BlockDeviceMapping,
  KubeletConfiguration,
  NodeClass,
} from '@dovetail/core-api';
import { addResources, type Resources, subtractResources } from '@dovetail/core-kube-model';

import { defaultEphemeralBytes, familyTraits } from './ami-family.js';
import type { InstanceTypeFacts } from './facts.js';
import { reservationOf, thresholdBytes } from './kubelet.js';

/** Installation-wide settings that change what a node holds. */
export type CapacitySettings = {
  /**
   * The share of memory that hypervisor and firmware keep. No API states it
   * (VM_MEMORY_OVERHEAD_PERCENT).
   */
  readonly vmMemoryOverheadPercent: number;
  /** Network interfaces that pods do not use, for custom networking (RESERVED_ENIS). */
  readonly reservedEnis: number;
};

/** Karpenter's defaults of VM_MEMORY_OVERHEAD_PERCENT and RESERVED_ENIS. */
export const defaultCapacitySettings: CapacitySettings = {
  vmMemoryOverheadPercent: 0.075,
  reservedEnis: 0,
};

/** The part of a node class that capacity depends on. */
export type CapacityClass = Pick<NodeClass, 'amiFamily' | 'kubelet' | 'blockDeviceMappings'> & {
  readonly instanceStorePolicy?: 'RAID0';
};

const mebibyte = 1024 ** 2;
const gigabyte = 1000 ** 3;
// Graviton keeps 64 MiB of contiguous memory that the kernel never offers (Karpenter's figure).
const arm64ReserveMib = 64;

/** The capacity of a node of this type and class. Resources of which it has none are left out. */
export function capacityOf(
  facts: InstanceTypeFacts,
  nodeClass: CapacityClass,
  settings: CapacitySettings = defaultCapacitySettings,
): Resources {
  const all: Resources = {
    cpu: facts.vcpus * 1000,
    memory: memoryBytes(facts, settings),
    'ephemeral-storage': ephemeralBytes(facts, nodeClass),
    pods: podsMax(facts, nodeClass.amiFamily, nodeClass.kubelet, settings),
    ...deviceResources(facts),
    ...(familyTraits(nodeClass.amiFamily).os === 'windows'
      ? { 'vpc.amazonaws.com/PrivateIPv4Address': facts.network.ipv4PerInterface - 1 }
      : {}),
  };
  return Object.fromEntries(Object.entries(all).filter(([, amount]) => amount > 0));
}

/**
 * Capacity less the reservations of kubelet and system and the eviction thresholds. It may be below
 * zero on tiny types with large reservations; then nothing fits.
 */
export function allocatableOf(
  facts: InstanceTypeFacts,
  nodeClass: CapacityClass,
  settings: CapacitySettings = defaultCapacitySettings,
): Resources {
  const capacity = capacityOf(facts, nodeClass, settings);
  const kept = addResources(
    addResources(
      kubeReserved(facts, nodeClass, settings),
      reservationOf(nodeClass.kubelet.systemReserved),
    ),
    evictionThresholds(capacity, nodeClass.kubelet),
  );
  const ofNode = Object.fromEntries(
    Object.entries(kept).filter(([name]) => Object.hasOwn(capacity, name)),
  );
  return subtractResources(capacity, ofNode);
}

function memoryBytes(facts: InstanceTypeFacts, settings: CapacitySettings): number {
  const usableMib = facts.memoryMib - (facts.arch === 'arm64' ? arm64ReserveMib : 0);
  const overheadMib = Math.ceil(
    (usableMib * mebibyte * settings.vmMemoryOverheadPercent) / mebibyte,
  );
  return (usableMib - overheadMib) * mebibyte;
}

/**
 * The pods whose addresses the default network card can hold: interfaces × (addresses − 1) + 2.
 * This is the VPC CNI's rule: an interface keeps its first address, and two pods use the host's
 * network.
 */
export function interfacePods(facts: InstanceTypeFacts, reservedEnis: number): number {
  const interfaces = Math.max(0, facts.network.interfacesMax - reservedEnis);
  return interfaces === 0 ? 0 : interfaces * (facts.network.ipv4PerInterface - 1) + 2;
}

/**
 * The most pods of a node: the kubelet's maxPods, or else the interfaces' limit (or 110), and at
 * most podsPerCore a core.
 */
export function podsMax(
  facts: InstanceTypeFacts,
  family: AmiFamily,
  kubelet: KubeletConfiguration,
  settings: CapacitySettings = defaultCapacitySettings,
): number {
  const traits = familyTraits(family);
  const count =
    kubelet.maxPods ??
    (traits.interfacesLimitPods ? interfacePods(facts, settings.reservedEnis) : 110);
  const perCore = kubelet.podsPerCore ?? 0;
  return perCore > 0 && traits.podsPerCore ? Math.min(count, perCore * facts.vcpus) : count;
}

function ephemeralBytes(facts: InstanceTypeFacts, nodeClass: CapacityClass): number {
  if (nodeClass.instanceStorePolicy === 'RAID0' && facts.localStorageGb !== undefined)
    return facts.localStorageGb * gigabyte;
  const mapped = mappedBytes(nodeClass.blockDeviceMappings, nodeClass.amiFamily);
  if (mapped !== undefined) return mapped;
  const traits = familyTraits(nodeClass.amiFamily);
  const standard = traits.blockDevices.find(
    (device) => device.deviceName === traits.ephemeralDevice,
  );
  return standard?.ebs?.volumeSizeBytes ?? defaultEphemeralBytes;
}

function mappedBytes(
  mappings: readonly BlockDeviceMapping[],
  family: AmiFamily,
): number | undefined {
  const root = mappings.find((mapping) => mapping.rootVolume)?.ebs?.volumeSizeBytes;
  if (root !== undefined || mappings.length === 0) return root;
  // The layout of a custom image is unknown. Karpenter takes its last device for the one that pods
  // write to.
  if (family === 'Custom') return mappings.at(-1)?.ebs?.volumeSizeBytes ?? defaultEphemeralBytes;
  const device = familyTraits(family).ephemeralDevice;
  return mappings.find((mapping) => mapping.deviceName === device)?.ebs?.volumeSizeBytes;
}

function deviceResources(facts: InstanceTypeFacts): Resources {
  const gpusBy = (manufacturer: string): number =>
    facts.gpus
      .filter((gpu) => gpu.manufacturer === manufacturer)
      .reduce((sum, gpu) => sum + gpu.count, 0);
  const neurons = facts.accelerators.filter((device) => device.coresPerDevice !== undefined);
  const [first] = neurons;
  return {
    'nvidia.com/gpu': gpusBy('NVIDIA'),
    'amd.com/gpu': gpusBy('AMD'),
    'habana.ai/gaudi': gpusBy('Habana'),
    'aws.amazon.com/neuron': neurons.reduce((sum, device) => sum + device.count, 0),
    'aws.amazon.com/neuroncore':
      first === undefined ? 0 : first.count * (first.coresPerDevice ?? 0),
    'vpc.amazonaws.com/pod-eni': facts.branchInterfaces ?? 0,
    'vpc.amazonaws.com/efa': facts.network.efaMax,
  };
}

// The CPU that the bootstrap.sh of EKS' images reserves. It is 6 % of the first core, 1 % of the
// second, 0.5 % of the next two and 0.25 % of the rest.
const cpuStretches: readonly {
  readonly from: number;
  readonly to: number;
  readonly perTenThousand: number;
}[] = [
  { from: 0, to: 1000, perTenThousand: 600 },
  { from: 1000, to: 2000, perTenThousand: 100 },
  { from: 2000, to: 4000, perTenThousand: 50 },
  { from: 4000, to: Number.MAX_SAFE_INTEGER, perTenThousand: 25 },
];

/**
 * The bytes that EKS' images reserve for kubelet and container runtime: 11 MiB a pod and 255 MiB
 * (bootstrap.sh).
 */
export const kubeReservedMemory = (pods: number): number => (11 * pods + 255) * mebibyte;

function kubeReserved(
  facts: InstanceTypeFacts,
  nodeClass: CapacityClass,
  settings: CapacitySettings,
): Resources {
  const millis = facts.vcpus * 1000;
  const cpu = cpuStretches.reduce(
    (sum, { from, to, perTenThousand }) =>
      sum + Math.floor((Math.max(0, Math.min(millis, to) - from) * perTenThousand) / 10_000),
    0,
  );
  // The bootstrap of Amazon Linux computes from the interfaces alone. Bottlerocket and Windows use
  // the node's own limit.
  const pods = familyTraits(nodeClass.amiFamily).interfacesLimitReserve
    ? interfacePods(facts, 0)
    : podsMax(facts, nodeClass.amiFamily, nodeClass.kubelet, settings);
  const standard: Resources = {
    cpu,
    memory: kubeReservedMemory(pods),
    'ephemeral-storage': 1024 ** 3,
  };
  return { ...standard, ...reservationOf(nodeClass.kubelet.kubeReserved) };
}

/**
 * The bytes that hard eviction thresholds keep. Soft ones do not count, because allocatable ignores
 * them.
 */
export function evictionThresholds(capacity: Resources, kubelet: KubeletConfiguration): Resources {
  const memory = kubelet.evictionHard?.['memory.available'] ?? '100Mi';
  const storage = kubelet.evictionHard?.['nodefs.available'] ?? '10%';
  return {
    memory: thresholdBytes(memory, capacity['memory'] ?? 0),
    'ephemeral-storage': thresholdBytes(storage, capacity['ephemeral-storage'] ?? 0),
  };
}
