import { requirementsOf } from '@dovetail/core-kube-model';
import { gibibytes } from '@dovetail/core-kube-model/testing';

import type { InstanceType, Offering } from '../instance-type.js';

/** An offering that can be bought, at a price in micro-dollars an hour, and changes to it. */
export const offeringValue = (
  zone: string,
  capacityType: Offering['capacityType'],
  priceMicrosPerHour: number,
  over: Partial<Offering> = {},
): Offering => ({
  zone,
  capacityType,
  priceMicrosPerHour: Math.round(priceMicrosPerHour),
  available: true,
  priceEstimated: false,
  ...over,
});

/** Size, labels and offerings of a type that a test makes up. */
export type TypeSpec = {
  readonly name: string;
  readonly cpuMillis: number;
  readonly memoryBytes: number;
  readonly pods?: number;
  readonly arch?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly resources?: Readonly<Record<string, number>>;
  readonly overhead?: { readonly cpu: number; readonly memory: number };
  readonly offerings: readonly Offering[];
};

const requirementIn = (key: string, values: readonly string[]) => ({
  key,
  operator: 'In' as const,
  values,
});

/** A Linux type with the labels that its size and offerings imply. */
export function instanceTypeValue(spec: TypeSpec): InstanceType {
  const overhead = spec.overhead ?? { cpu: 0, memory: 0 };
  const capacity = {
    cpu: spec.cpuMillis,
    memory: spec.memoryBytes,
    pods: spec.pods ?? 110,
    'ephemeral-storage': gibibytes(20),
    ...spec.resources,
  };
  const values = (of: (offering: Offering) => string): readonly string[] => [
    ...new Set(spec.offerings.map(of)),
  ];
  return {
    name: spec.name,
    requirements: requirementsOf([
      requirementIn('node.kubernetes.io/instance-type', [spec.name]),
      requirementIn('kubernetes.io/arch', [spec.arch ?? 'amd64']),
      requirementIn('kubernetes.io/os', ['linux']),
      requirementIn(
        'topology.kubernetes.io/zone',
        values((one) => one.zone),
      ),
      requirementIn(
        'karpenter.sh/capacity-type',
        values((one) => one.capacityType),
      ),
      ...Object.entries(spec.labels ?? {}).map(([key, value]) => requirementIn(key, [value])),
    ]),
    offerings: spec.offerings,
    capacity,
    allocatable: {
      ...capacity,
      cpu: capacity.cpu - overhead.cpu,
      memory: capacity.memory - overhead.memory,
    },
  };
}

/** A type without labels, on demand in zone `a`, of which a tenth of a CPU is not for pods. */
export const plainTypeValue = (
  name: string,
  cpuMillis: number,
  offering: Partial<Offering> = {},
): InstanceType => ({
  name,
  requirements: new Map(),
  capacity: { cpu: cpuMillis, pods: 58 },
  allocatable: { cpu: cpuMillis - 100, pods: 58 },
  offerings: [offeringValue('a', 'on-demand', cpuMillis, offering)],
});

/** These types by their names. */
export const typesByName = (...types: readonly InstanceType[]): ReadonlyMap<string, InstanceType> =>
  new Map(types.map((type) => [type.name, type]));
