import { labels, tags, type BlockDeviceMapping, type NodeClass, type PoolIdentity, type ResolvedAmi } from '@dovetail/core-api';
import type { Resources, ValueSet } from '@dovetail/core-kube-model';
import { blockDevicesOf, familyTraits } from './ami-family.js';
import { canonicalJson } from './canonical-json.js';
import type { LaunchTemplateSpec } from './cloud-values.js';
import type { InstanceType } from './instance-type.js';
import { instanceLabels } from './labels.js';
import { compareCodeUnits } from './order.js';

/** Types that one launch template serves: they boot the same image, count the same pods and get the same interfaces. */
export type LaunchGroup = {
  readonly ami: ResolvedAmi;
  /** Told to the kubelet, so that node and plan agree. */
  readonly maxPods: number;
  /** EFA interfaces, where the pods ask for them; 0: one ordinary interface. */
  readonly efaInterfaces: number;
  /** Sorted names. */
  readonly instanceTypes: readonly string[];
};

const efaResource = 'vpc.amazonaws.com/efa';

/** Groups types by launch template, in a fixed order; types without an image are left out (the class' catalog has none such). */
export function launchGroups(nodeClass: Pick<NodeClass, 'status'>, types: readonly InstanceType[], requests: Resources): readonly LaunchGroup[] {
  const groups = new Map<string, { ami: ResolvedAmi; maxPods: number; efaInterfaces: number; instanceTypes: string[] }>();
  for (const type of [...types].sort((a, b) => compareCodeUnits(a.name, b.name))) {
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

/** The image that a class boots a type with; by the type's labels, which say the same as its facts. */
export function amiOfType(amis: readonly ResolvedAmi[], type: InstanceType): ResolvedAmi | undefined {
  const has = (key: string): boolean => (type.requirements.get(key)?.values.size ?? 0) > 0;
  const variant = has(instanceLabels.gpuCount) ? 'nvidia' : has(instanceLabels.acceleratorCount) ? 'neuron' : 'standard';
  const arch: ValueSet | undefined = type.requirements.get(labels.arch);
  return amis.find((ami) => ami.variant === variant && arch?.values.has(ami.arch));
}

/** Which cluster something belongs to: its name, and the UID that no other cluster of that name has. */
export type ClusterIdentity = { readonly name: string; readonly uid: string };

/** Tags of everything that is made for a node class; a class' own tags cannot replace them. */
export const classTags = (nodeClass: Pick<NodeClass, 'ref' | 'tags'>, cluster: ClusterIdentity): Readonly<Record<string, string>> => ({
  ...nodeClass.tags,
  [tags.cluster(cluster.name)]: 'owned',
  [tags.clusterName]: cluster.name,
  [tags.clusterUid]: cluster.uid,
  [tags.nodeClass]: nodeClass.ref.name,
});

/** Tags of an instance, its volumes and its fleet. What differs between claims is tagged later, so that equal claims share a fleet. */
export const instanceTags = (nodeClass: Pick<NodeClass, 'ref' | 'tags'>, pool: PoolIdentity, cluster: ClusterIdentity): Readonly<Record<string, string>> => ({
  ...classTags(nodeClass, cluster),
  [pool.kind === 'NodePool' ? tags.nodePool : tags.provisioner]: pool.name,
});

export type LaunchTemplateInput = {
  readonly nodeClass: NodeClass;
  readonly group: Pick<LaunchGroup, 'ami' | 'efaInterfaces'>;
  readonly userDataBase64: string;
  /** Absent: nodes run without a role. */
  readonly instanceProfileName?: string;
  readonly cluster: ClusterIdentity;
};

/** What the names of Dovetail's launch templates begin with: others may carry the same tags. */
export const launchTemplatePrefix = 'dovetail/';

/**
 * The launch template of a group, named by the hash of its content: equal content is one template, and what a name
 * stands for never changes, so making it twice, or after a crash, is harmless.
 */
export function launchTemplateFor(input: LaunchTemplateInput, hash: { sha256Hex(text: string): string }): LaunchTemplateSpec {
  const { nodeClass, group } = input;
  const content: Omit<LaunchTemplateSpec, 'name'> = {
    imageId: group.ami.id,
    userDataBase64: input.userDataBase64,
    ...(input.instanceProfileName === undefined ? {} : { instanceProfileName: input.instanceProfileName }),
    securityGroupIds: nodeClass.status.securityGroups.map(({ id }) => id).sort(compareCodeUnits),
    ...(nodeClass.associatePublicIpAddress === undefined ? {} : { associatePublicIpAddress: nodeClass.associatePublicIpAddress }),
    ...(group.efaInterfaces === 0 ? {} : { efaInterfaces: group.efaInterfaces }),
    blockDevices: blockDevicesOf(nodeClass).map((mapping) => blockDeviceOf(mapping, familyTraits(nodeClass.amiFamily).blockDevices[0]?.deviceName)),
    metadataOptions: metadataOf(nodeClass),
    detailedMonitoring: nodeClass.detailedMonitoring,
    tags: classTags(nodeClass, input.cluster),
  };
  return { name: `${launchTemplatePrefix}${hash.sha256Hex(canonicalJson(content)).slice(0, 40)}`, ...content };
}

const gibibyte = 1024 ** 3;

/** A mapping without a device name is the family's root device; a custom image has no known one, and EC2 refuses the empty name. */
function blockDeviceOf({ deviceName, ebs }: BlockDeviceMapping, rootDevice = ''): LaunchTemplateSpec['blockDevices'][number] {
  const fields: Readonly<Record<string, string | number | boolean | undefined>> = {
    DeleteOnTermination: ebs?.deleteOnTermination,
    Encrypted: ebs?.encrypted,
    Iops: ebs?.iops,
    KmsKeyId: ebs?.kmsKeyId,
    SnapshotId: ebs?.snapshotId,
    Throughput: ebs?.throughput,
    VolumeInitializationRate: ebs?.volumeInitializationRate,
    // EC2 counts whole GiB; rounding up keeps what was asked for.
    VolumeSize: ebs?.volumeSizeBytes === undefined ? undefined : Math.ceil(ebs.volumeSizeBytes / gibibyte),
    VolumeType: ebs?.volumeType,
  };
  const known = Object.fromEntries(Object.entries(fields).flatMap(([key, value]) => (value === undefined ? [] : [[key, value] as const])));
  return { deviceName: deviceName ?? rootDevice, ...(ebs === undefined ? {} : { ebs: known }) };
}

const metadataOf = ({ metadataOptions }: NodeClass): Readonly<Record<string, string | number>> => ({
  HttpEndpoint: metadataOptions.httpEndpoint,
  HttpProtocolIpv6: metadataOptions.httpProtocolIpv6,
  HttpPutResponseHopLimit: metadataOptions.httpPutResponseHopLimit,
  HttpTokens: metadataOptions.httpTokens,
  // Tag values may hold what a pod should not read.
  InstanceMetadataTags: 'disabled',
});
