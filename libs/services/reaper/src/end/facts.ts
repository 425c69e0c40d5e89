import type { NodeClaim } from '@dovetail/core-api';
import {
  attachmentsToAwait,
  instanceIdOf,
  type InstanceState,
  isDrainable,
  isTaintedDisrupted,
  planDrain,
  type TerminationFacts,
} from '@dovetail/core-disruption';
import {
  type Node,
  type Pod,
  type VolumeAttachment,
  volumeAttachmentOf,
} from '@dovetail/core-kube-model';
import { type KubeReads, kubeResources, type StopSignal } from '@dovetail/core-ports';

import type { ReaperContext } from '../context.js';
import { readPodsOn } from '../outside/live.js';

/** Names of the volumes that these pods use. */
async function volumesOf(kube: KubeReads, pods: readonly Pod[]): Promise<ReadonlySet<string>> {
  const names = new Set<string>();
  for (const { namespace, volumes } of pods) {
    for (const { claimName } of volumes) {
      const resource = kubeResources.persistentVolumeClaims;
      const claim = await kube.get({ resource, namespace, name: claimName });
      const volume = (claim?.['spec'] as { readonly volumeName?: unknown } | undefined)?.volumeName;
      if (typeof volume === 'string') names.add(volume);
    }
  }
  return names;
}

/** The attachments to wait for; those of pods that stay on the node are not among them. */
async function attachmentsOf(
  { deps, world }: ReaperContext,
  node: Node,
  pods: readonly Pod[],
): Promise<readonly VolumeAttachment[]> {
  if (world.attachments.by('node', node.name).length === 0) return [];
  const objects = await deps.kube.list(kubeResources.volumeAttachments);
  const attachments = objects.flatMap((object) => {
    const parsed = volumeAttachmentOf(object);
    return parsed.ok && parsed.value.nodeName === node.name ? [parsed.value] : [];
  });
  const staying = pods.filter((pod) => !isDrainable(pod, deps.clock.nowMs()));
  return attachmentsToAwait(attachments, await volumesOf(deps.kube, staying));
}

const hasTerminated = (claim: NodeClaim): boolean =>
  claim.conditions.some(({ type, status }) => type === 'InstanceTerminating' && status === 'True');

/**
 * EC2 is asked only where its answer matters: once we have ended the instance, or when its node is
 * missing or silent. A node that is Ready runs on an instance that is live.
 */
async function instanceOf(
  { instances }: ReaperContext,
  claim: NodeClaim,
  node: Node | undefined,
  stop: StopSignal,
): Promise<InstanceState> {
  const id = instanceIdOf(claim);
  if (id === undefined) return 'never-launched';
  return node?.ready === true && !hasTerminated(claim) ? 'live' : instances.state(id, stop);
}

/** A claim that is being deleted, with its node, both read live. */
export type Ending = {
  readonly claim: NodeClaim;
  readonly node: Node | undefined;
  /** When this process first saw it being deleted. */
  readonly endingSinceMs: number;
};

/**
 * Everything that the next step of ending a claim is decided on. Pods come from the watch while
 * there are some, and are read live before they count as gone.
 */
export async function factsOf(
  context: ReaperContext,
  { claim, node, endingSinceMs }: Ending,
  stop: StopSignal,
): Promise<TerminationFacts> {
  const { deps, world, config } = context;
  const { kube, clock } = deps;
  const instance = await instanceOf(context, claim, node, stop);
  const nowMs = clock.nowMs();
  const { drainMinMs } = config.termination;
  const facts = { claim, instance, nowMs, endingSinceMs, drainMinMs };
  if (node === undefined) return { ...facts, pods: [], attachments: [] };
  const watched = world.pods.by('node', node.name);
  const seemsEmpty = isTaintedDisrupted(node) && planDrain(watched, { nowMs }).done;
  if (!seemsEmpty) return { ...facts, node, pods: watched, attachments: [] };
  const pods = await readPodsOn(kube, node.name);
  return { ...facts, node, pods, attachments: await attachmentsOf(context, node, pods) };
}
