import type { AmiFamily } from '@dovetail/core-api';
import { labels } from '@dovetail/core-api';
import { absent, type ValueSet } from '@dovetail/core-kube-model';

import { familyTraits } from './ami-family.js';
import type { InstanceTypeFacts } from './facts.js';

const aws = (name: string): string => `karpenter.k8s.aws/${name}`;

/**
 * The labels under karpenter.k8s.aws/ that a node gets from its instance type, for selectors of
 * users.
 */
export const instanceLabels = {
  category: aws('instance-category'),
  family: aws('instance-family'),
  generation: aws('instance-generation'),
  size: aws('instance-size'),
  cpu: aws('instance-cpu'),
  cpuManufacturer: aws('instance-cpu-manufacturer'),
  cpuClockMhz: aws('instance-cpu-sustained-clock-speed-mhz'),
  memory: aws('instance-memory'),
  ebsBandwidth: aws('instance-ebs-bandwidth'),
  networkBandwidth: aws('instance-network-bandwidth'),
  localNvme: aws('instance-local-nvme'),
  hypervisor: aws('instance-hypervisor'),
  encryptionInTransit: aws('instance-encryption-in-transit-supported'),
  flex: aws('instance-capability-flex'),
  tenancy: aws('instance-tenancy'),
  gpuName: aws('instance-gpu-name'),
  gpuManufacturer: aws('instance-gpu-manufacturer'),
  gpuCount: aws('instance-gpu-count'),
  gpuMemory: aws('instance-gpu-memory'),
  acceleratorName: aws('instance-accelerator-name'),
  acceleratorManufacturer: aws('instance-accelerator-manufacturer'),
  acceleratorCount: aws('instance-accelerator-count'),
} as const;

/** Labels of reservations and placement groups. Dovetail launches no instance with them. */
const neverSet = [
  'capacity-reservation-id',
  'capacity-reservation-type',
  'capacity-reservation-interruptible',
  'placement-group-id',
  'placement-group-partition',
].map(aws);

/**
 * The labels that new nodes get from their type or launch. A pool may leave them open (Karpenter's
 * WellKnownLabels).
 */
export const wellKnownLabels: ReadonlySet<string> = new Set([
  ...Object.values(instanceLabels),
  ...neverSet,
  labels.instanceType,
  labels.arch,
  labels.os,
  labels.zone,
  labels.zoneId,
  labels.region,
  labels.capacityType,
  labels.windowsBuild,
]);

/** The parts of a type's name: category, an optional size of memory (`u-6tb1`), generation. */
const namePattern = /^([a-z]+)(?:-[0-9]+tb)?([0-9]+).*\./;

/** One value, or the label's absence. */
const only = (value: string | number | boolean | undefined): ValueSet =>
  value === undefined ? absent : { kind: 'in', values: new Set([String(value)]), present: true };

const lowerKebab = (text: string | undefined): string | undefined =>
  text?.toLowerCase().replaceAll(' ', '-');

/**
 * The labels that follow from a type's facts and the class' family, as value sets. Labels that the
 * type lacks demand absence. Zone, zone id, region and capacity type follow from offerings instead.
 */
export function factLabels(
  facts: InstanceTypeFacts,
  family: AmiFamily,
): ReadonlyMap<string, ValueSet> {
  const byFamily = remembered.get(facts) ?? new Map<AmiFamily, ReadonlyMap<string, ValueSet>>();
  remembered.set(facts, byFamily);
  const known = byFamily.get(family);
  if (known !== undefined) return known;
  const made = makeFactLabels(facts, family);
  byFamily.set(family, made);
  return made;
}

// Facts are immutable and live for hours, but each change of the catalog asks for the labels of
// every type.
const remembered = new WeakMap<InstanceTypeFacts, Map<AmiFamily, ReadonlyMap<string, ValueSet>>>();

function makeFactLabels(
  facts: InstanceTypeFacts,
  family: AmiFamily,
): ReadonlyMap<string, ValueSet> {
  const traits = familyTraits(family);
  const sets = new Map<string, ValueSet>([
    [labels.instanceType, only(facts.name)],
    [labels.arch, only(facts.arch)],
    [labels.os, only(traits.os)],
    [labels.windowsBuild, only(traits.windowsBuild)],
    ...nameLabels(facts.name),
    [instanceLabels.cpu, only(facts.vcpus)],
    [instanceLabels.cpuManufacturer, only(lowerKebab(facts.cpu.manufacturer))],
    // EC2 states no clock for the oldest types. Karpenter labels them 0, so that a Gt refuses them.
    [instanceLabels.cpuClockMhz, only(facts.cpu.sustainedClockMhz ?? 0)],
    [instanceLabels.memory, only(facts.memoryMib)],
    [
      instanceLabels.ebsBandwidth,
      only(facts.ebs.optimizedByDefault ? facts.ebs.maximumMbps : undefined),
    ],
    [instanceLabels.networkBandwidth, only(facts.network.baselineMbps)],
    [instanceLabels.localNvme, only(facts.localNvme ? facts.localStorageGb : undefined)],
    [instanceLabels.hypervisor, only(facts.hypervisor)],
    [instanceLabels.encryptionInTransit, only(facts.network.encryptionInTransit)],
    [instanceLabels.tenancy, only('default')],
    ...deviceLabels(facts),
  ]);
  for (const key of neverSet) sets.set(key, absent);
  return sets;
}

function nameLabels(name: string): readonly (readonly [string, ValueSet])[] {
  const match = namePattern.exec(name);
  const [family = '', size] = name.split('.');
  return [
    [instanceLabels.category, only(match?.[1])],
    [instanceLabels.generation, only(match?.[2])],
    [instanceLabels.family, only(size === undefined ? undefined : family)],
    [instanceLabels.size, only(size)],
    [instanceLabels.flex, only(family.includes('-flex'))],
  ];
}

/**
 * A type with several kinds of GPU (or accelerator) has no single name for them, and so none of the
 * labels.
 */
function deviceLabels(facts: InstanceTypeFacts): readonly (readonly [string, ValueSet])[] {
  const gpu = facts.gpus.length === 1 ? facts.gpus[0] : undefined;
  const accelerator = facts.accelerators.length === 1 ? facts.accelerators[0] : undefined;
  return [
    [instanceLabels.gpuName, only(lowerKebab(gpu?.name))],
    [instanceLabels.gpuManufacturer, only(lowerKebab(gpu?.manufacturer))],
    [instanceLabels.gpuCount, only(gpu?.count)],
    [instanceLabels.gpuMemory, only(gpu?.memoryMib)],
    [instanceLabels.acceleratorName, only(lowerKebab(accelerator?.name))],
    [instanceLabels.acceleratorManufacturer, only(lowerKebab(accelerator?.manufacturer))],
    [instanceLabels.acceleratorCount, only(accelerator?.count)],
  ];
}
