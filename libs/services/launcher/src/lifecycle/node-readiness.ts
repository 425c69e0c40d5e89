import type { NodeClaim } from '@dovetail/core-api';
import { isSameTaint } from '@dovetail/core-cluster';
import { lookUp } from '@dovetail/core-invariant';
import {
  describeTaint,
  isEphemeralTaint,
  type Node,
  type Resources,
} from '@dovetail/core-kube-model';
import type { NewCondition } from '@dovetail/service-kit';

const unknown = (reason: string, message: string): NewCondition => ({
  type: 'Initialized',
  status: 'Unknown',
  reason,
  message,
});

/**
 * Why a node is not initialized, with Karpenter's reasons and messages (nodeclaim/lifecycle,
 * initialization.go); undefined when it is. It must be Ready, without startup and ephemeral taints,
 * and report every resource that its claim requests.
 */
export function notInitialized(node: Node, claim: NodeClaim): NewCondition | undefined {
  if (!node.ready) return unknown('NodeNotReady', 'Node status is NotReady');
  const startup = node.taints.find((taint) =>
    claim.startupTaints.some((other) => isSameTaint(other, taint)),
  );
  if (startup !== undefined)
    return unknown('StartupTaintsExist', `StartupTaint "${describeTaint(startup)}" still exists`);
  const ephemeral = node.taints.find(isEphemeralTaint);
  if (ephemeral !== undefined)
    return unknown(
      'KnownEphemeralTaintsExist',
      `KnownEphemeralTaint "${describeTaint(ephemeral)}" still exists`,
    );
  const missing = missingResource(claim.requests, node.allocatable);
  return missing === undefined
    ? undefined
    : unknown('ResourceNotRegistered', `Resource "${missing}" was requested but not registered`);
}

/** The condition of a node that is ready and whose pods are still being bound. */
export const placingPods: NewCondition = unknown('NodeNotReady', 'pods are being placed');

/** The first resource, by name, that is requested and that the node does not report. */
const missingResource = (requests: Resources, allocatable: Resources): string | undefined =>
  Object.keys(requests)
    .sort()
    .find((name) => (lookUp(requests, name) ?? 0) > 0 && (lookUp(allocatable, name) ?? 0) === 0);
