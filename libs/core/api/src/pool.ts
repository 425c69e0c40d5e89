import type { RequirementSpec, Resources, Taint } from '@dovetail/core-kube-model';

import type { KubeletConfiguration, NodeClassRef } from './node-class.js';

/**
 * Identifies a pool by kind and name, because a Provisioner and a NodePool may both be called
 * `default`.
 */
export type PoolIdentity = { readonly kind: 'NodePool' | 'Provisioner'; readonly name: string };

/**
 * Stands for the pool of a NodeClaim that a person has made without one. No pool can have this
 * name, because a Kubernetes name begins with a letter or digit.
 */
export const noPool: PoolIdentity = { kind: 'NodePool', name: '-' };

/** Whether a claim was made without a pool. */
export const isWithoutPool = ({ pool }: { readonly pool: PoolIdentity }): boolean =>
  pool.kind === noPool.kind && pool.name === noPool.name;

/** Why a node may be disrupted voluntarily, in the words of Karpenter 1.15. */
export const disruptionReasons = ['Underutilized', 'Empty', 'Drifted', 'Unhealthy'] as const;
/** One of the reasons that a budget may name. */
export type DisruptionReason = (typeof disruptionReasons)[number];

/**
 * How many nodes of a pool may be disrupted at once: a percentage or a count, and a window when
 * scheduled.
 */
export type DisruptionBudget = {
  readonly nodes: { readonly percent: number } | { readonly count: number };
  /** Absent: the budget holds for every reason. */
  readonly reasons?: readonly DisruptionReason[];
  /** A cron schedule in UTC and the length of the window that each hit opens. */
  readonly schedule?: { readonly cron: string; readonly durationMs: number };
  /**
   * Set for a budget that cannot be read: field, value and remedy in one sentence. Invariant: the
   * budget then allows no node, at any time and for any reason (Karpenter fails closed, too).
   */
  readonly problem?: string;
};

/**
 * A NodePool or Provisioner in one shape, with defaults applied. Times are milliseconds since 1970.
 */
export type Pool = {
  readonly identity: PoolIdentity;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number;
  readonly createdMs: number;
  readonly deletionMs?: number;
  /** Invariant: 1 to 100, or 0 when unset. Higher weights are tried first. */
  readonly weight: number;
  /** Limits on the sum over the pool's nodes. The name `nodes` counts nodes. */
  readonly limits: Resources;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  readonly startupTaints: readonly Taint[];
  readonly requirements: readonly RequirementSpec[];
  readonly classRef: NodeClassRef;
  /** Identifies the template's content: a node whose annotation differs has drifted. */
  readonly hash: string;
  /**
   * Whether pool and class are usable now. The object's status has the reason when they are not.
   */
  readonly ready: boolean;
  /** Absent: nodes never expire. */
  readonly expireAfterMs?: number;
  readonly terminationGracePeriodMs?: number;
  readonly disruption: {
    readonly policy: 'WhenEmpty' | 'WhenEmptyOrUnderutilized' | 'Balanced';
    /**
     * How long a node stays empty before it goes (ttlSecondsAfterEmpty of a Provisioner). Absent:
     * for ever.
     */
    readonly consolidateAfterMs?: number;
    readonly budgets: readonly DisruptionBudget[];
  };
  /** Set for a static pool (spec.replicas), which planning leaves out. */
  readonly replicas?: number;
  /** The most that one node may cost, from the annotation dovetail.sh/max-price-per-hour. */
  readonly maxPriceMicrosPerHour?: number;
  /** From the annotation dovetail.sh/max-launches-per-minute. */
  readonly maxLaunchesPerMinute?: number;
  /**
   * A Provisioner's kubeletConfiguration. Each setting in it wins over its class's. NodePools have
   * none.
   */
  readonly kubelet?: KubeletConfiguration;
};

/** The label that names the pool on nodes of this kind of pool. */
export const poolLabelOf = (kind: PoolIdentity['kind']): string =>
  kind === 'NodePool' ? 'karpenter.sh/nodepool' : 'karpenter.sh/provisioner-name';

/** The pool's identity as one text for maps, subjects and metrics: `NodePool/default`. */
export const poolKey = (identity: PoolIdentity): string => `${identity.kind}/${identity.name}`;

/** Why budgets of the pool are closed: each with field, value and remedy. Empty: none is. */
export const budgetProblemsOf = ({ disruption }: Pool): string =>
  disruption.budgets.flatMap(({ problem }) => problem ?? []).join('; ');
