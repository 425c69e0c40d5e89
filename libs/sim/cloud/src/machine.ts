import { bootFromUserData, type BootOutcome } from './user-data/boot.js';
import type { Images } from './images.js';
import type { TwinInstance } from './instances.js';
import type { TwinType, World } from './world.js';

/** What a kubelet on a booted instance would know, and whoever plays it needs in order to make the Node join. */
export type Machine = {
  readonly instanceId: string;
  /** `aws:///<zone>/<instance id>`, the Node's spec.providerID. */
  readonly providerId: string;
  readonly instanceType: string;
  readonly region: string;
  readonly zone: string;
  readonly zoneId: string;
  readonly capacityType: 'on-demand' | 'spot';
  readonly arch: 'amd64' | 'arm64';
  readonly privateIp: string;
  /** The Node's name on EKS. */
  readonly privateDnsName: string;
  readonly imageId: string;
  readonly imageName: string;
  /** Version of the image's kubelet (1.32); undefined for images of unknown make. */
  readonly kubernetesVersion?: string;
  readonly launchedMs: number;
  readonly tags: Readonly<Record<string, string>>;
  /** The user data, decoded. */
  readonly userData?: string;
  /** What the machine made of its user data: how it joins, or why it does not. */
  readonly boot: BootOutcome;
  /** Pods that the kubelet admits: what the user data says, else by the network interfaces (interfaces × (addresses − 1) + 2), 110 on neither. */
  readonly podsMax: number;
};

/** EKS' rule for pods per node with the VPC CNI. */
export const podsByInterfaces = (type: TwinType): number =>
  type.facts.network.interfacesMax * (type.facts.network.ipv4PerInterface - 1) + 2;

function checkCluster(boot: BootOutcome, world: World): BootOutcome {
  if (!boot.joins) return boot;
  const { clusterName, endpoint } = boot.config;
  if (clusterName !== undefined && clusterName !== world.cluster.name) return { joins: false, reason: `user data names the cluster ${clusterName}, which does not exist here` };
  if (endpoint !== undefined && endpoint !== world.cluster.endpoint) return { joins: false, reason: `the API server endpoint ${endpoint} in the user data does not answer; the cluster's is ${world.cluster.endpoint}` };
  return boot;
}

/** Reads the machine that an instance is, as of now. User data is parsed once for every distinct text. */
export function machineReader(known: { readonly images: Images; readonly types: ReadonlyMap<string, TwinType>; readonly world: () => World }): (instance: TwinInstance) => Machine {
  const boots = new Map<string, BootOutcome>();
  return (instance) => {
    const family = known.images.get(instance.imageId)?.family;
    const key = `${family ?? ''}:${instance.userData ?? ''}`;
    const boot = boots.get(key) ?? bootFromUserData(instance.userData, family);
    boots.set(key, boot);
    return machineOf(instance, checkCluster(boot, known.world()), { images: known.images, types: known.types, world: known.world() });
  };
}

function machineOf(instance: TwinInstance, boot: BootOutcome, known: { readonly images: Images; readonly types: ReadonlyMap<string, TwinType>; readonly world: World }): Machine {
  const image = known.images.get(instance.imageId);
  const type = known.types.get(instance.instanceType);
  return {
    instanceId: instance.id, providerId: `aws:///${instance.zone}/${instance.id}`, instanceType: instance.instanceType,
    region: known.world.region, zone: instance.zone, zoneId: known.world.subnets.find((one) => one.zone === instance.zone)?.zoneId ?? '', capacityType: instance.capacityType, arch: instance.arch,
    privateIp: instance.address.ip, privateDnsName: instance.privateDnsName,
    imageId: instance.imageId, imageName: image?.name ?? '', ...(image?.kubernetesVersion === undefined ? {} : { kubernetesVersion: image.kubernetesVersion }),
    launchedMs: instance.launchedMs, tags: instance.tags,
    ...(instance.userData === undefined ? {} : { userData: Buffer.from(instance.userData, 'base64').toString('utf8') }),
    boot, podsMax: (boot.joins ? boot.config.podsMax : undefined) ?? (type === undefined ? 110 : podsByInterfaces(type)),
  };
}
