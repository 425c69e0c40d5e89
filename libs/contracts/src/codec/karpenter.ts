import type {
  AmiFamily,
  AmiSelectorTerm,
  BlockDeviceMapping,
  Condition,
  DisruptionBudget,
  DisruptionReason,
  KubeletConfiguration,
  MetadataOptions,
  NodeClaim,
  NodeClass,
  NodeClassRef,
  NodeClassStatus,
  Pool,
  ResolvedAmi,
  SelectorTerm,
} from '@dovetail/core-api';

import {
  type Codec,
  flag,
  int,
  list,
  Malformed,
  message,
  name,
  oneOf,
  optional,
  text,
  textMap,
  type Wire,
  within,
} from './fields.js';
import { poolIdentity, requirements, resources, taintList } from './values.js';
import { wire as w } from './wire.js';

const classRef = message<NodeClassRef>({
  group: text,
  name,
  kind: oneOf<NodeClassRef['kind']>({
    EC2NodeClass: w.NodeClassKind.NODE_CLASS_KIND_EC2_NODE_CLASS,
    AWSNodeTemplate: w.NodeClassKind.NODE_CLASS_KIND_AWS_NODE_TEMPLATE,
    InlineProvider: w.NodeClassKind.NODE_CLASS_KIND_INLINE_PROVIDER,
  }),
});
const disruptionReason = oneOf<DisruptionReason>({
  Empty: w.DisruptionReason.DISRUPTION_REASON_EMPTY,
  Drifted: w.DisruptionReason.DISRUPTION_REASON_DRIFTED,
  Underutilized: w.DisruptionReason.DISRUPTION_REASON_UNDERUTILIZED,
  Unhealthy: w.DisruptionReason.DISRUPTION_REASON_UNHEALTHY,
});
const policy = oneOf<Pool['disruption']['policy']>({
  WhenEmpty: w.ConsolidationPolicy.CONSOLIDATION_POLICY_WHEN_EMPTY,
  Balanced: w.ConsolidationPolicy.CONSOLIDATION_POLICY_BALANCED,
  WhenEmptyOrUnderutilized: w.ConsolidationPolicy.CONSOLIDATION_POLICY_WHEN_EMPTY_OR_UNDERUTILIZED,
});
const amiFamily = oneOf<AmiFamily>({
  AL2: w.AmiFamily.AMI_FAMILY_AL2,
  AL2023: w.AmiFamily.AMI_FAMILY_AL2023,
  Bottlerocket: w.AmiFamily.AMI_FAMILY_BOTTLEROCKET,
  Custom: w.AmiFamily.AMI_FAMILY_CUSTOM,
  Windows2019: w.AmiFamily.AMI_FAMILY_WINDOWS2019,
  Windows2022: w.AmiFamily.AMI_FAMILY_WINDOWS2022,
  Windows2025: w.AmiFamily.AMI_FAMILY_WINDOWS2025,
});
const switched = oneOf<'enabled' | 'disabled'>({
  enabled: w.MetadataSwitch.METADATA_SWITCH_ENABLED,
  disabled: w.MetadataSwitch.METADATA_SWITCH_DISABLED,
});

/** The number of nodes is a oneof: a percentage or a count, never both. */
const budgetNodes: Codec<DisruptionBudget['nodes']> = {
  write: (value) =>
    'percent' in value ? { percent: int.write(value.percent) } : { count: int.write(value.count) },
  read: (from) => {
    const nodes = from as Wire;
    if (Object.hasOwn(nodes, 'percent')) return { percent: int.read(nodes['percent']) };
    if (Object.hasOwn(nodes, 'count')) return { count: int.read(nodes['count']) };
    throw new Malformed('is missing: neither percent nor count is set');
  },
};
/** The problem of a closed budget stays behind: the count of zero is what planning reads. */
const budgetRest = message<Omit<DisruptionBudget, 'nodes' | 'problem'>>({
  reasons: optional(within('items', list(disruptionReason))),
  schedule: optional(
    message<NonNullable<DisruptionBudget['schedule']>>({ cron: name, durationMs: int }),
  ),
});
const budget: Codec<DisruptionBudget> = {
  write: (value) => ({
    ...(budgetNodes.write(value.nodes) as Wire),
    ...(budgetRest.write(value) as Wire),
  }),
  read: (from) => ({ nodes: budgetNodes.read(from), ...budgetRest.read(from) }),
};

const stringMap = within('entries', textMap);
/** Further kubelet fields stay behind: only the launcher renders them, from its own watch. */
const kubelet = message<Omit<KubeletConfiguration, 'others'>>({
  clusterDNS: optional(within('items', list(text)), 'clusterDns'),
  maxPods: optional(int),
  podsPerCore: optional(int),
  systemReserved: optional(stringMap),
  kubeReserved: optional(stringMap),
  evictionHard: optional(stringMap),
  evictionSoft: optional(stringMap),
  evictionSoftGracePeriod: optional(stringMap),
  evictionMaxPodGracePeriod: optional(int),
  imageGCHighThresholdPercent: optional(int, 'imageGcHighThresholdPercent'),
  imageGCLowThresholdPercent: optional(int, 'imageGcLowThresholdPercent'),
  cpuCFSQuota: optional(flag, 'cpuCfsQuota'),
});

/** A NodePool or Provisioner. */
export const pool = message<Pool>({
  identity: poolIdentity,
  uid: name,
  resourceVersion: text,
  generation: int,
  createdMs: int,
  deletionMs: optional(int),
  weight: int,
  limits: resources,
  labels: textMap,
  annotations: textMap,
  taints: taintList,
  startupTaints: taintList,
  requirements,
  classRef,
  hash: text,
  ready: flag,
  expireAfterMs: optional(int),
  terminationGracePeriodMs: optional(int),
  disruption: message<Pool['disruption']>({
    policy,
    consolidateAfterMs: optional(int),
    budgets: list(budget),
  }),
  replicas: optional(int),
  maxPriceMicrosPerHour: optional(int),
  maxLaunchesPerMinute: optional(int),
  kubelet: optional(kubelet),
});

const selector = message<SelectorTerm>({
  tags: optional(stringMap),
  id: optional(text),
  name: optional(text),
});
const amiSelector = message<AmiSelectorTerm>({
  tags: optional(stringMap),
  id: optional(text),
  name: optional(text),
  alias: optional(text),
  owner: optional(text),
  ssmParameter: optional(text),
});
const blockDevice = message<BlockDeviceMapping>({
  deviceName: optional(text),
  rootVolume: flag,
  ebs: optional(
    message<NonNullable<BlockDeviceMapping['ebs']>>({
      deleteOnTermination: optional(flag),
      encrypted: optional(flag),
      iops: optional(int),
      kmsKeyId: optional(text),
      snapshotId: optional(text),
      throughput: optional(int),
      volumeInitializationRate: optional(int),
      volumeSizeBytes: optional(int),
      volumeType: optional(text),
    }),
  ),
});
const ami = message<ResolvedAmi>({
  id: name,
  name: text,
  deprecated: flag,
  arch: oneOf<ResolvedAmi['arch']>({
    amd64: w.Architecture.ARCHITECTURE_AMD64,
    arm64: w.Architecture.ARCHITECTURE_ARM64,
  }),
  variant: oneOf<ResolvedAmi['variant']>({
    standard: w.AmiVariant.AMI_VARIANT_STANDARD,
    nvidia: w.AmiVariant.AMI_VARIANT_NVIDIA,
    neuron: w.AmiVariant.AMI_VARIANT_NEURON,
  }),
});
const classStatus = message<NodeClassStatus>({
  subnets: list(
    message<NodeClassStatus['subnets'][number]>({ id: name, zone: name, zoneId: optional(text) }),
  ),
  securityGroups: list(
    message<NodeClassStatus['securityGroups'][number]>({ id: name, name: optional(text) }),
  ),
  amis: list(ami),
  instanceProfile: optional(text),
});
/** An EC2NodeClass, an AWSNodeTemplate or an inline provider. */
export const nodeClass = message<NodeClass>(
  {
    ref: classRef,
    uid: name,
    resourceVersion: text,
    generation: int,
    deletionMs: optional(int),
    ready: flag,
    hash: text,
    subnetSelectorTerms: list(selector),
    securityGroupSelectorTerms: list(selector),
    amiFamily,
    amiSelectorTerms: list(amiSelector),
    role: optional(text),
    instanceProfile: optional(text),
    launchTemplateName: optional(text),
    userData: optional(text),
    tags: textMap,
    kubelet,
    blockDeviceMappings: list(blockDevice),
    instanceStorePolicy: optional(
      oneOf<'RAID0'>({ RAID0: w.InstanceStorePolicy.INSTANCE_STORE_POLICY_RAID0 }),
    ),
    detailedMonitoring: flag,
    metadataOptions: message<MetadataOptions>({
      httpEndpoint: switched,
      httpProtocolIpv6: switched,
      httpPutResponseHopLimit: int,
      httpTokens: oneOf<MetadataOptions['httpTokens']>({
        required: w.MetadataTokens.METADATA_TOKENS_REQUIRED,
        optional: w.MetadataTokens.METADATA_TOKENS_OPTIONAL,
      }),
    }),
    associatePublicIpAddress: optional(flag),
    context: optional(text),
    status: classStatus,
  },
  ['instanceStorePolicy'],
);

const condition = message<Condition>({
  type: name,
  reason: text,
  message: text,
  lastTransitionMs: int,
  status: oneOf<Condition['status']>({
    True: w.ConditionStatus.CONDITION_STATUS_TRUE,
    False: w.ConditionStatus.CONDITION_STATUS_FALSE,
    Unknown: w.ConditionStatus.CONDITION_STATUS_UNKNOWN,
  }),
});
/** A NodeClaim. */
export const nodeClaim = message<NodeClaim>({
  uid: name,
  name,
  resourceVersion: text,
  createdMs: int,
  deletionMs: optional(int),
  finalizers: list(text),
  labels: textMap,
  annotations: textMap,
  pool: poolIdentity,
  classRef,
  requirements,
  requests: resources,
  taints: taintList,
  startupTaints: taintList,
  expireAfterMs: optional(int),
  terminationGracePeriodMs: optional(int),
  nodeName: optional(text),
  providerId: optional(text),
  imageId: optional(text),
  capacity: resources,
  allocatable: resources,
  conditions: list(condition),
  lastPodEventMs: optional(int),
});
