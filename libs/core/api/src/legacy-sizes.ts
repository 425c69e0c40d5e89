import { canonicalKey, type RequirementSpec } from '@dovetail/core-kube-model';

import { labels as names } from './names.js';
import type { Pool } from './pool.js';

const keys = {
  type: names.instanceType,
  family: 'karpenter.k8s.aws/instance-family',
  category: 'karpenter.k8s.aws/instance-category',
  generation: 'karpenter.k8s.aws/instance-generation',
} as const;

/**
 * The types by which the nodes of a Provisioner are sized if it names no type, family, category or
 * generation. They are c, m and r above generation 2. Karpenter's last v1alpha5 webhooks wrote
 * these into such a Provisioner. Earlier ones narrowed nothing, and manifests of that time ask for
 * t3a or t4g by nodeSelector. So these types decide how pods are packed, not which types may be
 * launched. Undefined for every other pool, because all of its types count.
 */
export function sizesOf({
  identity,
  requirements,
  labels,
}: Pick<Pool, 'identity' | 'requirements' | 'labels'>): readonly RequirementSpec[] | undefined {
  if (identity.kind !== 'Provisioner') return undefined;
  const said = new Set(
    [...requirements.map(({ key }) => key), ...Object.keys(labels)].map(canonicalKey),
  );
  if (Object.values(keys).some((key) => said.has(key))) return undefined;
  return [
    { key: keys.category, operator: 'In', values: ['c', 'm', 'r'] },
    { key: keys.generation, operator: 'Gt', values: ['2'] },
  ];
}
