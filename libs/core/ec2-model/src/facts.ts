import type { CapacityType } from './instance-type.js';

/** The facts of a type that DescribeInstanceTypes gives, as far as planning and launching read them. */
export type InstanceTypeFacts = {
  readonly name: string;
  readonly arch: 'amd64' | 'arm64';
  readonly vcpus: number;
  readonly memoryMib: number;
  readonly hypervisor: string;
  readonly bareMetal: boolean;
  readonly burstable: boolean;
  readonly supportedUsageClasses: readonly string[];
  readonly network: { readonly interfacesMax: number; readonly ipv4PerInterface: number; readonly efaMax: number; readonly encryptionInTransit: boolean; readonly baselineMbps?: number };
  readonly ebs: { readonly optimizedByDefault: boolean; readonly baselineMbps?: number };
  readonly cpu: { readonly manufacturer?: string; readonly sustainedClockMhz?: number };
  readonly gpus: readonly { readonly name: string; readonly manufacturer: string; readonly count: number; readonly memoryMib: number }[];
  readonly accelerators: readonly { readonly name: string; readonly manufacturer: string; readonly count: number; readonly coresPerDevice?: number }[];
  readonly localStorageGb?: number;
  readonly localNvme: boolean;
  readonly branchInterfaces?: number;
};

export type PriceQuote = { readonly instanceType: string; readonly zone?: string; readonly capacityType: CapacityType; readonly priceMicrosPerHour: number; readonly estimated: boolean };
