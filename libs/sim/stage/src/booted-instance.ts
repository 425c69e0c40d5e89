import type { AmiFamily } from '@dovetail/core-api';
import { allocatableOf, capacityOf, type InstanceTypeFacts } from '@dovetail/core-ec2-model';
import { formatResources, type Resources } from '@dovetail/core-kube-model';
import type { Machine } from '@dovetail/sim-cloud';
import type { BootedInstance } from '@dovetail/sim-kube';

/**
 * Real machines keep a little less for firmware than the 7.5 % that planning assumes, so nodes come
 * up slightly larger.
 */
const firmwareShare = 0.06;

/**
 * The registration that the kubelet of a machine would send; undefined when the machine does not
 * join.
 */
export function bootedInstance(
  machine: Machine,
  facts: InstanceTypeFacts | undefined,
): BootedInstance | undefined {
  if (!machine.boot.joins || facts === undefined) return undefined;
  const { config } = machine.boot;
  const family: AmiFamily = config.family;
  const nodeClass = {
    amiFamily: family,
    blockDeviceMappings: [],
    ...(config.raid0 ? { instanceStorePolicy: 'RAID0' as const } : {}),
    kubelet: {
      maxPods: machine.podsMax,
      kubeReserved: config.kubeReserved,
      systemReserved: config.systemReserved,
      evictionHard: config.evictionHard,
    },
  };
  const settings = { vmMemoryOverheadPercent: firmwareShare, reservedEnis: 0 };
  return {
    nodeName: machine.privateDnsName,
    providerId: machine.providerId,
    labels: {
      ...config.labels,
      'node.kubernetes.io/instance-type': machine.instanceType,
      'topology.kubernetes.io/zone': machine.zone,
      'topology.kubernetes.io/region': machine.region,
      'topology.k8s.aws/zone-id': machine.zoneId,
    },
    taints: config.taints,
    capacity: quantities(capacityOf(facts, nodeClass, settings)),
    allocatable: quantities(allocatableOf(facts, nodeClass, settings)),
    arch: machine.arch,
    kubeletVersion: `v${machine.kubernetesVersion ?? '1.34'}.0-eks-twin`,
    osImage: family === 'Bottlerocket' ? 'Bottlerocket OS' : 'Amazon Linux 2023',
    internalIp: machine.privateIp,
  };
}

const quantities = (resources: Resources): Readonly<Record<string, string>> =>
  formatResources(resources);
