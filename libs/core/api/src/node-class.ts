import type { NodeClassRef } from './pool.js';

export type SelectorTerm = { readonly tags?: Readonly<Record<string, string>>; readonly id?: string; readonly name?: string };
export type AmiSelectorTerm = SelectorTerm & { readonly alias?: string; readonly owner?: string; readonly ssmParameter?: string };
export type AmiFamily = 'AL2' | 'AL2023' | 'Bottlerocket' | 'Custom' | 'Windows2019' | 'Windows2022' | 'Windows2025';

export type BlockDeviceMapping = {
  readonly deviceName?: string;
  readonly rootVolume: boolean;
  readonly ebs?: {
    readonly deleteOnTermination?: boolean;
    readonly encrypted?: boolean;
    readonly iops?: number;
    readonly kmsKeyId?: string;
    readonly snapshotId?: string;
    readonly throughput?: number;
    readonly volumeInitializationRate?: number;
    readonly volumeSizeBytes?: number;
    readonly volumeType?: string;
  };
};

export type MetadataOptions = {
  readonly httpEndpoint: 'enabled' | 'disabled';
  readonly httpProtocolIpv6: 'enabled' | 'disabled';
  readonly httpPutResponseHopLimit: number;
  readonly httpTokens: 'required' | 'optional';
};

/** The kubelet settings that change a node's capacity or user data. Quantities stay as written. */
export type KubeletConfiguration = {
  readonly clusterDNS?: readonly string[];
  readonly maxPods?: number;
  readonly podsPerCore?: number;
  readonly systemReserved?: Readonly<Record<string, string>>;
  readonly kubeReserved?: Readonly<Record<string, string>>;
  readonly evictionHard?: Readonly<Record<string, string>>;
  readonly evictionSoft?: Readonly<Record<string, string>>;
  readonly evictionSoftGracePeriod?: Readonly<Record<string, string>>;
  readonly evictionMaxPodGracePeriod?: number;
  readonly imageGCHighThresholdPercent?: number;
  readonly imageGCLowThresholdPercent?: number;
  readonly cpuCFSQuota?: boolean;
};

export type NodeClassStatus = {
  readonly subnets: readonly { readonly id: string; readonly zone: string; readonly zoneId?: string }[];
  readonly securityGroups: readonly { readonly id: string; readonly name?: string }[];
  readonly amis: readonly ResolvedAmi[];
  readonly instanceProfile?: string;
};

export type ResolvedAmi = {
  readonly id: string;
  readonly name: string;
  readonly deprecated: boolean;
  /** Which instances it boots: architecture, and `accelerated` for images that carry GPU or Neuron drivers. */
  readonly arch: 'amd64' | 'arm64';
  readonly variant: 'standard' | 'nvidia' | 'neuron';
};

/** EC2NodeClass, AWSNodeTemplate or a Provisioner's inline provider, in one shape. */
export type NodeClass = {
  readonly ref: NodeClassRef;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number;
  readonly deletionMs?: number;
  readonly ready: boolean;
  readonly hash: string;
  readonly subnetSelectorTerms: readonly SelectorTerm[];
  readonly securityGroupSelectorTerms: readonly SelectorTerm[];
  readonly amiFamily: AmiFamily;
  readonly amiSelectorTerms: readonly AmiSelectorTerm[];
  /** Exactly one of role and instanceProfile; neither: the installation's default instance profile (legacy classes only). */
  readonly role?: string;
  readonly instanceProfile?: string;
  readonly userData?: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly kubelet: KubeletConfiguration;
  readonly blockDeviceMappings: readonly BlockDeviceMapping[];
  readonly instanceStorePolicy?: 'RAID0';
  readonly detailedMonitoring: boolean;
  readonly metadataOptions: MetadataOptions;
  readonly associatePublicIpAddress?: boolean;
  readonly context?: string;
  /** What discovery has found, as the object's status says it. */
  readonly status: NodeClassStatus;
};
