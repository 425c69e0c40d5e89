import {
  type BlockDeviceMapping,
  isWithoutPool,
  labels,
  type NodeClass,
  type PoolIdentity,
  type ResolvedAmi,
  tags,
} from '@dovetail/core-api';
import type { Resources, ValueSet } from '@dovetail/core-kube-model';
import { compareText } from '@dovetail/core-kube-model';

import { blockDevicesOf, familyTraits } from './ami-family.js';
import { canonicalJson } from './canonical-json.js';
import type { LaunchTemplateSpec } from './cloud-values.js';
import type { CapacityType, InstanceType } from './instance-type.js';
import { instanceLabels } from './labels.js';
import type { Tenancy } from './tenancy.js';

/**
 * The types of one launch template. They boot one image, take the same pods and get the same
 * interfaces.
 */
export type LaunchGroup = {
  readonly ami: ResolvedAmi;
  /** The pods that the kubelet may run, so that node and plan agree. */
  readonly maxPods: number;
  /** EFA interfaces where pods ask for them. 0: one ordinary interface. */
  readonly efaInterfaces: number;
  /** Names, sorted. */
  readonly instanceTypes: readonly string[];
};

const efaResource = 'vpc.amazonaws.com/efa';

/** Groups types by launch template, in a fixed order. Types without an image are left out. */
export function launchGroups(
  nodeClass: Pick<NodeClass, 'status'>,
  types: readonly InstanceType[],
  requests: Resources,
): readonly LaunchGroup[] {
  const groups = new Map<
    string,
    { ami: ResolvedAmi; maxPods: number; efaInterfaces: number; instanceTypes: string[] }
  >();
  for (const type of [...types].sort((a, b) => compareText(a.name, b.name))) {
    const ami = amiOfType(nodeClass.status.amis, type);
    if (ami === undefined) continue;
    const maxPods = type.capacity['pods'] ?? 0;
    const efaInterfaces = (requests[efaResource] ?? 0) > 0 ? (type.capacity[efaResource] ?? 0) : 0;
    const key = `${ami.id} ${maxPods} ${efaInterfaces}`;
    const group = groups.get(key) ?? { ami, maxPods, efaInterfaces, instanceTypes: [] };
    group.instanceTypes.push(type.name);
    groups.set(key, group);
  }
  return [...groups.values()];
}

/** The image for a type, found by its labels. `amiFor` finds the same by its facts. */
export function amiOfType(
  amis: readonly ResolvedAmi[],
  type: InstanceType,
): ResolvedAmi | undefined {
  const has = (key: string): boolean => (type.requirements.get(key)?.values.size ?? 0) > 0;
  const variant = has(instanceLabels.gpuCount)
    ? 'nvidia'
    : has(instanceLabels.acceleratorCount)
      ? 'neuron'
      : 'standard';
  const arch: ValueSet | undefined = type.requirements.get(labels.arch);
  return amis.find((ami) => ami.variant === variant && arch?.values.has(ami.arch));
}

/**
 * Identifies a cluster by its name and the UID of its kube-system namespace, which tells clusters
 * of one name apart.
 */
export type ClusterIdentity = { readonly name: string; readonly uid: string };

/**
 * The tags of everything that is made for a node class. The class' own tags cannot replace them.
 */
export const classTags = (
  nodeClass: Pick<NodeClass, 'ref' | 'tags'>,
  cluster: ClusterIdentity,
): Readonly<Record<string, string>> => ({
  ...nodeClass.tags,
  [tags.cluster(cluster.name)]: 'owned',
  [tags.clusterName]: cluster.name,
  [tags.clusterUid]: cluster.uid,
  [tags.nodeClass]: nodeClass.ref.name,
});

/**
 * The tags of an instance, its volumes and its fleet. Tags that differ between claims follow later,
 * so that equal claims share a fleet.
 */
export const instanceTags = (
  nodeClass: Pick<NodeClass, 'ref' | 'tags'>,
  pool: PoolIdentity,
  cluster: ClusterIdentity,
): Readonly<Record<string, string>> => ({
  ...classTags(nodeClass, cluster),
  ...(isWithoutPool({ pool })
    ? {}
    : { [pool.kind === 'NodePool' ? tags.nodePool : tags.provisioner]: pool.name }),
});

/** The parts of a launch template. */
export type LaunchTemplateInput = {
  readonly nodeClass: NodeClass;
  readonly group: Pick<LaunchGroup, 'ami' | 'efaInterfaces'>;
  readonly userDataBase64: string;
  /** Absent: nodes run without an IAM role. */
  readonly instanceProfileName?: string;
  readonly cluster: ClusterIdentity;
  /** How the nodes are bought. EC2 checks the tags of a spot request as it does an instance's. */
  readonly capacityType: CapacityType;
  readonly tenancy: Tenancy;
};

/**
 * The prefix of the names of Dovetail's launch templates. Templates of others may have the same
 * tags.
 */
export const launchTemplatePrefix = 'dovetail/';

/**
 * The launch template of a group, named by the hash of its content. A name always stands for the
 * same content, so making a template twice, or after a crash, is harmless.
 */
export function launchTemplateFor(
  input: LaunchTemplateInput,
  hash: { sha256Hex(text: string): string },
): LaunchTemplateSpec {
  const { nodeClass, group } = input;
  const content: Omit<LaunchTemplateSpec, 'name'> = {
    imageId: group.ami.id,
    userDataBase64: input.userDataBase64,
    ...(input.instanceProfileName === undefined
      ? {}
      : { instanceProfileName: input.instanceProfileName }),
    securityGroupIds: nodeClass.status.securityGroups.map(({ id }) => id).sort(compareText),
    ...(nodeClass.associatePublicIpAddress === undefined
      ? {}
      : { associatePublicIpAddress: nodeClass.associatePublicIpAddress }),
    ...(group.efaInterfaces === 0 ? {} : { efaInterfaces: group.efaInterfaces }),
    blockDevices: blockDevicesOf(nodeClass).map((mapping) =>
      blockDeviceOf(mapping, familyTraits(nodeClass.amiFamily).blockDevices[0]?.deviceName),
    ),
    metadataOptions: metadataOf(nodeClass),
    detailedMonitoring: nodeClass.detailedMonitoring,
    tags: classTags(nodeClass, input.cluster),
    ...(input.capacityType === 'spot' ? { forSpot: true as const } : {}),
    ...(input.tenancy === 'dedicated' ? { tenancy: input.tenancy } : {}),
  };
  return {
    name: `${launchTemplatePrefix}${hash.sha256Hex(canonicalJson(content)).slice(0, 40)}`,
    ...content,
  };
}

const gibibyte = 1024 ** 3;

/**
 * A mapping without a device name is the family's root device. A custom image has none, and EC2
 * refuses the empty name.
 */
function blockDeviceOf(
  { deviceName, ebs }: BlockDeviceMapping,
  rootDevice = '',
): LaunchTemplateSpec['blockDevices'][number] {
  const fields: Readonly<Record<string, string | number | boolean | undefined>> = {
    DeleteOnTermination: ebs?.deleteOnTermination,
    Encrypted: ebs?.encrypted,
    Iops: ebs?.iops,
    KmsKeyId: ebs?.kmsKeyId,
    SnapshotId: ebs?.snapshotId,
    Throughput: ebs?.throughput,
    VolumeInitializationRate: ebs?.volumeInitializationRate,
    // EC2 counts whole GiB. Rounding up keeps at least the size that was asked for.
    VolumeSize:
      ebs?.volumeSizeBytes === undefined ? undefined : Math.ceil(ebs.volumeSizeBytes / gibibyte),
    VolumeType: ebs?.volumeType,
  };
  const known = Object.fromEntries(
    Object.entries(fields).flatMap(([key, value]) =>
      value === undefined ? [] : [[key, value] as const],
    ),
  );
  return { deviceName: deviceName ?? rootDevice, ...(ebs === undefined ? {} : { ebs: known }) };
}

const metadataOf = ({ metadataOptions }: NodeClass): Readonly<Record<string, string | number>> => ({
  HttpEndpoint: metadataOptions.httpEndpoint,
  HttpProtocolIpv6: metadataOptions.httpProtocolIpv6,
  HttpPutResponseHopLimit: metadataOptions.httpPutResponseHopLimit,
  HttpTokens: metadataOptions.httpTokens,
  // Tag values may hold data that pods should not read.
  InstanceMetadataTags: 'disabled',
});
