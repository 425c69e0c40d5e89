import { labels, taints } from '@dovetail/core-api';
import { lookUp } from '@dovetail/core-invariant';
import { describeTaint, type Taint } from '@dovetail/core-kube-model';
import type { UserDataInput } from '@dovetail/core-ports';

/**
 * The labels that the kubelet sets for itself. The kubelet may not set labels of Kubernetes' own
 * domains; registration does that.
 */
export function kubeletLabels(input: UserDataInput): Readonly<Record<string, string>> {
  const all: Readonly<Record<string, string>> = {
    ...input.labels,
    [labels.doNotSyncTaints]: 'true',
  };
  return Object.fromEntries(
    Object.keys(all)
      .filter((key) => !isKubernetesDomain(key))
      .sort()
      .map((key) => [key, lookUp(all, key) ?? '']),
  );
}

function isKubernetesDomain(key: string): boolean {
  const domain = key.includes('/') ? key.slice(0, key.indexOf('/')) : '';
  return ['kubernetes.io', 'k8s.io'].some((ours) => domain === ours || domain.endsWith(`.${ours}`));
}

/**
 * The unregistered taint, then the claim's, in their order. A node takes no pod before the launcher
 * knows it.
 */
export function kubeletTaints(input: UserDataInput): readonly Taint[] {
  return [
    taints.unregistered,
    ...input.taints.filter((taint) => taint.key !== taints.unregistered.key),
  ];
}

/** The class's DNS address of the cluster, or else the cluster's own. */
export const dnsIpsOf = (input: UserDataInput): readonly string[] =>
  input.kubelet.clusterDNS ?? (input.cluster.dnsIp === undefined ? [] : [input.cluster.dnsIp]);

const pairs = (values: Readonly<Record<string, string>>, sign: string): string =>
  Object.keys(values)
    .sort()
    .map((key) => `${key}${sign}${lookUp(values, key) ?? ''}`)
    .join(',');

/** Kubelet flags in one fixed order, as AL2's and Windows' bootstrap scripts take them. */
export function kubeletArguments(input: UserDataInput): string {
  const { kubelet } = input;
  const quoted = (
    flag: string,
    values: Readonly<Record<string, string>> | undefined,
    sign = '=',
  ): string[] =>
    values === undefined || Object.keys(values).length === 0
      ? []
      : [`--${flag}="${pairs(values, sign)}"`];
  const plain = (flag: string, value: number | boolean | undefined): string[] =>
    value === undefined ? [] : [`--${flag}=${value}`];
  return [
    ...quoted('node-labels', kubeletLabels(input)),
    `--register-with-taints="${kubeletTaints(input).map(describeTaint).join(',')}"`,
    ...plain('max-pods', input.maxPods),
    ...plain('pods-per-core', kubelet.podsPerCore),
    ...quoted('system-reserved', kubelet.systemReserved),
    ...quoted('kube-reserved', kubelet.kubeReserved),
    ...quoted('eviction-hard', kubelet.evictionHard, '<'),
    ...quoted('eviction-soft', kubelet.evictionSoft, '<'),
    ...quoted('eviction-soft-grace-period', kubelet.evictionSoftGracePeriod),
    ...plain('eviction-max-pod-grace-period', kubelet.evictionMaxPodGracePeriod),
    ...plain('image-gc-high-threshold', kubelet.imageGCHighThresholdPercent),
    ...plain('image-gc-low-threshold', kubelet.imageGCLowThresholdPercent),
    ...plain('cpu-cfs-quota', kubelet.cpuCFSQuota),
  ].join(' ');
}
