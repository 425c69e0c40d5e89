import { classHashAnnotations, type NodeClass } from '@dovetail/core-api';
import { changeLive, type KubeChanges, withFinalizer } from '@dovetail/service-kit';

import type { LauncherConfig } from '../config.js';
import { objectOf } from './class-object.js';
import type { ClusterFacts } from './cluster-facts.js';
import { withAnnotations } from './kept-annotations.js';

/** Karpenter's finalizer of an EC2NodeClass: it stays until what was made for it is gone. */
export const classFinalizer = 'karpenter.k8s.aws/termination';

/**
 * The bundle that counts in the hash of a class. Karpenter takes a setting, or the authority by
 * which it trusts the API server itself. It never asks EKS for it.
 */
export const bundleOf = (
  { clusterCa, ownCa }: Pick<LauncherConfig, 'clusterCa' | 'ownCa'>,
  { certificateAuthority }: Pick<ClusterFacts, 'certificateAuthority'>,
): string => clusterCa ?? ownCa ?? certificateAuthority;

/** Keeps finalizer and hash on an EC2NodeClass. Karpenter's tools find drift by the hash. */
export async function keepMetadata(kube: KubeChanges, row: NodeClass): Promise<void> {
  if (row.ref.kind !== 'EC2NodeClass') return;
  await changeLive(kube, objectOf(row), ({ metadata }) => {
    const finalizer = withFinalizer(metadata, classFinalizer);
    const hash = withAnnotations(metadata, classHashAnnotations(row));
    return finalizer === undefined && hash === undefined
      ? undefined
      : { metadata: { ...finalizer?.metadata, ...hash?.metadata } };
  });
}
