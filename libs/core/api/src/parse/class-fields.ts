import { lookUp } from '@dovetail/core-invariant';
import type { Raw } from '@dovetail/core-kube-model';
import {
  Malformed,
  optional,
  parseAmount,
  readEach,
  readFlag,
  readInteger,
  readOneOf,
  readRecord,
  readRequirementSpecs,
  readText,
  readTextMap,
  requirementsOf,
  withoutNulls,
} from '@dovetail/core-kube-model';

import { labels } from '../names.js';
import type {
  BlockDeviceMapping,
  MetadataOptions,
  NodeClassStatus,
  ResolvedAmi,
} from '../node-class.js';

const volumeTypes = ['standard', 'io1', 'io2', 'gp2', 'sc1', 'st1', 'gp3'] as const;

function readEbs(raw: unknown, field: string): NonNullable<BlockDeviceMapping['ebs']> {
  const ebs = readRecord(raw, field);
  const size = ebs['volumeSize'];
  const volumeSizeBytes = size === undefined || size === null ? undefined : parseAmount(size);
  if (
    size !== undefined &&
    size !== null &&
    (volumeSizeBytes === undefined || volumeSizeBytes <= 0)
  )
    throw new Malformed(`${field}.volumeSize`, size, 'write a size such as 100Gi');
  const snapshotId = readText(ebs['snapshotID'], `${field}.snapshotID`);
  if (volumeSizeBytes === undefined && snapshotId === undefined)
    throw new Malformed(field, raw, 'write volumeSize or snapshotID');
  const rate = readInteger(ebs['volumeInitializationRate'], `${field}.volumeInitializationRate`, {
    min: 100,
    max: 300,
  });
  if (rate !== undefined && snapshotId === undefined)
    throw new Malformed(
      `${field}.volumeInitializationRate`,
      rate,
      'needs snapshotID: write it, or remove the rate',
    );
  return {
    ...optional(
      'deleteOnTermination',
      readFlag(ebs['deleteOnTermination'], `${field}.deleteOnTermination`),
    ),
    ...optional('encrypted', readFlag(ebs['encrypted'], `${field}.encrypted`)),
    ...optional('iops', readInteger(ebs['iops'], `${field}.iops`, { min: 1 })),
    ...optional('kmsKeyId', readText(ebs['kmsKeyID'], `${field}.kmsKeyID`)),
    ...optional('snapshotId', snapshotId),
    ...optional('throughput', readInteger(ebs['throughput'], `${field}.throughput`, { min: 1 })),
    ...optional('volumeInitializationRate', rate),
    ...optional('volumeSizeBytes', volumeSizeBytes),
    ...(ebs['volumeType'] === undefined || ebs['volumeType'] === null
      ? {}
      : { volumeType: readOneOf(ebs['volumeType'], `${field}.volumeType`, volumeTypes) }),
  };
}

/**
 * Reads `blockDeviceMappings`: at most one root volume, and a size or a snapshot for each EBS
 * volume.
 */
export function readBlockDevices(raw: unknown, field: string): readonly BlockDeviceMapping[] {
  const mappings = readEach(raw, field, (item, path): BlockDeviceMapping => ({
    ...optional('deviceName', readText(item['deviceName'], `${path}.deviceName`)),
    rootVolume: readFlag(item['rootVolume'], `${path}.rootVolume`) ?? false,
    ...(item['ebs'] === undefined || item['ebs'] === null
      ? {}
      : { ebs: readEbs(item['ebs'], `${path}.ebs`) }),
  }));
  if (mappings.length > 50)
    throw new Malformed(field, `${mappings.length} entries`, 'write at most 50 mappings');
  if (mappings.filter((one) => one.rootVolume).length > 1)
    throw new Malformed(field, raw, 'only one mapping may be the rootVolume');
  return mappings;
}

/**
 * Reads `metadataOptions`. The default hop limit differs: 1 in karpenter.k8s.aws/v1, 2 in v1alpha1.
 */
export function readMetadataOptions(
  raw: unknown,
  field: string,
  hopLimitDefault: 1 | 2,
): MetadataOptions {
  const options = readRecord(raw, field);
  const onOff = ['enabled', 'disabled'] as const;
  return {
    httpEndpoint: readOneOf(options['httpEndpoint'], `${field}.httpEndpoint`, onOff, 'enabled'),
    httpProtocolIpv6: readOneOf(
      options['httpProtocolIPv6'],
      `${field}.httpProtocolIPv6`,
      onOff,
      'disabled',
    ),
    httpPutResponseHopLimit:
      readInteger(options['httpPutResponseHopLimit'], `${field}.httpPutResponseHopLimit`, {
        min: 1,
        max: 64,
      }) ?? hopLimitDefault,
    httpTokens: readOneOf(
      options['httpTokens'],
      `${field}.httpTokens`,
      ['required', 'optional'],
      'required',
    ),
  };
}

const reservedTags = [
  'eks:eks-cluster-name',
  'karpenter.sh/nodepool',
  'karpenter.sh/nodeclaim',
  'karpenter.sh/provisioner-name',
  'karpenter.k8s.aws/ec2nodeclass',
];
const reservedPrefixes = ['kubernetes.io/cluster', 'dovetail.sh/'];

/** Reads the tags of a class. Tags by which Dovetail finds its own objects are refused. */
export function readTags(raw: unknown, field: string): Readonly<Record<string, string>> {
  const tags = readTextMap(withoutNulls(raw), field);
  for (const key of Object.keys(tags).sort()) {
    if (key === '') throw new Malformed(field, tags, 'a tag needs a key: remove the empty one');
    if (reservedTags.includes(key) || reservedPrefixes.some((prefix) => key.startsWith(prefix)))
      throw new Malformed(
        `${field}.${key}`,
        lookUp(tags, key),
        'Dovetail sets this tag itself: remove it',
      );
  }
  return tags;
}

const gpuCount = 'karpenter.k8s.aws/instance-gpu-count';
const acceleratorCount = 'karpenter.k8s.aws/instance-accelerator-count';

/**
 * Reads an image. One whose requirements name no device serves every variant and stands once for
 * each.
 */
function readAmi(item: Raw, path: string): readonly ResolvedAmi[] {
  const requirements = requirementsOf(
    readRequirementSpecs(item['requirements'], `${path}.requirements`),
  );
  const demands = (key: string): boolean => requirements.get(key)?.present === true;
  const variants: readonly ResolvedAmi['variant'][] =
    !requirements.has(gpuCount) && !requirements.has(acceleratorCount)
      ? ['standard', 'nvidia', 'neuron']
      : [demands(gpuCount) ? 'nvidia' : demands(acceleratorCount) ? 'neuron' : 'standard'];
  const image = {
    id: readText(item['id'], `${path}.id`) ?? '',
    name: readText(item['name'], `${path}.name`) ?? '',
    deprecated: readFlag(item['deprecated'], `${path}.deprecated`) ?? false,
    arch:
      requirements.get(labels.arch)?.values.has('arm64') === true
        ? ('arm64' as const)
        : ('amd64' as const),
  };
  return variants.map((variant) => ({ ...image, variant }));
}

/** Reads the findings that discovery wrote into a class's status. */
export function readClassStatus(status: Raw, field: string): NodeClassStatus {
  return {
    subnets: readEach(status['subnets'], `${field}.subnets`, (item, path) => ({
      id: readText(item['id'], `${path}.id`) ?? '',
      zone: readText(item['zone'], `${path}.zone`) ?? '',
      ...optional('zoneId', readText(item['zoneID'], `${path}.zoneID`)),
    })),
    securityGroups: readEach(status['securityGroups'], `${field}.securityGroups`, (item, path) => ({
      id: readText(item['id'], `${path}.id`) ?? '',
      ...optional('name', readText(item['name'], `${path}.name`)),
    })),
    amis: readEach(status['amis'], `${field}.amis`, readAmi).flat(),
    ...optional('instanceProfile', readText(status['instanceProfile'], `${field}.instanceProfile`)),
  };
}
