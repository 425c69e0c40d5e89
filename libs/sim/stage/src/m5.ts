import type { NodeClaim } from '@dovetail/core-api';
import { claimValue } from '@dovetail/core-api/testing';
import type { InstanceType } from '@dovetail/core-ec2-model';
import { instanceTypeValue, offeringValue } from '@dovetail/core-ec2-model/testing';
import type { Node } from '@dovetail/core-kube-model';
import { gibibytes, nodeValue } from '@dovetail/core-kube-model/testing';

const zones = ['us-east-1a', 'us-east-1b'];

/**
 * An on-demand type with 4 GiB for each CPU, sold in both zones. Price in micro-dollars an hour.
 */
export const m5Type = (name: string, cpus: number, priceMicrosPerHour: number): InstanceType =>
  instanceTypeValue({
    name,
    cpuMillis: cpus * 1_000,
    memoryBytes: gibibytes(cpus * 4),
    pods: 58,
    offerings: zones.map((zone) => offeringValue(zone, 'on-demand', priceMicrosPerHour)),
  });

const m52xlarge = m5Type('m5.2xlarge', 8, 384_000);

/** Three sizes; each costs twice the one before. */
export const m5Types: readonly InstanceType[] = [
  m5Type('m5.large', 2, 96_000),
  m5Type('m5.xlarge', 4, 192_000),
  m52xlarge,
];

/** A ready m5.2xlarge of the pool `default`, in the first zone. */
export const m5Node = (name: string, over: Partial<Node> = {}): Node =>
  nodeValue(name, {
    labels: {
      'node.kubernetes.io/instance-type': m52xlarge.name,
      'kubernetes.io/arch': 'amd64',
      'kubernetes.io/os': 'linux',
      'topology.kubernetes.io/zone': 'us-east-1a',
      'karpenter.sh/capacity-type': 'on-demand',
      'karpenter.sh/nodepool': 'default',
      'kubernetes.io/hostname': name,
      'karpenter.sh/registered': 'true',
      'karpenter.sh/initialized': 'true',
    },
    providerId: `aws:///us-east-1a/i-${name}`,
    capacity: m52xlarge.capacity,
    allocatable: m52xlarge.allocatable,
    ...over,
  });

/** A claim of the pool `default` that has not launched yet and may become one of two types. */
export const m5Claim = (name: string, over: Partial<NodeClaim> = {}): NodeClaim =>
  claimValue(name, {
    requirements: [
      {
        key: 'node.kubernetes.io/instance-type',
        operator: 'In',
        values: ['m5.xlarge', 'm5.2xlarge'],
      },
      { key: 'topology.kubernetes.io/zone', operator: 'In', values: zones },
    ],
    ...over,
  });
