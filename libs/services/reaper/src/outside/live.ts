import { type NodeClaim, nodeClaimOf } from '@dovetail/core-api';
import { type Node, nodeOf, type Parsed, type Pod, podOf } from '@dovetail/core-kube-model';
import {
  type KubeObject,
  type KubeReads,
  kubeResources,
  type ObjectRef,
} from '@dovetail/core-ports';

import type { ReaperCluster } from '../cluster/reaper-cluster.js';

/** An object as it is now; undefined when it is gone or cannot be read, which watches report. */
async function readLive<T>(
  kube: KubeReads,
  ref: ObjectRef,
  read: (object: KubeObject) => Parsed<T>,
): Promise<T | undefined> {
  const object = await kube.get(ref);
  const parsed = object === undefined ? undefined : read(object);
  return parsed?.ok === true ? parsed.value : undefined;
}

/** The claim of this name as it is now. Rejects with KubeError, as all of these. */
export const readClaim = (kube: KubeReads, name: string): Promise<NodeClaim | undefined> =>
  readLive(kube, { resource: kubeResources.nodeClaims, name }, nodeClaimOf);

/** Where a node is found and read. */
type NodeReads = {
  readonly deps: { readonly kube: KubeReads };
  readonly cluster: Pick<ReaperCluster, 'nodeOfClaim'>;
};

/** The claim's node as it is now: never another one that has taken its name. */
export async function readNode(
  { deps, cluster }: NodeReads,
  claim: NodeClaim,
): Promise<Node | undefined> {
  const name = cluster.nodeOfClaim(claim)?.name ?? claim.nodeName;
  if (name === undefined) return undefined;
  const node = await readLive(deps.kube, { resource: kubeResources.nodes, name }, nodeOf);
  const [claimed, held] = [claim.providerId, node?.providerId];
  const isAnother = claimed !== undefined && held !== undefined && held !== claimed;
  return isAnother ? undefined : node;
}

/**
 * The pods bound to a node, as the API server has them now. Rejects when one of them cannot be
 * read: it must not be overlooked.
 */
export async function readPodsOn(kube: KubeReads, nodeName: string): Promise<readonly Pod[]> {
  const objects = await kube.list(kubeResources.pods, {
    fieldSelector: `spec.nodeName=${nodeName}`,
  });
  return objects.map((object) => {
    const pod = podOf(object);
    if (pod.ok) return pod.value;
    const { namespace = '', name } = object.metadata;
    throw new Error(
      `pod ${namespace}/${name} on ${nodeName} cannot be read: ${pod.field} is ${pod.value}; ${pod.remedy}`,
    );
  });
}
