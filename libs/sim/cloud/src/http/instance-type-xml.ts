import type { InstanceTypeFacts } from '@dovetail/core-ports';

import { items, type Xml } from './xml.js';

/** Mebibytes of all devices together. */
const totalMib = (
  devices: readonly { readonly count: number; readonly memoryMib: number }[],
): number => devices.reduce((sum, { count, memoryMib }) => sum + count * memoryMib, 0);

function networkXml({ network, hypervisor }: InstanceTypeFacts): Xml {
  const cards = network.cards ?? 1;
  const gbps = network.baselineMbps === undefined ? undefined : network.baselineMbps / 1000 / cards;
  return {
    maximumNetworkInterfaces: network.interfacesMax * cards,
    maximumNetworkCards: cards,
    defaultNetworkCardIndex: 0,
    networkCards: items(
      Array.from({ length: cards }, (_, index) => ({
        networkCardIndex: index,
        maximumNetworkInterfaces: network.interfacesMax,
        baselineBandwidthInGbps: gbps,
      })),
    ),
    ipv4AddressesPerInterface: network.ipv4PerInterface,
    ipv6AddressesPerInterface: network.ipv4PerInterface,
    ipv6Supported: true,
    enaSupport: hypervisor === 'xen' ? 'supported' : 'required',
    efaSupported: network.efaMax > 0,
    efaInfo: network.efaMax > 0 ? { maximumEfaInterfaces: network.efaMax } : undefined,
    encryptionInTransitSupported: network.encryptionInTransit,
  };
}

function storageXml(facts: InstanceTypeFacts): { readonly [element: string]: Xml } {
  const { localStorageGb, localNvme, ebs } = facts;
  return {
    instanceStorageSupported: localStorageGb !== undefined,
    instanceStorageInfo:
      localStorageGb === undefined
        ? undefined
        : { totalSizeInGB: localStorageGb, nvmeSupport: localNvme ? 'required' : 'unsupported' },
    ebsInfo: {
      ebsOptimizedSupport: ebs.optimizedByDefault ? 'default' : 'unsupported',
      encryptionSupport: 'supported',
      ebsOptimizedInfo:
        ebs.baselineMbps === undefined && ebs.maximumMbps === undefined
          ? undefined
          : { baselineBandwidthInMbps: ebs.baselineMbps, maximumBandwidthInMbps: ebs.maximumMbps },
      nvmeSupport: facts.hypervisor === 'xen' ? 'unsupported' : 'required',
    },
  };
}

type Elements = { readonly [element: string]: Xml };

const gpuXml = (gpus: InstanceTypeFacts['gpus']): Elements => ({
  gpus: items(
    gpus.map(({ name, manufacturer, count, memoryMib }) => ({
      name,
      manufacturer,
      count,
      memoryInfo: { sizeInMiB: memoryMib },
    })),
  ),
  totalGpuMemoryInMiB: totalMib(gpus),
});

const inferenceXml = (accelerators: InstanceTypeFacts['accelerators']): Elements => ({
  accelerators: {
    member: accelerators.map(({ name, manufacturer, count }) => ({ name, manufacturer, count })),
  },
});

const neuronXml = (accelerators: InstanceTypeFacts['accelerators']): Elements => ({
  neuronDevices: items(
    accelerators.map(({ name, count, coresPerDevice }) => ({
      name,
      count,
      coreInfo: coresPerDevice === undefined ? undefined : { count: coresPerDevice },
    })),
  ),
});

/**
 * EC2 describes Inferentia twice: as an inference accelerator, and as a Neuron device with cores.
 */
function deviceXml({ gpus, accelerators }: InstanceTypeFacts): Elements {
  const isNeuron = ({ manufacturer }: { readonly manufacturer: string }): boolean =>
    manufacturer === 'AWS';
  const inferentia = accelerators.filter(({ name }) => name.startsWith('Inferentia'));
  const neuron = accelerators.filter(isNeuron);
  const inference = [...inferentia, ...accelerators.filter((one) => !isNeuron(one))];
  return {
    gpuInfo: gpus.length === 0 ? undefined : gpuXml(gpus),
    inferenceAcceleratorInfo: inference.length === 0 ? undefined : inferenceXml(inference),
    neuronInfo: neuron.length === 0 ? undefined : neuronXml(neuron),
  };
}

/**
 * A type as DescribeInstanceTypes answers it. Facts that the catalog does not hold are left out.
 */
export function instanceTypeXml(facts: InstanceTypeFacts): Xml {
  return {
    instanceType: facts.name,
    currentGeneration: true,
    freeTierEligible: false,
    supportedUsageClasses: items(facts.supportedUsageClasses),
    supportedRootDeviceTypes: items(['ebs']),
    supportedVirtualizationTypes: items(['hvm']),
    bareMetal: facts.bareMetal,
    hypervisor: facts.hypervisor === '' ? undefined : facts.hypervisor,
    processorInfo: {
      supportedArchitectures: items([facts.arch === 'amd64' ? 'x86_64' : 'arm64']),
      sustainedClockSpeedInGhz:
        facts.cpu.sustainedClockMhz === undefined ? undefined : facts.cpu.sustainedClockMhz / 1000,
      manufacturer: facts.cpu.manufacturer,
    },
    vCpuInfo: { defaultVCpus: facts.vcpus },
    memoryInfo: { sizeInMiB: facts.memoryMib },
    ...storageXml(facts),
    networkInfo: networkXml(facts),
    ...deviceXml(facts),
    burstablePerformanceSupported: facts.burstable,
    supportedBootModes: items(['uefi']),
  };
}
