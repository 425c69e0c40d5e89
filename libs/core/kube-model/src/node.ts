import type { NodeSelectorTerm, Taint } from './pod.js';
import type { Resources } from './quantity.js';

/** A node, projected. Nodes that nobody manages here are projected too: pods bind to them and spread counts them. */
export type Node = {
  readonly uid: string;
  readonly name: string;
  readonly resourceVersion: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Only annotations under karpenter.sh/, karpenter.k8s.aws/ and dovetail.sh/. */
  readonly annotations: Readonly<Record<string, string>>;
  readonly createdMs: number;
  readonly deletionMs?: number;
  readonly finalizers: readonly string[];
  readonly providerId?: string;
  readonly taints: readonly Taint[];
  /** spec.unschedulable: cordoned. */
  readonly cordoned: boolean;
  readonly ready: boolean;
  readonly capacity: Resources;
  readonly allocatable: Resources;
  readonly internalIp?: string;
  readonly kubeletVersion?: string;
};

export type PersistentVolume = {
  readonly uid: string;
  readonly name: string;
  readonly resourceVersion: string;
  readonly deletionMs?: number;
  /** Alternatives (OR); absent: reachable from everywhere. */
  readonly nodeAffinity?: readonly NodeSelectorTerm[];
  /** CSI driver, in-tree plug-ins already translated to their driver's name. */
  readonly driver?: string;
  /** Local and hostPath volumes: their hostname terms do not narrow planning. */
  readonly local: boolean;
};

export type PersistentVolumeClaim = {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly resourceVersion: string;
  readonly deletionMs?: number;
  readonly phase: 'Pending' | 'Bound' | 'Lost';
  readonly volumeName?: string;
  readonly bindCompleted: boolean;
  readonly storageClassName?: string;
};

export type StorageClass = {
  readonly uid: string;
  readonly name: string;
  readonly resourceVersion: string;
  readonly createdMs: number;
  readonly isDefault: boolean;
  readonly provisioner: string;
  readonly bindingMode: 'Immediate' | 'WaitForFirstConsumer';
  /** Alternatives (OR) of topology requirements; absent: any topology. */
  readonly allowedTopologies?: readonly NodeSelectorTerm[];
};

/** Volume limits of one node, by CSI driver. */
export type CsiNode = {
  readonly uid: string;
  readonly name: string;
  readonly resourceVersion: string;
  readonly limits: Readonly<Record<string, number>>;
};

/** A volume that is attached to a node; draining waits until it is gone. */
export type VolumeAttachment = {
  readonly uid: string;
  readonly name: string;
  readonly resourceVersion: string;
  readonly nodeName: string;
  readonly volumeName?: string;
};
