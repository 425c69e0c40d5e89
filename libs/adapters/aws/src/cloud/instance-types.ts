import {
  DescribeInstanceTypeOfferingsCommand,
  DescribeInstanceTypesCommand,
  EC2Client,
  type InstanceTypeInfo,
} from '@aws-sdk/client-ec2';
import { catalogFacts, type InstanceTypeFacts } from '@dovetail/core-ec2-model';
import { compareText } from '@dovetail/core-kube-model';
import type { InstanceCatalog } from '@dovetail/core-ports';

import { allPages } from '../calls/paging.js';
import type { AwsSession } from '../calls/session.js';

const known = <Key extends string, Value>(
  key: Key,
  value: Value | undefined,
): { [K in Key]?: Value } =>
  (value === undefined ? {} : { [key]: value }) as { [K in Key]?: Value };

/** Instance types and the zones that offer them. */
export const awsInstanceTypes = (session: AwsSession): InstanceCatalog => ({
  async instanceTypes() {
    const found = await describeTypes(session);
    return found.flatMap((info) => factsOf(info) ?? []).sort((a, b) => compareText(a.name, b.name));
  },
  instanceTypeZones: () => zonesByType(session),
});

/** Types that boot from an HVM image on x86_64 or arm64, as Karpenter asks for them. */
const describeTypes = (session: AwsSession): Promise<readonly InstanceTypeInfo[]> =>
  allPages(
    (NextToken) =>
      session.calls.run('read', 'ec2:DescribeInstanceTypes', () =>
        session.client(EC2Client).send(
          new DescribeInstanceTypesCommand({
            NextToken,
            MaxResults: 100,
            Filters: [
              { Name: 'supported-virtualization-type', Values: ['hvm'] },
              { Name: 'processor-info.supported-architecture', Values: ['x86_64', 'arm64'] },
            ],
          }),
        ),
      ),
    (page) => ({ items: page.InstanceTypes, next: page.NextToken }),
  );

async function zonesByType(session: AwsSession): Promise<ReadonlyMap<string, readonly string[]>> {
  const offerings = await allPages(
    (NextToken) =>
      session.calls.run('read', 'ec2:DescribeInstanceTypeOfferings', () =>
        session
          .client(EC2Client)
          .send(
            new DescribeInstanceTypeOfferingsCommand({
              NextToken,
              MaxResults: 1000,
              LocationType: 'availability-zone',
            }),
          ),
      ),
    (page) => ({ items: page.InstanceTypeOfferings, next: page.NextToken }),
  );
  const zones = new Map<string, string[]>();
  for (const { InstanceType, Location } of offerings) {
    if (InstanceType === undefined || Location === undefined) continue;
    zones.set(InstanceType, [...(zones.get(InstanceType) ?? []), Location]);
  }
  for (const offered of zones.values()) offered.sort();
  return zones;
}

/**
 * The facts that planning reads. Undefined for a type that boots neither x86_64 nor arm64, or
 * without a size.
 */
function factsOf(info: InstanceTypeInfo): InstanceTypeFacts | undefined {
  const arch = archOf(info);
  const { InstanceType: name, VCpuInfo: cpus, MemoryInfo: memory } = info;
  if (name === undefined || arch === undefined) return undefined;
  if (cpus?.DefaultVCpus === undefined || memory?.SizeInMiB === undefined) return undefined;
  // No API names trunk interfaces. Karpenter's bandwidth labels follow AWS' documentation, not the
  // API.
  const documented = catalogFacts(name);
  return {
    name,
    arch,
    vcpus: cpus.DefaultVCpus,
    memoryMib: memory.SizeInMiB,
    hypervisor: info.Hypervisor ?? '',
    bareMetal: info.BareMetal ?? false,
    burstable: info.BurstablePerformanceSupported ?? false,
    supportedUsageClasses: [...(info.SupportedUsageClasses ?? [])].sort(),
    network: networkOf(info, documented?.network.baselineMbps),
    ebs: ebsOf(info),
    cpu: {
      ...known('manufacturer', info.ProcessorInfo?.Manufacturer),
      ...known('sustainedClockMhz', clockMhz(info)),
    },
    ...devicesOf(info),
    ...known('localStorageGb', info.InstanceStorageInfo?.TotalSizeInGB),
    localNvme:
      info.InstanceStorageInfo !== undefined &&
      info.InstanceStorageInfo.NvmeSupport !== 'unsupported',
    ...known('branchInterfaces', documented?.branchInterfaces),
  };
}

function archOf({ ProcessorInfo }: InstanceTypeInfo): InstanceTypeFacts['arch'] | undefined {
  const architectures: readonly string[] = ProcessorInfo?.SupportedArchitectures ?? [];
  if (architectures.includes('arm64')) return 'arm64';
  return architectures.includes('x86_64') ? 'amd64' : undefined;
}

const ebsOf = ({ EbsInfo }: InstanceTypeInfo): InstanceTypeFacts['ebs'] => ({
  optimizedByDefault: EbsInfo?.EbsOptimizedSupport === 'default',
  ...known('baselineMbps', EbsInfo?.EbsOptimizedInfo?.BaselineBandwidthInMbps),
  ...known('maximumMbps', EbsInfo?.EbsOptimizedInfo?.MaximumBandwidthInMbps),
});

const clockMhz = (info: InstanceTypeInfo): number | undefined => {
  const ghz = info.ProcessorInfo?.SustainedClockSpeedInGhz;
  return ghz === undefined ? undefined : Math.round(ghz * 1000);
};

/** Counts the interfaces of the default card: the VPC CNI uses no other card. */
function networkOf(
  { NetworkInfo: network }: InstanceTypeInfo,
  documentedMbps: number | undefined,
): InstanceTypeFacts['network'] {
  const cards = network?.NetworkCards ?? [];
  const card = cards.find(
    ({ NetworkCardIndex }) => NetworkCardIndex === (network?.DefaultNetworkCardIndex ?? 0),
  );
  const summedMbps = Math.round(
    cards.reduce((sum, { BaselineBandwidthInGbps = 0 }) => sum + BaselineBandwidthInGbps, 0) * 1000,
  );
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
  const gpus = (info.GpuInfo?.Gpus ?? []).map(
    ({ Name = '', Manufacturer = '', Count = 0, MemoryInfo }) => ({
      name: Name,
      manufacturer: Manufacturer,
      count: Count,
      memoryMib: MemoryInfo?.SizeInMiB ?? 0,
    }),
  );
  const neuron = info.NeuronInfo?.NeuronDevices;
  const accelerators =
    neuron !== undefined
      ? neuron.map(({ Name = '', Count = 0, CoreInfo }) => ({
          name: Name,
          manufacturer: 'AWS',
          count: Count,
          coresPerDevice: CoreInfo?.Count ?? 0,
        }))
      : (info.InferenceAcceleratorInfo?.Accelerators ?? []).map(
          ({ Name = '', Manufacturer = '', Count = 0 }) => ({
            name: Name,
            manufacturer: Manufacturer,
            count: Count,
          }),
        );
  return { gpus, accelerators };
}
