import type { RequirementSpec, Resources, Taint } from '@dovetail/core-kube-model';
import type { KubeletConfiguration } from './node-class.js';

/** A pool is identified by kind and name: a Provisioner and a NodePool may both be called `default`. */
export type PoolIdentity = { readonly kind: 'NodePool' | 'Provisioner'; readonly name: string };

/** A reference to a node class; a Provisioner with an inline provider gets a synthesised one of kind `InlineProvider`. */
export type NodeClassRef = { readonly group: string; readonly kind: 'EC2NodeClass' | 'AWSNodeTemplate' | 'InlineProvider'; readonly name: string };

export type DisruptionReason = 'Empty' | 'Drifted' | 'Underutilized';

/** How many nodes of a pool may be disrupted at once. Parsed: a percentage or a count; an active window when scheduled. */
export type DisruptionBudget = {
  readonly nodes: { readonly percent: number } | { readonly count: number };
  /** Absent: every reason. */
  readonly reasons?: readonly DisruptionReason[];
  /** Cron in UTC with the length of its window. */
  readonly schedule?: { readonly cron: string; readonly durationMs: number };
};

/** A NodePool or Provisioner, defaults applied, in one shape. */
export type Pool = {
  readonly identity: PoolIdentity;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number;
  readonly createdMs: number;
  readonly deletionMs?: number;
  /** 1..100; 0 when unset. */
  readonly weight: number;
  /** Limits on the sum over the pool's nodes; `nodes` counts nodes. */
  readonly limits: Resources;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  readonly startupTaints: readonly Taint[];
  readonly requirements: readonly RequirementSpec[];
  readonly classRef: NodeClassRef;
  /** Identifies the template's content: a node whose annotation differs has drifted. */
  readonly hash: string;
  /** False: the object or its class is not usable now; the reason stands in the object's status. */
  readonly ready: boolean;
  /** Absent: never. */
  readonly expireAfterMs?: number;
  readonly terminationGracePeriodMs?: number;
  readonly disruption: {
    readonly policy: 'WhenEmpty' | 'WhenEmptyOrUnderutilized' | 'Balanced';
    /** Absent: never. For a Provisioner with ttlSecondsAfterEmpty, that time. */
    readonly consolidateAfterMs?: number;
    readonly budgets: readonly DisruptionBudget[];
  };
  /** A static pool (spec.replicas): planning leaves it out. */
  readonly replicas?: number;
  /** The most that one node may cost, from the annotation dovetail.sh/max-price-per-hour. */
  readonly maxPriceMicrosPerHour?: number;
  /** From the annotation dovetail.sh/max-launches-per-minute. */
  readonly maxLaunchesPerMinute?: number;
  /** A Provisioner's kubeletConfiguration; each setting in it wins over its class's. NodePools have none. */
  readonly kubelet?: KubeletConfiguration;
};

/** The label that nodes of this kind of pool carry. */
export const poolLabelOf = (kind: PoolIdentity['kind']): string => (kind === 'NodePool' ? 'karpenter.sh/nodepool' : 'karpenter.sh/provisioner-name');

/** `NodePool/default`: one string for maps, subjects and metrics. */
export const poolKey = (identity: PoolIdentity): string => `${identity.kind}/${identity.name}`;
