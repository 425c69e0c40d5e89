import type { AmiFamily, BlockDeviceMapping } from '@dovetail/core-api';

const gibibyte = 1024 ** 3;

/**
 * The differences between the operating systems that nodes boot. Facts of EKS' images and of
 * Karpenter's AMI families.
 */
export type FamilyTraits = {
  readonly os: 'linux' | 'windows';
  /** The value of node.kubernetes.io/windows-build. */
  readonly windowsBuild?: string;
  /** The device that holds containers and scratch space. Absent: not known, as for Custom. */
  readonly ephemeralDevice?: string;
  /** The devices of a node whose class maps none. */
  readonly blockDevices: readonly BlockDeviceMapping[];
  /** Whether the kubelet's podsPerCore is honoured. */
  readonly podsPerCore: boolean;
  /**
   * Whether network interfaces limit the pods. Otherwise the limit is 110, the kubelet's default.
   */
  readonly interfacesLimitPods: boolean;
  /** Whether kube-reserved memory follows the interfaces' pod limit instead of the node's own. */
  readonly interfacesLimitReserve: boolean;
};

/** Root volumes are gp3 and encrypted unless the class says otherwise. */
const volume = (deviceName: string, gib: number): BlockDeviceMapping => ({
  deviceName,
  rootVolume: false,
  ebs: {
    encrypted: true,
    volumeType: 'gp3',
    volumeSizeBytes: gib * gibibyte,
    deleteOnTermination: true,
  },
});

/** The scratch volume's size where neither class nor family names one (Karpenter's default). */
export const defaultEphemeralBytes = 20 * gibibyte;

const amazonLinux = {
  os: 'linux',
  ephemeralDevice: '/dev/xvda',
  blockDevices: [volume('/dev/xvda', 20)],
  podsPerCore: true,
  interfacesLimitPods: true,
  interfacesLimitReserve: true,
} as const;
const windows = (windowsBuild: string): FamilyTraits => ({
  os: 'windows',
  windowsBuild,
  ephemeralDevice: '/dev/sda1',
  blockDevices: [volume('/dev/sda1', 50)],
  podsPerCore: true,
  interfacesLimitPods: false,
  interfacesLimitReserve: false,
});

const traits: Readonly<Record<AmiFamily, FamilyTraits>> = {
  AL2: amazonLinux,
  AL2023: amazonLinux,
  Bottlerocket: {
    os: 'linux',
    ephemeralDevice: '/dev/xvdb',
    // Newer images have a root snapshot of more than 4 GiB, and EC2 refuses a smaller volume.
    blockDevices: [volume('/dev/xvda', 6), volume('/dev/xvdb', 20)],
    podsPerCore: false,
    interfacesLimitPods: true,
    interfacesLimitReserve: false,
  },
  Custom: {
    os: 'linux',
    blockDevices: [],
    podsPerCore: true,
    interfacesLimitPods: true,
    interfacesLimitReserve: true,
  },
  Windows2019: windows('10.0.17763'),
  Windows2022: windows('10.0.20348'),
  Windows2025: windows('10.0.26100'),
};

/** The traits of a family. */
export const familyTraits = (family: AmiFamily): FamilyTraits => traits[family];

/** The block devices of a class' nodes: its own mappings, or else its family's. */
export const blockDevicesOf = (nodeClass: {
  readonly amiFamily: AmiFamily;
  readonly blockDeviceMappings: readonly BlockDeviceMapping[];
}): readonly BlockDeviceMapping[] =>
  nodeClass.blockDeviceMappings.length > 0
    ? nodeClass.blockDeviceMappings
    : familyTraits(nodeClass.amiFamily).blockDevices;
