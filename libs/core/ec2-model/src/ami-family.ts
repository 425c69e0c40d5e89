import type { AmiFamily, BlockDeviceMapping } from '@dovetail/core-api';

const gibibyte = 1024 ** 3;

/** What differs between the operating systems that nodes boot. Facts of EKS' images, as Karpenter's users know them. */
export type FamilyTraits = {
  readonly os: 'linux' | 'windows';
  /** The value of node.kubernetes.io/windows-build. */
  readonly windowsBuild?: string;
  /** The device that holds containers and pods' scratch space; absent: not known (Custom). */
  readonly ephemeralDevice?: string;
  /** What a node gets when its class maps no devices. */
  readonly blockDevices: readonly BlockDeviceMapping[];
  /** Whether the kubelet's podsPerCore is honoured. */
  readonly podsPerCore: boolean;
  /** Whether pods are limited by network interfaces; otherwise 110 (the kubelet's default). */
  readonly interfacesLimitPods: boolean;
  /** Whether kube-reserved memory follows the interfaces' pod limit rather than the node's actual one. */
  readonly interfacesLimitReserve: boolean;
};

/** Root volumes are gp3 and encrypted unless the class says otherwise. */
const volume = (deviceName: string, gib: number): BlockDeviceMapping =>
  ({ deviceName, rootVolume: false, ebs: { encrypted: true, volumeType: 'gp3', volumeSizeBytes: gib * gibibyte, deleteOnTermination: true } });

/** Assumed where neither class nor family says how large the scratch volume is. */
export const defaultEphemeralBytes = 20 * gibibyte;

const amazonLinux = { os: 'linux', ephemeralDevice: '/dev/xvda', blockDevices: [volume('/dev/xvda', 20)], podsPerCore: true, interfacesLimitPods: true, interfacesLimitReserve: true } as const;
const windows = (windowsBuild: string): FamilyTraits =>
  ({ os: 'windows', windowsBuild, ephemeralDevice: '/dev/sda1', blockDevices: [volume('/dev/sda1', 50)], podsPerCore: true, interfacesLimitPods: false, interfacesLimitReserve: false });

const traits: Readonly<Record<AmiFamily, FamilyTraits>> = {
  AL2: amazonLinux,
  AL2023: amazonLinux,
  Bottlerocket: {
    os: 'linux', ephemeralDevice: '/dev/xvdb', blockDevices: [volume('/dev/xvda', 4), volume('/dev/xvdb', 20)],
    podsPerCore: false, interfacesLimitPods: true, interfacesLimitReserve: false,
  },
  Custom: { os: 'linux', blockDevices: [], podsPerCore: true, interfacesLimitPods: true, interfacesLimitReserve: true },
  Windows2019: windows('10.0.17763'),
  Windows2022: windows('10.0.20348'),
  Windows2025: windows('10.0.26100'),
};

export const familyTraits = (family: AmiFamily): FamilyTraits => traits[family];

/** The block devices that a class' nodes get: its own mappings, else its family's. */
export const blockDevicesOf = (nodeClass: { readonly amiFamily: AmiFamily; readonly blockDeviceMappings: readonly BlockDeviceMapping[] }): readonly BlockDeviceMapping[] =>
  nodeClass.blockDeviceMappings.length > 0 ? nodeClass.blockDeviceMappings : familyTraits(nodeClass.amiFamily).blockDevices;
