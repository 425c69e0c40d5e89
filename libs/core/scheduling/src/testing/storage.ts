import type {
  NodeSelectorTerm,
  PersistentVolume,
  PersistentVolumeClaim,
  StorageClass,
} from '@dovetail/core-kube-model';

/** A topology term for one zone, or one of several. */
export const inZones = (...values: readonly string[]): NodeSelectorTerm => ({
  matchExpressions: [{ key: 'topology.kubernetes.io/zone', operator: 'In', values }],
  matchFields: [],
});

/** A volume of the EBS driver that is reachable from everywhere. */
export const volumeOf = (name: string, over: Partial<PersistentVolume> = {}): PersistentVolume => ({
  uid: `pv-${name}`,
  name,
  resourceVersion: '1',
  driver: 'ebs.csi.aws.com',
  local: false,
  ...over,
});

/** A claim in namespace `default` that is not bound and names no class. */
export const claimOf = (
  name: string,
  over: Partial<PersistentVolumeClaim> = {},
): PersistentVolumeClaim => ({
  uid: `pvc-${name}`,
  namespace: 'default',
  name,
  resourceVersion: '1',
  phase: 'Pending',
  bindCompleted: false,
  ...over,
});

/** A claim that is bound to a volume. */
export const boundTo = (
  volumeName: string,
  over: Partial<PersistentVolumeClaim> = {},
): Partial<PersistentVolumeClaim> => ({ phase: 'Bound', bindCompleted: true, volumeName, ...over });

/** A class of the EBS driver that waits for the first consumer and is not the default. */
export const storageClassOf = (name: string, over: Partial<StorageClass> = {}): StorageClass => ({
  uid: `sc-${name}`,
  name,
  resourceVersion: '1',
  createdMs: 0,
  isDefault: false,
  provisioner: 'ebs.csi.aws.com',
  bindingMode: 'WaitForFirstConsumer',
  ...over,
});
