import type { Meta, Parsed, Raw } from '@dovetail/core-kube-model';
import {
  Malformed,
  optional,
  parsed,
  readFlag,
  readMeta,
  readObject,
  readOneOf,
  readRecord,
  readText,
} from '@dovetail/core-kube-model';

import type {
  AmiFamily,
  AmiSelectorTerm,
  BlockDeviceMapping,
  NodeClass,
  NodeClassRef,
  SelectorTerm,
} from '../node-class.js';
import {
  readBlockDevices,
  readClassStatus,
  readMetadataOptions,
  readTags,
} from './class-fields.js';
import { hashed } from './class-hash.js';
import { conditionIsTrue, readConditions } from './fields.js';
import { readKubelet } from './kubelet.js';
import { readAmiSelector, readResourceSelector } from './legacy-selectors.js';

/** The cluster's Kubernetes version. It decides the images of a legacy class without a family. */
export type KubernetesVersion = { readonly major: number; readonly minor: number };

const legacyFamilies = [
  'AL2',
  'AL2023',
  'Bottlerocket',
  'Ubuntu',
  'Windows2019',
  'Windows2022',
  'Custom',
] as const;
type LegacyFamily = (typeof legacyFamilies)[number];

/** Whether AWS has images of AL2 for a version of Kubernetes: 1.32 is the last one. */
export const hasAl2Images = ({ major, minor }: KubernetesVersion): boolean =>
  major === 1 && minor <= 32;

/** The family of a legacy class that names none: AL2 while it has images, then AL2023. */
const legacyDefaultFamily = (kubernetes: KubernetesVersion): AmiFamily =>
  hasAl2Images(kubernetes) ? 'AL2' : 'AL2023';

type Images = Pick<NodeClass, 'amiFamily' | 'amiSelectorTerms' | 'blockDeviceMappings'>;

const aliasOf = (family: Exclude<LegacyFamily, 'Ubuntu' | 'Custom'>): AmiSelectorTerm => ({
  alias: `${family.toLowerCase()}@latest`,
});

/** Canonical's images for EKS, which boot like AL2 from /dev/sda1. */
export const ubuntuTerms = (kubernetes: KubernetesVersion): readonly AmiSelectorTerm[] =>
  ['amd64', 'arm64'].map((arch) => ({
    ssmParameter: `/aws/service/canonical/ubuntu/eks/20.04/${kubernetes.major}.${kubernetes.minor}/stable/current/${arch}/hvm/ebs-gp2/ami-id`,
  }));
const ubuntuRoot: BlockDeviceMapping = {
  deviceName: '/dev/sda1',
  rootVolume: true,
  ebs: {
    encrypted: true,
    volumeType: 'gp3',
    volumeSizeBytes: 20 * 1024 ** 3,
    deleteOnTermination: true,
  },
};

function readImages(provider: Raw, field: string, kubernetes: KubernetesVersion): Images {
  const family = readOneOf<LegacyFamily>(
    provider['amiFamily'],
    `${field}.amiFamily`,
    legacyFamilies,
    legacyDefaultFamily(kubernetes) as LegacyFamily,
  );
  const selected = readAmiSelector(provider['amiSelector'], `${field}.amiSelector`);
  const devices = readBlockDevices(provider['blockDeviceMappings'], `${field}.blockDeviceMappings`);
  if (family === 'Ubuntu') {
    return {
      amiFamily: 'AL2',
      amiSelectorTerms: selected.length > 0 ? selected : ubuntuTerms(kubernetes),
      blockDeviceMappings: devices.length > 0 ? devices : [ubuntuRoot],
    };
  }
  if (selected.length > 0)
    return { amiFamily: family, amiSelectorTerms: selected, blockDeviceMappings: devices };
  if (family === 'Custom')
    throw new Malformed(
      `${field}.amiSelector`,
      undefined,
      'Custom has no images of its own: select them here',
    );
  return { amiFamily: family, amiSelectorTerms: [aliasOf(family)], blockDeviceMappings: devices };
}

/** A launch template has an image of any family; only the rules for capacity need to know one. */
const imagesOfTemplate: Images = {
  amiFamily: 'Custom',
  amiSelectorTerms: [],
  blockDeviceMappings: [],
};

type Provider = Omit<
  NodeClass,
  | 'ref'
  | 'uid'
  | 'resourceVersion'
  | 'generation'
  | 'deletionMs'
  | 'ready'
  | 'hash'
  | 'status'
  | 'kubelet'
>;

/** Fields whose content a launch template has, so that both would be an ambiguity. */
const templateContent = [
  'amiFamily',
  'amiSelector',
  'blockDeviceMappings',
  'instanceProfile',
  'metadataOptions',
  'securityGroupSelector',
  'userData',
] as const;

/**
 * The launch template of the user's own, under either of its names. Throws Malformed for one beside
 * fields that it replaces (Karpenter's rule), and for one that is named like Dovetail's own.
 */
function readLaunchTemplate(provider: Raw, field: string): string | undefined {
  const key = present(provider['launchTemplate']) ? 'launchTemplate' : 'launchTemplateName';
  const name = readText(provider[key], `${field}.${key}`) || undefined;
  if (name === undefined) return undefined;
  if (name.startsWith('dovetail/'))
    throw new Malformed(
      `${field}.${key}`,
      name,
      "templates of this name are Dovetail's own, which deletes them when they are idle: give another name",
    );
  const other = templateContent.find((content) => present(provider[content]));
  if (other === undefined) return name;
  throw new Malformed(
    `${field}.${other}`,
    provider[other],
    `leave it out: the launch template ${name} has its own; or leave ${key} out`,
  );
}

const present = (raw: unknown): boolean => raw !== undefined && raw !== null;

/** A selector that must select: an empty one would launch into every subnet or group. */
function readRequiredSelector(
  raw: unknown,
  field: string,
  remedy: string,
): readonly SelectorTerm[] {
  const terms = readResourceSelector(raw, field);
  if (terms.length === 0) throw new Malformed(field, raw, remedy);
  return terms;
}

/** Reads the fields that AWSNodeTemplate.spec and an inline provider share. */
function readProvider(provider: Raw, field: string, kubernetes: KubernetesVersion): Provider {
  const launchTemplateName = readLaunchTemplate(provider, field);
  return {
    ...optional('launchTemplateName', launchTemplateName),
    subnetSelectorTerms: readRequiredSelector(
      provider['subnetSelector'],
      `${field}.subnetSelector`,
      'write the tags or ids (aws-ids) of the subnets to launch in',
    ),
    securityGroupSelectorTerms:
      launchTemplateName === undefined
        ? readRequiredSelector(
            provider['securityGroupSelector'],
            `${field}.securityGroupSelector`,
            "write the tags or ids (aws-ids) of the nodes' security groups",
          )
        : [],
    ...(launchTemplateName === undefined
      ? readImages(provider, field, kubernetes)
      : imagesOfTemplate),
    ...optional(
      'instanceProfile',
      readText(provider['instanceProfile'], `${field}.instanceProfile`) || undefined,
    ),
    ...optional('userData', readText(provider['userData'], `${field}.userData`)),
    tags: readTags(provider['tags'], `${field}.tags`),
    detailedMonitoring:
      readFlag(provider['detailedMonitoring'], `${field}.detailedMonitoring`) ?? false,
    metadataOptions: readMetadataOptions(
      provider['metadataOptions'],
      `${field}.metadataOptions`,
      2,
    ),
    ...optional('context', readText(provider['context'], `${field}.context`)),
  };
}

type Status = Pick<NodeClass, 'ready' | 'status'>;

function legacyClass(
  meta: Meta,
  kind: NodeClassRef['kind'],
  provider: Provider,
  rest: Status & Pick<NodeClass, 'kubelet'>,
): NodeClass {
  return hashed({
    ref: { group: 'karpenter.k8s.aws', kind, name: meta.name },
    uid: meta.uid,
    resourceVersion: meta.resourceVersion,
    generation: meta.generation,
    ...optional('deletionMs', meta.deletionMs),
    ...provider,
    ...rest,
  });
}

/** Reads an AWSNodeTemplate of karpenter.k8s.aws/v1alpha1 in the shape of an EC2NodeClass. */
export function awsNodeTemplateOf(raw: unknown, kubernetes: KubernetesVersion): Parsed<NodeClass> {
  return parsed((): NodeClass => {
    const object = readObject(raw);
    const status = readRecord(object['status'], 'status');
    const provider = readProvider(readRecord(object['spec'], 'spec'), 'spec', kubernetes);
    return legacyClass(readMeta(object), 'AWSNodeTemplate', provider, {
      ready: conditionIsTrue(readConditions(status), 'Ready'),
      kubelet: {},
      status: readClassStatus(status, 'status'),
    });
  });
}

/**
 * Reads the class of a Provisioner's inline provider, of kind InlineProvider with the Provisioner's
 * name and UID. Undefined when the Provisioner has none. Its readiness is the condition
 * NodeClassReady, and its findings are in the Provisioner's `status.provider`.
 */
export function inlineProviderOf(
  raw: unknown,
  kubernetes: KubernetesVersion,
): Parsed<NodeClass | undefined> {
  return parsed((): NodeClass | undefined => {
    const object = readObject(raw);
    const spec = readRecord(object['spec'], 'spec');
    if (spec['provider'] === undefined || spec['provider'] === null) return undefined;
    const status = readRecord(object['status'], 'status');
    const provider = readProvider(
      readRecord(spec['provider'], 'spec.provider'),
      'spec.provider',
      kubernetes,
    );
    return legacyClass(readMeta(object), 'InlineProvider', provider, {
      ready: conditionIsTrue(readConditions(status), 'NodeClassReady'),
      kubelet: readKubelet(spec['kubeletConfiguration'], 'spec.kubeletConfiguration'),
      status: readClassStatus(readRecord(status['provider'], 'status.provider'), 'status.provider'),
    });
  });
}
