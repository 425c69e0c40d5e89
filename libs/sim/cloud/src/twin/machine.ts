import type { Account, TwinType } from '../foundation/account.js';
import type { Images } from '../parts/images.js';
import type { TwinInstance } from '../parts/instances.js';
import { bootFromUserData, type BootOutcome } from '../user-data/boot.js';

/**
 * Everything that a kubelet on a booted instance knows, and that a stand-in needs to make the Node
 * join.
 */
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
  /** The outcome of the user data: how the machine joins, or why it does not. */
  readonly boot: BootOutcome;
  /**
   * The pods that the kubelet admits: the user data's number, else by the network interfaces
   * (interfaces × (addresses − 1) + 2), else 110.
   */
  readonly podsMax: number;
};

/** EKS' rule for pods per node with the VPC CNI. */
const podsByInterfaces = (type: TwinType): number =>
  type.facts.network.interfacesMax * (type.facts.network.ipv4PerInterface - 1) + 2;

function checkCluster(boot: BootOutcome, account: Account): BootOutcome {
  if (!boot.joins) return boot;
  const { clusterName, endpoint } = boot.config;
  if (clusterName !== undefined && clusterName !== account.cluster.name)
    return {
      joins: false,
      reason: `user data names the cluster ${clusterName}, which does not exist here`,
    };
  if (endpoint !== undefined && endpoint !== account.cluster.endpoint)
    return {
      joins: false,
      reason: `the API server endpoint ${endpoint} in the user data does not answer; the cluster's is ${account.cluster.endpoint}`,
    };
  return boot;
}

/** Reads the machine of an instance, as of now. Each distinct user data text is parsed once. */
export function machineReader(known: {
  readonly images: Images;
  readonly types: ReadonlyMap<string, TwinType>;
  readonly account: () => Account;
}): (instance: TwinInstance) => Machine {
  const boots = new Map<string, BootOutcome>();
  return (instance) => {
    const family = known.images.get(instance.imageId)?.family;
    const key = `${family ?? ''}:${instance.userData ?? ''}`;
    const boot = boots.get(key) ?? bootFromUserData(instance.userData, family);
    boots.set(key, boot);
    return machineOf(instance, checkCluster(boot, known.account()), {
      images: known.images,
      types: known.types,
      account: known.account(),
    });
  };
}

function machineOf(
  instance: TwinInstance,
  boot: BootOutcome,
  known: {
    readonly images: Images;
    readonly types: ReadonlyMap<string, TwinType>;
    readonly account: Account;
  },
): Machine {
  const image = known.images.get(instance.imageId);
  const type = known.types.get(instance.instanceType);
  return {
    instanceId: instance.id,
    providerId: `aws:///${instance.zone}/${instance.id}`,
    instanceType: instance.instanceType,
    region: known.account.region,
    zone: instance.zone,
    zoneId: known.account.subnets.find((one) => one.zone === instance.zone)?.zoneId ?? '',
    capacityType: instance.capacityType,
    arch: instance.arch,
    privateIp: instance.address.ip,
    privateDnsName: instance.privateDnsName,
    imageId: instance.imageId,
    imageName: image?.name ?? '',
    ...(image?.kubernetesVersion === undefined
      ? {}
      : { kubernetesVersion: image.kubernetesVersion }),
    launchedMs: instance.launchedMs,
    tags: instance.tags,
    ...(instance.userData === undefined
      ? {}
      : { userData: Buffer.from(instance.userData, 'base64').toString('utf8') }),
    boot,
    podsMax:
      (boot.joins ? boot.config.podsMax : undefined) ??
      (type === undefined ? 110 : podsByInterfaces(type)),
  };
}
