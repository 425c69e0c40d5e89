import { canonicalKey } from '@dovetail/core-kube-model';

import { labels } from './names.js';

const aws = (name: string): string => `karpenter.k8s.aws/${name}`;

/**
 * The labels under karpenter.k8s.aws/ that pools may name (Karpenter's WellKnownLabels). Others of
 * the domain are restricted.
 */
export const awsLabels: readonly string[] = [
  'instance-category',
  'instance-family',
  'instance-generation',
  'instance-size',
  'instance-cpu',
  'instance-cpu-manufacturer',
  'instance-cpu-sustained-clock-speed-mhz',
  'instance-memory',
  'instance-ebs-bandwidth',
  'instance-network-bandwidth',
  'instance-local-nvme',
  'instance-hypervisor',
  'instance-encryption-in-transit-supported',
  'instance-capability-flex',
  'instance-tenancy',
  'instance-gpu-name',
  'instance-gpu-manufacturer',
  'instance-gpu-count',
  'instance-gpu-memory',
  'instance-accelerator-name',
  'instance-accelerator-manufacturer',
  'instance-accelerator-count',
  'capacity-reservation-id',
  'capacity-reservation-type',
  'capacity-reservation-interruptible',
  'placement-group-id',
  'placement-group-partition',
  'ec2nodeclass',
].map(aws);

const allowedAws = new Set(awsLabels);
const within = (domain: string, suffix: string): boolean =>
  domain === suffix || domain.endsWith(`.${suffix}`);

/** The values of karpenter.sh/capacity-type. */
export const capacityTypes: readonly string[] = ['on-demand', 'spot', 'reserved'];

/** Whether the label names a node's pool. Only Dovetail writes such labels. */
export const isPoolLabel = (key: string): boolean =>
  key === labels.nodePool || key === labels.provisioner;

/**
 * Says why users may not set or require this label, or undefined when they may. Dovetail sets pool
 * labels itself, and a hostname differs on every node. In the domains karpenter.sh and
 * karpenter.k8s.aws only known labels are allowed (Karpenter's IsRestrictedLabel). Aliases count as
 * their canonical key.
 */
export function restrictedLabel(key: string): string | undefined {
  const canonical = canonicalKey(key);
  if (canonical === labels.capacityType || allowedAws.has(canonical)) return undefined;
  if (isPoolLabel(canonical)) return `Dovetail sets ${canonical} itself: remove it`;
  if (canonical === labels.hostname)
    return `${canonical} differs on every node: remove it, and spread by topology instead`;
  const slash = canonical.indexOf('/');
  const domain = slash < 0 ? '' : canonical.slice(0, slash);
  if (within(domain, 'karpenter.sh'))
    return 'the domain karpenter.sh is reserved: use a label of your own domain';
  if (within(domain, 'karpenter.k8s.aws'))
    return `only known labels of the domain karpenter.k8s.aws may be used, such as ${aws('instance-family')}`;
  return undefined;
}

const nameText = /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;
const domainText = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

/** Whether the text is a qualified name, `name` or `domain/name` (Kubernetes' IsQualifiedName). */
export function isQualifiedName(key: string): boolean {
  const slash = key.indexOf('/');
  const name = key.slice(slash + 1);
  const domain = key.slice(0, Math.max(slash, 0));
  if (name.length > 63 || !nameText.test(name)) return false;
  return slash < 0 || (domain.length <= 253 && domainText.test(domain));
}

/**
 * Whether the text may be a label's value: empty, or at most 63 letters, digits, `-`, `_` and `.`,
 * alphanumeric at both ends (Kubernetes' IsValidLabelValue).
 */
export const isLabelValue = (value: string): boolean =>
  value === '' || (value.length <= 63 && nameText.test(value));
