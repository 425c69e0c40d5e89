import { nodeClaimOf, type NodeClaim } from '@dovetail/core-api';
import { attachmentsToAwait, instanceIdOf, isDrainable, isTaintedDisrupted, planDrain, type InstanceState, type TerminationFacts } from '@dovetail/core-disruption';
import { nodeOf, podOf, volumeAttachmentOf, type Node, type Parsed, type Pod, type VolumeAttachment } from '@dovetail/core-kube-model';
import { kubeResources, type KubeApi, type KubeObject, type ObjectRef, type StopSignal } from '@dovetail/core-ports';
import type { Reaping } from '../context.js';

/** An object as it is now; undefined when it is gone or cannot be read (which the watches report). */
export async function readLive<T extends { readonly uid: string }>(kube: KubeApi, ref: ObjectRef, read: (object: KubeObject) => Parsed<T>, uid?: string): Promise<T | undefined> {
  const object = await kube.get(ref);
  if (object === undefined) return undefined;
  const parsed = read(object);
  return parsed.ok && (uid === undefined || parsed.value.uid === uid) ? parsed.value : undefined;
}

export const readClaim = (kube: KubeApi, name: string): Promise<NodeClaim | undefined> => readLive(kube, { resource: kubeResources.nodeClaims, name }, nodeClaimOf);

/** The claim's node as it is now: the one with its provider ID, never another that took the name. */
export async function readNode(reaping: Pick<Reaping, 'deps' | 'world'>, claim: NodeClaim): Promise<Node | undefined> {
  const name = reaping.world.nodeOfClaim(claim)?.name ?? claim.nodeName;
  if (name === undefined) return undefined;
  const node = await readLive(reaping.deps.kube, { resource: kubeResources.nodes, name }, nodeOf);
  return node !== undefined && (claim.providerId === undefined || node.providerId === undefined || node.providerId === claim.providerId) ? node : undefined;
}

/** The pods bound to a node, as the API server has them now. A pod that cannot be read is an error: it must not be overlooked. */
export async function readPodsOn(kube: KubeApi, nodeName: string): Promise<readonly Pod[]> {
  const objects = await kube.list(kubeResources.pods, { fieldSelector: `spec.nodeName=${nodeName}` });
  return objects.map((object) => {
    const pod = podOf(object);
    if (!pod.ok) throw new Error(`pod ${object.metadata.namespace ?? ''}/${object.metadata.name} on ${nodeName} cannot be read: ${pod.field} is ${pod.value}; ${pod.remedy}`);
    return pod.value;
  });
}

/** Names of the volumes that pods which stay on the node use: their attachments are not waited for. */
async function volumesOf(kube: KubeApi, pods: readonly Pod[]): Promise<ReadonlySet<string>> {
  const names = new Set<string>();
  for (const pod of pods) {
    for (const { claimName } of pod.volumes) {
      const claim = await kube.get({ resource: kubeResources.persistentVolumeClaims, namespace: pod.namespace, name: claimName });
      const volume = (claim?.['spec'] as { readonly volumeName?: unknown } | undefined)?.volumeName;
      if (typeof volume === 'string') names.add(volume);
    }
  }
  return names;
}

async function attachmentsOf(reaping: Reaping, node: Node, pods: readonly Pod[]): Promise<readonly VolumeAttachment[]> {
  if (reaping.world.attachments.by('node', node.name).length === 0) return [];
  const { kube, clock } = reaping.deps;
  const live = (await kube.list(kubeResources.volumeAttachments)).flatMap((object) => {
    const parsed = volumeAttachmentOf(object);
    return parsed.ok && parsed.value.nodeName === node.name ? [parsed.value] : [];
  });
  return attachmentsToAwait(live, await volumesOf(kube, pods.filter((pod) => !isDrainable(pod, clock.nowMs()))));
}

const hasTerminated = (claim: NodeClaim): boolean => claim.conditions.some(({ type, status }) => type === 'InstanceTerminating' && status === 'True');

/**
 * EC2 is asked only where its answer matters: once we have ended the instance, or when its node is missing or silent. A node that
 * is Ready runs on an instance that is live.
 */
async function instanceOf(reaping: Reaping, claim: NodeClaim, node: Node | undefined, stop: StopSignal): Promise<InstanceState> {
  const id = instanceIdOf(claim);
  if (id === undefined) return 'never-launched';
  return node?.ready === true && !hasTerminated(claim) ? 'live' : reaping.instances.state(id, stop);
}

/** Everything that the next step of ending a claim is decided on. Pods come from the watch while there are some, and live before they count as gone. */
export async function factsOf(reaping: Reaping, claim: NodeClaim, endingSinceMs: number, stop: StopSignal): Promise<TerminationFacts> {
  const { deps, world, config } = reaping;
  const node = await readNode(reaping, claim);
  const instance = await instanceOf(reaping, claim, node, stop);
  const nowMs = deps.clock.nowMs();
  const watched = node === undefined ? [] : world.pods.by('node', node.name);
  const seemsEmpty = node !== undefined && isTaintedDisrupted(node) && planDrain(watched, { nowMs }).done;
  const pods = seemsEmpty ? await readPodsOn(deps.kube, node.name) : watched;
  const attachments = seemsEmpty ? await attachmentsOf(reaping, node, pods) : [];
  return { claim, ...(node === undefined ? {} : { node }), pods, attachments, instance, nowMs, endingSinceMs, drainMinMs: config.termination.drainMinMs };
}
