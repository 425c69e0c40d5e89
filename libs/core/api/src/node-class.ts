/**
 * A reference to a node class. A Provisioner's inline provider is a class of kind `InlineProvider`.
 */
export type NodeClassRef = {
  readonly group: string;
  readonly kind: 'EC2NodeClass' | 'AWSNodeTemplate' | 'InlineProvider';
  readonly name: string;
};

/** One way to select EC2 objects; its parts hold together. In tags, `*` matches any value. */
export type SelectorTerm = {
  readonly tags?: Readonly<Record<string, string>>;
  readonly id?: string;
  readonly name?: string;
};
/** One way to select images. An alias names a family and version of EKS' images. */
export type AmiSelectorTerm = SelectorTerm & {
  readonly alias?: string;
  readonly owner?: string;
  readonly ssmParameter?: string;
};
/** The operating system that nodes boot, which decides devices, user data and reservations. */
export type AmiFamily =
  'AL2' | 'AL2023' | 'Bottlerocket' | 'Custom' | 'Windows2019' | 'Windows2022' | 'Windows2025';

/**
 * The families whose images EKS publishes, by the lower-case name that an alias (`al2023@latest`)
 * gives them.
 */
export const aliasFamilies: Readonly<Record<string, AmiFamily>> = {
  al2: 'AL2',
  al2023: 'AL2023',
  bottlerocket: 'Bottlerocket',
  windows2019: 'Windows2019',
  windows2022: 'Windows2022',
  windows2025: 'Windows2025',
};

/** A volume of a node. `rootVolume` marks the one whose size counts as ephemeral storage. */
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

/** How pods and processes reach the instance metadata service. */
export type MetadataOptions = {
  readonly httpEndpoint: 'enabled' | 'disabled';
  readonly httpProtocolIpv6: 'enabled' | 'disabled';
  readonly httpPutResponseHopLimit: number;
  readonly httpTokens: 'required' | 'optional';
};

/** The resources that kubelet and system may reserve (the kubelet's --kube-reserved). */
export const reservableResources: readonly string[] = ['cpu', 'memory', 'ephemeral-storage', 'pid'];

/** The signals by which a kubelet evicts pods, as Kubernetes names them. */
export const evictionSignals: readonly string[] = [
  'memory.available',
  'nodefs.available',
  'nodefs.inodesFree',
  'imagefs.available',
  'imagefs.inodesFree',
  'pid.available',
];

/** The kubelet settings of a class or a Provisioner. Quantities stay as written. */
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
  /**
   * Further fields of the kubelet's configuration, as an EC2NodeClass has them. They change no
   * capacity. Absent: there are none.
   */
  readonly others?: Readonly<Record<string, unknown>>;
};

/** The subnets, groups and images that discovery found for a class. */
export type NodeClassStatus = {
  readonly subnets: readonly {
    readonly id: string;
    readonly zone: string;
    readonly zoneId?: string;
  }[];
  readonly securityGroups: readonly { readonly id: string; readonly name?: string }[];
  readonly amis: readonly ResolvedAmi[];
  readonly instanceProfile?: string;
};

/** An image that discovery found. One that serves several variants stands once for each. */
export type ResolvedAmi = {
  readonly id: string;
  readonly name: string;
  readonly deprecated: boolean;
  readonly arch: 'amd64' | 'arm64';
  /** The devices that it has drivers for: none, NVIDIA GPUs, or AWS Neuron. */
  readonly variant: 'standard' | 'nvidia' | 'neuron';
};

/** EC2NodeClass, AWSNodeTemplate or a Provisioner's inline provider, in one shape. */
export type NodeClass = {
  readonly ref: NodeClassRef;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number;
  readonly deletionMs?: number;
  /** Whether the condition Ready is True. */
  readonly ready: boolean;
  /**
   * Identifies the content that a launched node keeps; a node whose annotation differs has drifted.
   */
  readonly hash: string;
  readonly subnetSelectorTerms: readonly SelectorTerm[];
  readonly securityGroupSelectorTerms: readonly SelectorTerm[];
  readonly amiFamily: AmiFamily;
  readonly amiSelectorTerms: readonly AmiSelectorTerm[];
  /**
   * Invariant: not both role and instanceProfile. Legacy classes may have neither and get the
   * installation's default.
   */
  readonly role?: string;
  readonly instanceProfile?: string;
  /**
   * A launch template of the user's own, for legacy classes. Image, security groups, role, user
   * data, volumes and metadata options are then its content. Invariant: the fields for them, and
   * the findings of images and groups, are empty.
   */
  readonly launchTemplateName?: string;
  readonly userData?: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly kubelet: KubeletConfiguration;
  readonly blockDeviceMappings: readonly BlockDeviceMapping[];
  readonly instanceStorePolicy?: 'RAID0';
  readonly detailedMonitoring: boolean;
  readonly metadataOptions: MetadataOptions;
  readonly associatePublicIpAddress?: boolean;
  readonly context?: string;
  /** The findings of discovery, as the object's status has them. */
  readonly status: NodeClassStatus;
};
