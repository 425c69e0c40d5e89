import { DescribeInstanceTypeOfferingsCommand, DescribeInstanceTypesCommand, type InstanceTypeInfo } from '@aws-sdk/client-ec2';
import { catalogFacts, type InstanceTypeFacts } from '@dovetail/core-ec2-model';
import type { Cloud } from '@dovetail/core-ports';
import type { AwsCalls } from '../calls.js';
import type { AwsClients } from '../clients.js';
import { allPages } from '../paging.js';

const known = <Key extends string, Value>(key: Key, value: Value | undefined): { [K in Key]?: Value } =>
  (value === undefined ? {} : { [key]: value }) as { [K in Key]?: Value };

/** Instance types and the zones that offer them. */
export const typesOf = ({ ec2 }: AwsClients, calls: AwsCalls): Pick<Cloud, 'instanceTypes' | 'instanceTypeZones'> => ({
  async instanceTypes() {
    const pages = await allPages(
      (NextToken) => calls.run('read', 'ec2:DescribeInstanceTypes', () => ec2.send(new DescribeInstanceTypesCommand({
        NextToken, MaxResults: 100,
        Filters: [{ Name: 'supported-virtualization-type', Values: ['hvm'] }, { Name: 'processor-info.supported-architecture', Values: ['x86_64', 'arm64'] }],
      }))),
      (page) => ({ items: page.InstanceTypes, next: page.NextToken }),
    );
    return pages.flatMap((info) => factsOf(info) ?? []).sort((a, b) => (a.name < b.name ? -1 : 1));
  },
  async instanceTypeZones() {
    const offerings = await allPages(
      (NextToken) => calls.run('read', 'ec2:DescribeInstanceTypeOfferings', () => ec2.send(new DescribeInstanceTypeOfferingsCommand({ NextToken, MaxResults: 1000, LocationType: 'availability-zone' }))),
      (page) => ({ items: page.InstanceTypeOfferings, next: page.NextToken }),
    );
    const zones = new Map<string, string[]>();
    for (const { InstanceType, Location } of offerings) {
      if (InstanceType === undefined || Location === undefined) continue;
      zones.set(InstanceType, [...(zones.get(InstanceType) ?? []), Location]);
    }
    for (const offered of zones.values()) offered.sort();
    return zones;
  },
});

/** The facts that planning reads; undefined for a type that boots neither x86_64 nor arm64 or whose answer lacks its size. */
export function factsOf(info: InstanceTypeInfo): InstanceTypeFacts | undefined {
  const architectures: readonly string[] = info.ProcessorInfo?.SupportedArchitectures ?? [];
  const arch = architectures.includes('arm64') ? 'arm64' : architectures.includes('x86_64') ? 'amd64' : undefined;
  const { InstanceType: name, VCpuInfo: cpus, MemoryInfo: memory } = info;
  if (name === undefined || arch === undefined || cpus?.DefaultVCpus === undefined || memory?.SizeInMiB === undefined) return undefined;
  // Trunk interfaces are in no API, and the bandwidth that people's labels say is AWS' documentation's.
  const documented = catalogFacts(name);
  return {
    name, arch,
    vcpus: cpus.DefaultVCpus,
    memoryMib: memory.SizeInMiB,
    hypervisor: info.Hypervisor ?? '',
    bareMetal: info.BareMetal ?? false,
    burstable: info.BurstablePerformanceSupported ?? false,
    supportedUsageClasses: [...(info.SupportedUsageClasses ?? [])].sort(),
    network: networkOf(info, documented?.network.baselineMbps),
    ebs: {
      optimizedByDefault: info.EbsInfo?.EbsOptimizedSupport === 'default',
      ...known('baselineMbps', info.EbsInfo?.EbsOptimizedInfo?.BaselineBandwidthInMbps),
      ...known('maximumMbps', info.EbsInfo?.EbsOptimizedInfo?.MaximumBandwidthInMbps),
    },
    cpu: { ...known('manufacturer', info.ProcessorInfo?.Manufacturer), ...known('sustainedClockMhz', clockMhz(info)) },
    ...devicesOf(info),
    ...known('localStorageGb', info.InstanceStorageInfo?.TotalSizeInGB),
    localNvme: info.InstanceStorageInfo !== undefined && info.InstanceStorageInfo.NvmeSupport !== 'unsupported',
    ...known('branchInterfaces', documented?.branchInterfaces),
  };
}

const clockMhz = (info: InstanceTypeInfo): number | undefined => {
  const ghz = info.ProcessorInfo?.SustainedClockSpeedInGhz;
  return ghz === undefined ? undefined : Math.round(ghz * 1000);
};

/** The default card's interfaces: the VPC CNI uses no other. */
function networkOf({ NetworkInfo: network }: InstanceTypeInfo, documentedMbps: number | undefined): InstanceTypeFacts['network'] {
  const cards = network?.NetworkCards ?? [];
  const card = cards.find(({ NetworkCardIndex }) => NetworkCardIndex === (network?.DefaultNetworkCardIndex ?? 0));
  const summedMbps = Math.round(cards.reduce((sum, { BaselineBandwidthInGbps = 0 }) => sum + BaselineBandwidthInGbps, 0) * 1000);
  return {
    interfacesMax: card?.MaximumNetworkInterfaces ?? network?.MaximumNetworkInterfaces ?? 0,
    ipv4PerInterface: network?.Ipv4AddressesPerInterface ?? 0,
    efaMax: network?.EfaInfo?.MaximumEfaInterfaces ?? 0,
    encryptionInTransit: network?.EncryptionInTransitSupported ?? false,
    ...known('baselineMbps', documentedMbps ?? (summedMbps === 0 ? undefined : summedMbps)),
    ...known('cards', cards.length > 1 ? cards.length : undefined),
  };
}

function devicesOf(info: InstanceTypeInfo): Pick<InstanceTypeFacts, 'gpus' | 'accelerators'> {
  const gpus = (info.GpuInfo?.Gpus ?? []).map(({ Name = '', Manufacturer = '', Count = 0, MemoryInfo }) => ({ name: Name, manufacturer: Manufacturer, count: Count, memoryMib: MemoryInfo?.SizeInMiB ?? 0 }));
  const neuron = info.NeuronInfo?.NeuronDevices;
  const accelerators = neuron !== undefined
    ? neuron.map(({ Name = '', Count = 0, CoreInfo }) => ({ name: Name, manufacturer: 'AWS', count: Count, coresPerDevice: CoreInfo?.Count ?? 0 }))
    : (info.InferenceAcceleratorInfo?.Accelerators ?? []).map(({ Name = '', Manufacturer = '', Count = 0 }) => ({ name: Name, manufacturer: Manufacturer, count: Count }));
  return { gpus, accelerators };
}
