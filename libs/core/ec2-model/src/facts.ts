import type { CapacityType } from './instance-type.js';

/** A GPU kind of a type; `memoryMib` is of one GPU. */
export type GpuFacts = { readonly name: string; readonly manufacturer: string; readonly count: number; readonly memoryMib: number };

/** An inference or training accelerator; `coresPerDevice` is known for AWS Neuron devices only. */
export type AcceleratorFacts = { readonly name: string; readonly manufacturer: string; readonly count: number; readonly coresPerDevice?: number };

/** The facts of a type that DescribeInstanceTypes gives, as far as planning and launching read them. */
export type InstanceTypeFacts = {
  readonly name: string;
  readonly arch: 'amd64' | 'arm64';
  /** Virtual CPUs at default (DefaultVCpus). */
  readonly vcpus: number;
  readonly memoryMib: number;
  /** `nitro`, `xen`, or empty for bare metal. */
  readonly hypervisor: string;
  readonly bareMetal: boolean;
  readonly burstable: boolean;
  /** Of `capacity-block`, `on-demand`, `spot`, in this order. */
  readonly supportedUsageClasses: readonly string[];
  readonly network: {
    /** Interfaces of the default network card: the VPC CNI takes pods' addresses from no other. */
    readonly interfacesMax: number;
    readonly ipv4PerInterface: number;
    /** EFA interfaces; 0 when EFA is not supported. */
    readonly efaMax: number;
    readonly encryptionInTransit: boolean;
    /** What the bandwidth label says, in Mbps; absent for types whose bandwidth AWS words vaguely. */
    readonly baselineMbps?: number;
    /** Network cards; absent means one. */
    readonly cards?: number;
  };
  readonly ebs: { readonly optimizedByDefault: boolean; readonly baselineMbps?: number; readonly maximumMbps?: number };
  readonly cpu: { readonly manufacturer?: string; readonly sustainedClockMhz?: number };
  readonly gpus: readonly GpuFacts[];
  readonly accelerators: readonly AcceleratorFacts[];
  /** All instance-store disks together, in GB (10^9 bytes). */
  readonly localStorageGb?: number;
  /** Whether that storage is NVMe. */
  readonly localNvme: boolean;
  /** Trunk branch interfaces (pods with security groups of their own); absent where the type has no trunk. Not in any API. */
  readonly branchInterfaces?: number;
};

/** A price in US dollars per hour, in millionths. Without a zone it holds for the region. */
export type PriceQuote = {
  readonly instanceType: string;
  readonly zone?: string;
  readonly capacityType: CapacityType;
  readonly priceMicrosPerHour: number;
  /** True when it is not published for the region, but taken from another's. */
  readonly estimated: boolean;
};
