import type { ClusterIdentity } from '@dovetail/core-ec2-model';
import {
  CloudError,
  type EksCluster,
  type EksClusters,
  type KubeDiscovery,
  type KubeObject,
  type KubeReads,
  kubeResources,
  messageOf,
} from '@dovetail/core-ports';

import type { LauncherConfig } from '../config.js';

/** The facts of the cluster that nodes boot with and images are chosen by. */
export type ClusterFacts = {
  readonly identity: ClusterIdentity;
  readonly endpoint: string;
  readonly certificateAuthority: string;
  readonly serviceCidr?: string;
  readonly dnsIp?: string;
  /** `1.34`. */
  readonly kubernetesVersion: string;
};

/** The means to learn about the cluster. */
export type ClusterFactsDeps = {
  readonly cloud: EksClusters;
  readonly kube: KubeReads & KubeDiscovery;
};

/** The settings that say how nodes reach the cluster. A setting wins over EKS' answer. */
export type ClusterSettings = Pick<
  LauncherConfig,
  'clusterName' | 'clusterEndpoint' | 'clusterCa' | 'ownCa' | 'clusterServiceCidr'
>;

/** The facts, and why EKS did not answer if the settings had to stand in. */
export type ClusterReading = { readonly facts: ClusterFacts; readonly failure?: Error };

/**
 * Reads the facts of the cluster. EKS is asked for those that no setting gives. If it refuses, the
 * settings stand in, or else what was known before. Rejects with the remedy when neither suffices.
 */
export async function readClusterFacts(
  { cloud, kube }: ClusterFactsDeps,
  settings: ClusterSettings,
  held: ClusterFacts | undefined,
): Promise<ClusterReading> {
  const ask = async (): Promise<EksCluster | undefined> =>
    missingIn(settings).length === 0 ? undefined : cloud.clusterInfo(settings.clusterName);
  const [[eks], namespace, dns, version] = await Promise.all([
    Promise.allSettled([ask()]),
    kube.get({ resource: kubeResources.namespaces, name: 'kube-system' }),
    kube.get({ resource: kubeResources.services, name: 'kube-dns', namespace: 'kube-system' }),
    kube.serverVersion(),
  ]);
  const info = eks.status === 'fulfilled' ? eks.value : undefined;
  const failure = eks.status === 'rejected' ? unanswered(settings, eks.reason) : undefined;
  if (failure !== undefined && held !== undefined) return { facts: held, failure };
  const reached = reachedBy(settings, info);
  if (reached === undefined) throw failure ?? unknownToEks(settings);
  const facts = {
    ...reached,
    ...dnsOf(dns),
    identity: identityOf(settings, namespace),
    kubernetesVersion: info?.version ?? `${version.major}.${version.minor}`,
  };
  return failure === undefined ? { facts } : { facts, failure };
}

/** How nodes reach the cluster; undefined when neither settings nor EKS say it. */
function reachedBy(
  { clusterEndpoint, clusterCa, ownCa, clusterServiceCidr }: ClusterSettings,
  info: EksCluster | undefined,
): Pick<ClusterFacts, 'endpoint' | 'certificateAuthority' | 'serviceCidr'> | undefined {
  const endpoint = clusterEndpoint ?? info?.endpoint;
  const certificateAuthority = clusterCa ?? info?.certificateAuthority ?? ownCa;
  const serviceCidr = clusterServiceCidr ?? info?.serviceCidr;
  if (endpoint === undefined || certificateAuthority === undefined) return undefined;
  return { endpoint, certificateAuthority, ...(serviceCidr === undefined ? {} : { serviceCidr }) };
}

function identityOf(
  { clusterName: name }: ClusterSettings,
  namespace: KubeObject | undefined,
): ClusterIdentity {
  const uid = namespace?.metadata.uid;
  if (uid !== undefined) return { name, uid };
  throw new Error(
    'the namespace kube-system does not exist: its UID tells the cluster from others of its name',
  );
}

function dnsOf(service: KubeObject | undefined): Pick<ClusterFacts, 'dnsIp'> {
  const ip = (service?.['spec'] as { readonly clusterIP?: string } | undefined)?.clusterIP;
  return ip === undefined || ip === 'None' ? {} : { dnsIp: ip };
}

/** The variables of the settings that are not given. */
const missingIn = (settings: ClusterSettings): readonly string[] => [
  ...(settings.clusterEndpoint === undefined ? ['CLUSTER_ENDPOINT'] : []),
  ...((settings.clusterCa ?? settings.ownCa) === undefined ? ['CLUSTER_CA_BUNDLE'] : []),
  ...(settings.clusterServiceCidr === undefined ? ['CLUSTER_SERVICE_CIDR'] : []),
];

const remedyOf = (settings: ClusterSettings): string => `set ${missingIn(settings).join(', ')}`;

function unanswered(settings: ClusterSettings, cause: unknown): Error {
  const message = `EKS did not describe cluster ${settings.clusterName} (${messageOf(cause)}): allow eks:DescribeCluster, or ${remedyOf(settings)}`;
  return cause instanceof CloudError
    ? new CloudError(cause.code, cause.awsCode, message, { cause })
    : new Error(message, { cause });
}

const unknownToEks = (settings: ClusterSettings): Error =>
  new Error(
    `EKS knows no cluster ${settings.clusterName}: correct CLUSTER_NAME, or ${remedyOf(settings)} if the cluster is not of EKS`,
  );
