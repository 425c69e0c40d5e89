import type { CapacityType } from './instance-type.js';

/** The GPUs of one kind in a type. `memoryMib` is that of one GPU. */
export type GpuFacts = {
  readonly name: string;
  readonly manufacturer: string;
  readonly count: number;
  readonly memoryMib: number;
};

/**
 * The accelerators of one kind in a type. `coresPerDevice` is known for AWS Neuron devices only.
 */
export type AcceleratorFacts = {
  readonly name: string;
  readonly manufacturer: string;
  readonly count: number;
  readonly coresPerDevice?: number;
};

/** The facts of a type from DescribeInstanceTypes that planning and launching read. */
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
    /** Interfaces of the default network card. The VPC CNI uses no other for pods. */
    readonly interfacesMax: number;
    readonly ipv4PerInterface: number;
    /** EFA interfaces; 0 when EFA is not supported. */
    readonly efaMax: number;
    readonly encryptionInTransit: boolean;
    /**
     * Mbps for the bandwidth label. Absent for types whose bandwidth AWS describes in words only.
     */
    readonly baselineMbps?: number;
    /** Network cards; absent means one. */
    readonly cards?: number;
  };
  readonly ebs: {
    readonly optimizedByDefault: boolean;
    readonly baselineMbps?: number;
    readonly maximumMbps?: number;
  };
  readonly cpu: { readonly manufacturer?: string; readonly sustainedClockMhz?: number };
  readonly gpus: readonly GpuFacts[];
  readonly accelerators: readonly AcceleratorFacts[];
  /** All instance-store disks together, in GB (10^9 bytes). */
  readonly localStorageGb?: number;
  /** Whether that storage is NVMe. */
  readonly localNvme: boolean;
  /**
   * Branch interfaces, for pods with security groups. Absent without a trunk. No API states it (VPC
   * limits table).
   */
  readonly branchInterfaces?: number;
};

/** A price in millionths of a US dollar per hour. Without a zone it holds for the region. */
export type PriceQuote = {
  readonly instanceType: string;
  readonly zone?: string;
  readonly capacityType: CapacityType;
  /** Set for the price on dedicated hosts. */
  readonly tenancy?: 'dedicated';
  readonly priceMicrosPerHour: number;
  /** Whether it is another region's price, because none is published for this one. */
  readonly estimated: boolean;
};
