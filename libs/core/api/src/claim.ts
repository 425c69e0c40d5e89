import type { RequirementSpec, Resources, Taint } from '@dovetail/core-kube-model';
import type { NodeClassRef, PoolIdentity } from './pool.js';

export type ConditionStatus = 'True' | 'False' | 'Unknown';
export type Condition = {
  readonly type: string;
  readonly status: ConditionStatus;
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionMs: number;
};

/** A NodeClaim of karpenter.sh/v1, projected. */
export type NodeClaim = {
  readonly uid: string;
  readonly name: string;
  readonly resourceVersion: string;
  readonly createdMs: number;
  readonly deletionMs?: number;
  readonly finalizers: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  /** Only annotations under karpenter.sh/, karpenter.k8s.aws/ and dovetail.sh/. */
  readonly annotations: Readonly<Record<string, string>>;
  readonly pool: PoolIdentity;
  readonly classRef: NodeClassRef;
  readonly requirements: readonly RequirementSpec[];
  readonly requests: Resources;
  readonly taints: readonly Taint[];
  readonly startupTaints: readonly Taint[];
  readonly expireAfterMs?: number;
  readonly terminationGracePeriodMs?: number;
  readonly nodeName?: string;
  readonly providerId?: string;
  readonly imageId?: string;
  readonly capacity: Resources;
  readonly allocatable: Resources;
  readonly conditions: readonly Condition[];
  readonly lastPodEventMs?: number;
};
