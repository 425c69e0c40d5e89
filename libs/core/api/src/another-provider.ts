import { lookUp } from '@dovetail/core-invariant';
import { isRecord, recordOf } from '@dovetail/core-kube-model';

import { classLabelOf } from './claim-object.js';
import type { NodeClassRef } from './node-class.js';

/** The group of every node class of ours. */
export const classGroup = 'karpenter.k8s.aws';
/** The kinds of node classes that this product launches from. */
export const classKinds = [
  'EC2NodeClass',
  'AWSNodeTemplate',
  'InlineProvider',
] as const satisfies readonly NodeClassRef['kind'][];

/** The class that a NodePool or a NodeClaim names, unread. */
function classRefIn(raw: unknown): unknown {
  const spec = recordOf(recordOf(raw)['spec']);
  const template = recordOf(recordOf(spec['template'])['spec']);
  return spec['nodeClassRef'] ?? template['nodeClassRef'];
}

/**
 * The class of another provider that a NodePool or NodeClaim names, as `group kind`, or undefined
 * if it is ours. Several providers share these two kinds in one cluster, for example EKS Auto Mode.
 * Each leaves the objects of others alone, also while they are deleted (Karpenter's `IsManaged`).
 * An object without a whole reference is a mistake and not another provider's.
 */
export function anotherProviderOf(raw: unknown): string | undefined {
  const ref = classRefIn(raw);
  if (!isRecord(ref)) return undefined;
  const { group, kind } = ref;
  if (typeof group !== 'string' || typeof kind !== 'string' || group === '' || kind === '')
    return undefined;
  const isOurs = group === classGroup && classKinds.some((known) => known === kind);
  return isOurs ? undefined : `${group} ${kind}`;
}

const classLabels = classKinds.map((kind) => classLabelOf({ group: classGroup, kind, name: '' }));

/**
 * Whether a node was launched from a class of ours. Every provider of Karpenter sets the same
 * finalizer on its nodes, but its own label of the class.
 */
export const isFromOurClass = ({
  labels,
}: {
  readonly labels: Readonly<Record<string, string>>;
}): boolean => classLabels.some((label) => lookUp(labels, label) !== undefined);
