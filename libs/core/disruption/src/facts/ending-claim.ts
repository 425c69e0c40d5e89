import {
  annotations as annotationNames,
  anotherProviderOf,
  type NodeClaim,
  nodeClaimOf,
} from '@dovetail/core-api';
import { type Parsed, recordOf } from '@dovetail/core-kube-model';

const plannedKey = annotationNames.planned;

/** The fields that end a claim, with stand-ins for those that a claim cannot be read without. */
function barely(raw: unknown, keepsGrace: boolean): unknown {
  const object = recordOf(raw);
  const metadata = recordOf(object['metadata']);
  const { [plannedKey]: _planned, ...annotations } = recordOf(metadata['annotations']);
  const spec = recordOf(object['spec']);
  const status = recordOf(object['status']);
  return {
    metadata: { ...metadata, labels: recordOf(metadata['labels']), annotations },
    spec: {
      nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'unknown' },
      ...(keepsGrace ? { terminationGracePeriod: spec['terminationGracePeriod'] } : {}),
    },
    status: {
      nodeName: status['nodeName'],
      providerID: status['providerID'],
      conditions: status['conditions'],
    },
  };
}

/**
 * Reads a NodeClaim. One that is being deleted is also read if only the fields that end it can be.
 * A mistake in its labels, requirements or time of planning must not keep its instance running. A
 * claim of another provider is never read: its owner ends it.
 */
export function endingClaimOf(raw: unknown): Parsed<NodeClaim> {
  const whole = nodeClaimOf(raw);
  if (whole.ok || anotherProviderOf(raw) !== undefined) return whole;
  for (const keepsGrace of [true, false]) {
    const bare = nodeClaimOf(barely(raw, keepsGrace));
    if (bare.ok && bare.value.deletionMs !== undefined) return bare;
  }
  return whole;
}
