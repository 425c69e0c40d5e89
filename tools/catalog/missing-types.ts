// Types that moto's table lacks, in the shape of DescribeInstanceTypes. The facts are those that
// Karpenter 1.14's documentation states on its page of instance types. It states no zones and no
// guaranteed EBS bandwidth.

import type { InstanceTypeInfo } from '@aws-sdk/client-ec2';

/** A type of the family g4ad: size, vCPUs, GiB, GPUs, GB of local storage, EBS Mbps. */
type Row = readonly [string, number, number, number, number, number];

const g4ad: readonly Row[] = [
  ['xlarge', 4, 16, 1, 150, 3_170],
  ['2xlarge', 8, 32, 1, 300, 3_170],
  ['4xlarge', 16, 64, 1, 600, 3_170],
  ['8xlarge', 32, 128, 2, 1_200, 3_170],
  ['16xlarge', 64, 256, 4, 2_400, 6_300],
];

// Interfaces and addresses per interface come from Karpenter's table, as for all types.
const typeOf = ([size, vcpus, memoryGib, gpus, storageGb, ebsMbps]: Row): InstanceTypeInfo => ({
  InstanceType: `g4ad.${size}` as NonNullable<InstanceTypeInfo['InstanceType']>,
  BareMetal: false,
  BurstablePerformanceSupported: false,
  CurrentGeneration: true,
  Hypervisor: 'nitro',
  SupportedUsageClasses: ['on-demand', 'spot'],
  ProcessorInfo: {
    Manufacturer: 'AMD',
    SupportedArchitectures: ['x86_64'],
    SustainedClockSpeedInGhz: 3,
  },
  VCpuInfo: { DefaultVCpus: vcpus },
  MemoryInfo: { SizeInMiB: memoryGib * 1024 },
  GpuInfo: {
    Gpus: [
      {
        Name: 'Radeon Pro V520',
        Manufacturer: 'AMD',
        Count: gpus,
        MemoryInfo: { SizeInMiB: 8_192 },
      },
    ],
  },
  InstanceStorageInfo: { TotalSizeInGB: storageGb, NvmeSupport: 'required' },
  EbsInfo: {
    EbsOptimizedSupport: 'default',
    EbsOptimizedInfo: { MaximumBandwidthInMbps: ebsMbps },
  },
  NetworkInfo: { EncryptionInTransitSupported: true },
});

/** The types to add, each with the type whose zones in us-east-1 stand in for its own. */
export const missingTypes: readonly {
  readonly type: InstanceTypeInfo;
  readonly zonesOf: string;
}[] = g4ad.map((row) => ({ type: typeOf(row), zonesOf: 'g4dn.xlarge' }));
