import type { RequirementSpec, Resources, Taint } from '@dovetail/core-kube-model';

import type { NodeClassRef } from './node-class.js';
import type { PoolIdentity } from './pool.js';

/** The status of a Kubernetes condition. */
export type ConditionStatus = 'True' | 'False' | 'Unknown';
/** A condition of an object's status. `lastTransitionMs` is 0 when the object names no time. */
export type Condition = {
  readonly type: string;
  readonly status: ConditionStatus;
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionMs: number;
};

/** A NodeClaim of karpenter.sh/v1, projected. Times are milliseconds since 1970. */
export type NodeClaim = {
  readonly uid: string;
  readonly name: string;
  readonly resourceVersion: string;
  /** When the launcher planned it, or else when the API server created it. */
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
  /** Absent: the node never expires. */
  readonly expireAfterMs?: number;
  readonly terminationGracePeriodMs?: number;
  /** The node that it became; absent until the node has joined. */
  readonly nodeName?: string;
  readonly providerId?: string;
  readonly imageId?: string;
  readonly capacity: Resources;
  readonly allocatable: Resources;
  readonly conditions: readonly Condition[];
  readonly lastPodEventMs?: number;
};
