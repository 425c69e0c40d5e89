// One instance type as one line of text: the format that libs/core/ec2-model/src/catalog-line.ts
// reads.

import type { InstanceTypeInfo } from '@aws-sdk/client-ec2';

/** A region in the catalog: the zones that offer each type, one bit a zone. */
export type Region = {
  readonly name: string;
  readonly zones: readonly { readonly name: string; readonly id: string }[];
  readonly offered: Map<string, number>;
};

/** Facts that DescribeInstanceTypes does not carry, by type, as Karpenter's tables have them. */
export type KarpenterFacts = {
  readonly prices: ReadonlyMap<string, number>;
  readonly bandwidths: ReadonlyMap<string, number>;
  readonly branches: ReadonlyMap<string, number>;
  /** The interfaces of the default card, and the addresses of each. */
  readonly interfaces: ReadonlyMap<string, readonly [interfaces: number, addresses: number]>;
};

const usageLetters: Readonly<Record<string, string>> = {
  'on-demand': 'o',
  spot: 's',
  'capacity-block': 'b',
};

const zoneMaskAlphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_';

/**
 * `type` is in the shape of DescribeInstanceTypes. A field that is unknown or does not apply is
 * empty.
 */
export function encodeType(
  type: InstanceTypeInfo,
  regions: readonly Region[],
  karpenter: KarpenterFacts,
): string {
  const name: string = type.InstanceType ?? '';
  const price = karpenter.prices.get(name);
  const fields = [
    name,
    type.ProcessorInfo?.SupportedArchitectures?.includes('arm64') === true ? 'a' : 'x',
    type.VCpuInfo?.DefaultVCpus,
    type.MemoryInfo?.SizeInMiB,
    type.Hypervisor ?? '',
    flagsOf(type),
    (type.SupportedUsageClasses ?? [])
      .map((usage) => usageLetters[usage] ?? '')
      .sort()
      .join(''),
    ...networkOf(type, karpenter),
    type.EbsInfo?.EbsOptimizedInfo?.BaselineBandwidthInMbps ?? '',
    type.EbsInfo?.EbsOptimizedInfo?.MaximumBandwidthInMbps ?? '',
    type.ProcessorInfo?.Manufacturer ?? '',
    Math.round((type.ProcessorInfo?.SustainedClockSpeedInGhz ?? 0) * 1000) || '',
    (type.GpuInfo?.Gpus ?? [])
      .map((gpu) => [gpu.Name, gpu.Manufacturer, gpu.Count, gpu.MemoryInfo?.SizeInMiB].join(':'))
      .join(';'),
    acceleratorsOf(type),
    type.InstanceStorageInfo?.TotalSizeInGB ?? '',
    karpenter.branches.get(name) || '',
    price === undefined ? '' : Math.round(price * 1e6),
    regions.map((region) => zoneMaskAlphabet[region.offered.get(name) ?? 0]).join(''),
  ];
  const line = fields.join('|');
  if (/[`$\\\n]/.test(line))
    throw new Error(`${name}: a value holds a character that the table cannot: ${line}`);
  return line;
}

function flagsOf(type: InstanceTypeInfo): string {
  const flags: Readonly<Record<string, boolean | undefined>> = {
    m: type.BareMetal,
    t: type.BurstablePerformanceSupported,
    e: type.NetworkInfo?.EncryptionInTransitSupported,
    o: type.EbsInfo?.EbsOptimizedSupport === 'default',
    n:
      type.InstanceStorageInfo !== undefined &&
      type.InstanceStorageInfo.NvmeSupport !== 'unsupported',
    c: type.CurrentGeneration,
  };
  return Object.keys(flags)
    .filter((flag) => flags[flag])
    .join('');
}

/**
 * Interfaces of the default card (the only one that pods' addresses come from), addresses per
 * interface, EFA interfaces, cards, Mbps. Karpenter's table of interfaces goes first: EC2 now
 * states half of it for the two cards of i7ie and i8ge, whose documented pods are the table's.
 */
function networkOf(type: InstanceTypeInfo, karpenter: KarpenterFacts): readonly unknown[] {
  const [interfaces, addresses] = karpenter.interfaces.get(type.InstanceType ?? '') ?? [];
  const network = type.NetworkInfo ?? {};
  const cards = network.NetworkCards ?? [];
  const defaultCard = cards.find(
    (card) => card.NetworkCardIndex === (network.DefaultNetworkCardIndex ?? 0),
  );
  const summedMbps = Math.round(
    cards.reduce((sum, card) => sum + (card.BaselineBandwidthInGbps ?? 0), 0) * 1000,
  );
  return [
    interfaces ?? defaultCard?.MaximumNetworkInterfaces ?? network.MaximumNetworkInterfaces,
    addresses ?? network.Ipv4AddressesPerInterface,
    network.EfaInfo?.MaximumEfaInterfaces ?? '',
    cards.length > 1 ? cards.length : '',
    karpenter.bandwidths.get(type.InstanceType ?? '') ?? (summedMbps || ''),
  ];
}

/** Neuron devices with their cores, else inference accelerators of other makers. */
function acceleratorsOf(type: InstanceTypeInfo): string {
  const neuron = (type.NeuronInfo?.NeuronDevices ?? []).map((device) => [
    device.Name,
    'AWS',
    device.Count,
    device.CoreInfo?.Count,
  ]);
  const others = type.NeuronInfo
    ? []
    : (type.InferenceAcceleratorInfo?.Accelerators ?? []).map((device) => [
        device.Name,
        device.Manufacturer,
        device.Count,
        '',
      ]);
  return [...neuron, ...others].map((device) => device.join(':')).join(';');
}
