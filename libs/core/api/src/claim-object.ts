import type { RequirementSpec, Resources, Taint } from '@dovetail/core-kube-model';
import { formatDuration, formatResources } from '@dovetail/core-kube-model';

import { terminationFinalizer } from './names.js';
import type { NodeClassRef } from './node-class.js';
import type { PoolIdentity } from './pool.js';
import { poolLabelOf } from './pool.js';

/**
 * The parts of a new NodeClaim. Labels and annotations come from pool and plan; pool and class
 * labels are added.
 */
export type NodeClaimParts = {
  readonly name: string;
  readonly pool: PoolIdentity;
  readonly poolUid: string;
  readonly classRef: NodeClassRef;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  readonly startupTaints: readonly Taint[];
  readonly requirements: readonly RequirementSpec[];
  readonly requests: Resources;
  /** Absent: the node never expires. */
  readonly expireAfterMs?: number;
  readonly terminationGracePeriodMs?: number;
};

/** A NodeClaim as the API server receives it. */
export type NodeClaimObject = {
  readonly apiVersion: 'karpenter.sh/v1';
  readonly kind: 'NodeClaim';
  readonly metadata: {
    readonly name: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations: Readonly<Record<string, string>>;
    readonly finalizers: readonly string[];
    readonly ownerReferences: readonly {
      apiVersion: string;
      kind: string;
      name: string;
      uid: string;
      blockOwnerDeletion: boolean;
    }[];
  };
  readonly spec: Readonly<Record<string, unknown>>;
};

/** The label that names a node's class: `<group>/<kind in lower case>`. */
export const classLabelOf = (ref: NodeClassRef): string => `${ref.group}/${ref.kind.toLowerCase()}`;

const poolApiVersion = (kind: PoolIdentity['kind']): string =>
  kind === 'NodePool' ? 'karpenter.sh/v1' : 'karpenter.sh/v1alpha5';

const requirementObject = (spec: RequirementSpec): object => ({
  key: spec.key,
  operator: spec.operator,
  ...(spec.values.length === 0 ? {} : { values: spec.values }),
  ...(spec.minValues === undefined ? {} : { minValues: spec.minValues }),
});

/**
 * Builds the NodeClaim of a bin. It has the finalizer from its first moment, so it cannot disappear
 * before its instance. Its pool owns it, so deleting the pool ends it.
 */
export function nodeClaimObject(parts: NodeClaimParts): NodeClaimObject {
  return {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodeClaim',
    metadata: {
      name: parts.name,
      labels: {
        ...parts.labels,
        [poolLabelOf(parts.pool.kind)]: parts.pool.name,
        [classLabelOf(parts.classRef)]: parts.classRef.name,
      },
      annotations: parts.annotations,
      finalizers: [terminationFinalizer],
      ownerReferences: [
        {
          apiVersion: poolApiVersion(parts.pool.kind),
          kind: parts.pool.kind,
          name: parts.pool.name,
          uid: parts.poolUid,
          blockOwnerDeletion: true,
        },
      ],
    },
    spec: {
      ...(parts.taints.length === 0 ? {} : { taints: parts.taints }),
      ...(parts.startupTaints.length === 0 ? {} : { startupTaints: parts.startupTaints }),
      requirements: parts.requirements.map(requirementObject),
      resources: { requests: formatResources(parts.requests) },
      nodeClassRef: parts.classRef,
      // The CRD's schema would default an absent field to 720h.
      expireAfter:
        parts.expireAfterMs === undefined ? 'Never' : formatDuration(parts.expireAfterMs),
      ...(parts.terminationGracePeriodMs === undefined
        ? {}
        : { terminationGracePeriod: formatDuration(parts.terminationGracePeriodMs) }),
    },
  };
}
