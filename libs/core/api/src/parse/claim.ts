import type { Meta, Parsed, Raw } from '@dovetail/core-kube-model';
import {
  optional,
  parsed,
  readMeta,
  readObject,
  readRecord,
  readRequirementSpecs,
  readResources,
  readTaints,
  readText,
  readTimeMs,
} from '@dovetail/core-kube-model';

import type { NodeClaim } from '../claim.js';
import { annotations, labels } from '../names.js';
import { noPool, type PoolIdentity } from '../pool.js';
import { readConditions, readDurationMs } from './fields.js';
import { readClassRef } from './node-pool.js';

function readPool(meta: Meta): PoolIdentity {
  const nodePool = meta.labels[labels.nodePool];
  if (nodePool !== undefined) return { kind: 'NodePool', name: nodePool };
  const provisioner = meta.labels[labels.provisioner];
  if (provisioner !== undefined) return { kind: 'Provisioner', name: provisioner };
  return noPool;
}

type StatusPart = Pick<
  NodeClaim,
  | 'nodeName'
  | 'providerId'
  | 'imageId'
  | 'capacity'
  | 'allocatable'
  | 'conditions'
  | 'lastPodEventMs'
>;

function readStatus(status: Raw): StatusPart {
  return {
    ...optional('nodeName', readText(status['nodeName'], 'status.nodeName') || undefined),
    ...optional('providerId', readText(status['providerID'], 'status.providerID') || undefined),
    ...optional('imageId', readText(status['imageID'], 'status.imageID') || undefined),
    capacity: readResources(status['capacity'], 'status.capacity'),
    allocatable: readResources(status['allocatable'], 'status.allocatable'),
    conditions: readConditions(status),
    ...optional(
      'lastPodEventMs',
      readTimeMs(status['lastPodEventTime'], 'status.lastPodEventTime'),
    ),
  };
}

/**
 * When the launcher planned the claim. Ages count from here, because services compare times of
 * their own clocks.
 */
const readPlannedMs = (meta: Meta): number | undefined =>
  readTimeMs(meta.annotations[annotations.planned], `metadata.annotations[${annotations.planned}]`);

/**
 * Reads a NodeClaim of karpenter.sh/v1. A claim without a pool's label is one that a person has
 * made: its pool is `noPool`.
 */
export function nodeClaimOf(raw: unknown): Parsed<NodeClaim> {
  return parsed((): NodeClaim => {
    const object = readObject(raw);
    const meta = readMeta(object);
    const spec = readRecord(object['spec'], 'spec');
    return {
      uid: meta.uid,
      name: meta.name,
      resourceVersion: meta.resourceVersion,
      createdMs: readPlannedMs(meta) ?? meta.createdMs,
      ...optional('deletionMs', meta.deletionMs),
      finalizers: meta.finalizers,
      labels: meta.labels,
      annotations: withoutLastApplied(meta.annotations),
      pool: readPool(meta),
      classRef: readClassRef(spec['nodeClassRef'], 'spec.nodeClassRef'),
      requirements: readRequirementSpecs(spec['requirements'], 'spec.requirements'),
      requests: readResources(
        readRecord(spec['resources'], 'spec.resources')['requests'],
        'spec.resources.requests',
      ),
      taints: readTaints(spec['taints'], 'spec.taints'),
      startupTaints: readTaints(spec['startupTaints'], 'spec.startupTaints'),
      ...optional(
        'expireAfterMs',
        readDurationMs(spec['expireAfter'], 'spec.expireAfter', { allowNever: true }),
      ),
      ...optional(
        'terminationGracePeriodMs',
        readDurationMs(spec['terminationGracePeriod'], 'spec.terminationGracePeriod', {
          allowNever: false,
        }),
      ),
      ...readStatus(readRecord(object['status'], 'status')),
    };
  });
}

/** kubectl's copy of the whole object, which is nothing that anyone asked of the node. */
const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';

/** Registration copies a claim's annotations to its node, so all of them are kept. */
const withoutLastApplied = (
  annotations: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> => {
  const { [lastApplied]: _copy, ...rest } = annotations;
  return rest;
};
