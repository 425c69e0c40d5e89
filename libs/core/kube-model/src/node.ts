import type { NodeSelectorTerm, Taint } from './pod.js';
import type { Resources } from './quantity.js';

/**
 * A node, projected. Nodes that Dovetail does not manage are projected too, because pods bind to
 * them and spread constraints count them.
 */
export type Node = {
  readonly uid: string;
  readonly name: string;
  readonly resourceVersion: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Only annotations under karpenter.sh/, karpenter.k8s.aws/ and dovetail.sh/. */
  readonly annotations: Readonly<Record<string, string>>;
  /** Milliseconds since 1970, as every time here. */
  readonly createdMs: number;
  /** When it was asked to go away; absent while it stays. */
  readonly deletionMs?: number;
  readonly finalizers: readonly string[];
  /** The instance behind it: `aws:///<zone>/<instance id>`. */
  readonly providerId?: string;
  readonly taints: readonly Taint[];
  /** spec.unschedulable: cordoned. */
  readonly cordoned: boolean;
  /** Whether the condition Ready is True. */
  readonly ready: boolean;
  readonly capacity: Resources;
  /** The resources that pods may use: capacity less the share of kubelet and system. */
  readonly allocatable: Resources;
  readonly internalIp?: string;
  readonly kubeletVersion?: string;
};

/** A persistent volume, projected to what ties pods to zones and nodes. */
export type PersistentVolume = {
  readonly uid: string;
  readonly name: string;
  readonly resourceVersion: string;
  readonly deletionMs?: number;
  /** Alternatives, of which one must match. Absent: the volume is reachable from everywhere. */
  readonly nodeAffinity?: readonly NodeSelectorTerm[];
  /** The CSI driver. In-tree plug-ins appear under the driver that replaced them. */
  readonly driver?: string;
  /** A local or hostPath volume. Its hostname terms do not narrow planning (Karpenter's rule). */
  readonly local: boolean;
};

/** A claim on a persistent volume, projected. */
export type PersistentVolumeClaim = {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly resourceVersion: string;
  readonly deletionMs?: number;
  readonly phase: 'Pending' | 'Bound' | 'Lost';
  readonly volumeName?: string;
  /**
   * Whether the volume controller has finished binding: annotation pv.kubernetes.io/bind-completed.
   */
  readonly bindCompleted: boolean;
  /** Absent: the default class. Empty: no class. */
  readonly storageClassName?: string;
  /** True if only one pod may use it: its access modes have ReadWriteOncePod. */
  readonly onePod?: boolean;
};

/** A storage class, projected to what decides where volumes can be made. */
export type StorageClass = {
  readonly uid: string;
  readonly name: string;
  readonly resourceVersion: string;
  readonly createdMs: number;
  readonly isDefault: boolean;
  readonly provisioner: string;
  readonly bindingMode: 'Immediate' | 'WaitForFirstConsumer';
  /** Alternatives of topology requirements, of which one must match. Absent: any topology. */
  readonly allowedTopologies?: readonly NodeSelectorTerm[];
};

/**
 * How many volumes of each CSI driver one node can attach. A driver without an entry has no limit.
 */
export type CsiNode = {
  readonly uid: string;
  readonly name: string;
  readonly resourceVersion: string;
  readonly limits: Readonly<Record<string, number>>;
};

/** A volume that is attached to a node. Draining waits until it is detached. */
export type VolumeAttachment = {
  readonly uid: string;
  readonly name: string;
  readonly resourceVersion: string;
  readonly nodeName: string;
  readonly volumeName?: string;
};
