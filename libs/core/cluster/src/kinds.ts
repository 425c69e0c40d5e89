import type { NodeClaim, NodeClass, Pool } from '@dovetail/core-api';
import type {
  CsiNode,
  DaemonSet,
  Namespace,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  PodDisruptionBudget,
  StorageClass,
  VolumeAttachment,
} from '@dovetail/core-kube-model';

/** The kinds of objects that a Cluster holds. */
export const clusterKinds = [
  'pod',
  'node',
  'claim',
  'pool',
  'nodeclass',
  'daemonset',
  'namespace',
  'pv',
  'pvc',
  'storageclass',
  'csinode',
  'pdb',
  'attachment',
] as const;

/** One of `clusterKinds`; where the state feed has the kind too, the name is the same. */
export type ClusterKind = (typeof clusterKinds)[number];

/**
 * The kinds that say where a pod with volumes may run. Nothing is known about such a pod until each
 * of them has been listed. Pods without volumes need none of them.
 */
export const volumeKinds = [
  'pv',
  'pvc',
  'storageclass',
  'csinode',
] as const satisfies readonly ClusterKind[];

/** The object of each kind. */
export type ClusterValue = {
  readonly pod: Pod;
  readonly node: Node;
  readonly claim: NodeClaim;
  readonly pool: Pool;
  readonly nodeclass: NodeClass;
  readonly daemonset: DaemonSet;
  readonly namespace: Namespace;
  readonly pv: PersistentVolume;
  readonly pvc: PersistentVolumeClaim;
  readonly storageclass: StorageClass;
  readonly csinode: CsiNode;
  readonly pdb: PodDisruptionBudget;
  readonly attachment: VolumeAttachment;
};

/** The name of an object; a pool's and a class's are part of their identity. */
export function nameOf(value: ClusterValue[ClusterKind]): string {
  if ('identity' in value) return value.identity.name;
  return 'ref' in value ? value.ref.name : value.name;
}

/** `EC2NodeClass/default`: one string for a class reference. */
export const classKey = (ref: { readonly kind: string; readonly name: string }): string =>
  `${ref.kind}/${ref.name}`;
