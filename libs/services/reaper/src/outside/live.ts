import type { NodeClaim } from '@dovetail/core-api';
import { endingClaimOf } from '@dovetail/core-disruption';
import { type Node, nodeOf, type Parsed, type Pod, podOf } from '@dovetail/core-kube-model';
import {
  type KubeObject,
  type KubeReads,
  kubeResources,
  type ObjectRef,
} from '@dovetail/core-ports';

import type { ReaperCluster } from '../cluster/reaper-cluster.js';

/**
 * An object as it is now; undefined when it is gone. Rejects when it cannot be read: it is there,
 * and must not count as gone.
 */
async function readLive<T>(
  kube: KubeReads,
  ref: ObjectRef,
  read: (object: KubeObject) => Parsed<T>,
): Promise<T | undefined> {
  const object = await kube.get(ref);
  if (object === undefined) return undefined;
  const parsed = read(object);
  if (parsed.ok) return parsed.value;
  throw new Error(
    `${ref.resource.kind} ${ref.name} cannot be read: ${parsed.field} is ${parsed.value}; ${parsed.remedy}`,
  );
}

/** The claim of this name as it is now. Rejects with KubeError, as all of these. */
export const readClaim = (kube: KubeReads, name: string): Promise<NodeClaim | undefined> =>
  readLive(kube, { resource: kubeResources.nodeClaims, name }, endingClaimOf);

/** Where a node is found. */
type NodeFinder = Pick<ReaperCluster, 'nodeOfClaim'>;

/** The claim's node as it is now, but never another node that has taken its name. */
export async function readNode(
  kube: KubeReads,
  cluster: NodeFinder,
  claim: NodeClaim,
): Promise<Node | undefined> {
  const name = cluster.nodeOfClaim(claim)?.name ?? claim.nodeName;
  if (name === undefined) return undefined;
  const node = await readLive(kube, { resource: kubeResources.nodes, name }, nodeOf);
  const [claimed, held] = [claim.providerId, node?.providerId];
  const isAnother = claimed !== undefined && held !== undefined && held !== claimed;
  return isAnother ? undefined : node;
}

/** A pod cannot be read, so it is unknown what it needs. */
export class UnreadablePod extends Error {}

/**
 * The pods bound to a node, as the API server has them now. Rejects with UnreadablePod when one of
 * them cannot be read: it must not be overlooked.
 */
export async function readPodsOn(kube: KubeReads, nodeName: string): Promise<readonly Pod[]> {
  const objects = await kube.list(kubeResources.pods, {
    fieldSelector: `spec.nodeName=${nodeName}`,
  });
  return objects.map((object) => {
    const pod = podOf(object);
    if (pod.ok) return pod.value;
    const { namespace = '', name } = object.metadata;
    throw new UnreadablePod(
      `pod ${namespace}/${name} on ${nodeName} cannot be read: ${pod.field} is ${pod.value}; ${pod.remedy}`,
    );
  });
}
