import type { NodeClaim } from '@dovetail/core-api';
import { instanceIdOf } from '@dovetail/core-cluster';
import {
  attachmentsToAwait,
  type InstanceState,
  isDrainable,
  isToldToEnd,
  terminationDeadlineMs,
  type TerminationFacts,
  terminationStep,
} from '@dovetail/core-disruption';
import type { Node, Pod, VolumeAttachment } from '@dovetail/core-kube-model';
import { type KubeReads, kubeResources, type StopSignal } from '@dovetail/core-ports';

import type { ReaperCluster } from '../cluster/reaper-cluster.js';
import type { ReaperContext } from '../context.js';
import { kubeBy } from '../deps.js';
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
async function awaited(
  { deps, cluster }: ReaperContext,
  claim: NodeClaim,
  on: { readonly attachments: readonly VolumeAttachment[]; readonly pods: readonly Pod[] },
): Promise<readonly VolumeAttachment[]> {
  if (on.attachments.length === 0) return [];
  const clock = { nowMs: deps.clock.nowMs(), endingSeenMs: cluster.podEndingSeenMs };
  const staying = on.pods.filter((pod) => !isDrainable(pod, clock));
  const kube = kubeBy(deps, terminationDeadlineMs(claim));
  return attachmentsToAwait(on.attachments, await volumesOf(kube, staying));
}

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
  return node?.ready === true && !isToldToEnd(claim) ? 'live' : instances.state(id, stop);
}

/** A claim that is being deleted, with its node. */
export type Ending = {
  readonly claim: NodeClaim;
  readonly node: Node | undefined;
  /** When this process first saw it being deleted. */
  readonly endingSinceMs: number;
};

/** The parts that do not differ between watch and API server. */
async function beginningsOf(
  context: ReaperContext,
  { claim, node, endingSinceMs }: Ending,
  stop: StopSignal,
): Promise<TerminationFacts> {
  const { deps, config } = context;
  const instance = await instanceOf(context, claim, node, stop);
  const nowMs = deps.clock.nowMs();
  const { drainMinMs, hiddenMsMax } = config.termination;
  const { podEndingSeenMs } = context.cluster;
  const times = { nowMs, endingSinceMs, drainMinMs, hiddenMsMax, podEndingSeenMs };
  const facts = { claim, instance, ...times, pods: [], attachments: [] };
  return node === undefined ? facts : { ...facts, node };
}

/** Whether pods and volumes still count: an instance that is ending takes them with it. */
const isLive = ({ node, instance }: TerminationFacts): boolean =>
  node !== undefined && (instance === 'live' || instance === 'missing');

/** The names of all Nodes of the claim: the end of its instance ends the pods of each. */
const namesOf = (cluster: ReaperCluster, { claim, node }: Ending): readonly string[] => [
  ...new Set([node, ...cluster.nodesOfClaim(claim)].flatMap((one) => one?.name ?? [])),
];

/**
 * The facts as our own watches show them. They tell what to wait for and cost the API server
 * nothing. No step that cannot be taken back rests on them.
 */
export async function watchedFacts(
  context: ReaperContext,
  ending: Ending,
  stop: StopSignal,
): Promise<TerminationFacts> {
  const { cluster } = context;
  const facts = await beginningsOf(context, ending, stop);
  if (!isLive(facts) || ending.node === undefined) return facts;
  const names = namesOf(cluster, ending);
  const pods = names.flatMap((name) => cluster.pods.by('node', name));
  const attachments = names.flatMap((name) => cluster.attachments.by('node', name));
  return {
    ...facts,
    pods,
    attachments: await awaited(context, facts.claim, { attachments, pods }),
  };
}

/** The facts as the API server has them now, for the steps that cannot be taken back. */
export async function liveFacts(
  context: ReaperContext,
  ending: Ending,
  stop: StopSignal,
): Promise<TerminationFacts> {
  const facts = await beginningsOf(context, ending, stop);
  if (!isLive(facts) || ending.node === undefined) return facts;
  const deadlineMs = terminationDeadlineMs(ending.claim);
  const kube = kubeBy(context.deps, deadlineMs);
  const names = namesOf(context.cluster, ending);
  const pods = (await Promise.all(names.map((name) => readPodsOn(kube, name)))).flat();
  // Volumes are of interest once the pods are gone: the list is of the whole cluster.
  if (terminationStep({ ...facts, pods }).kind !== 'terminate') return { ...facts, pods };
  const on = (name: string) => context.attachments.on(name, deadlineMs, stop);
  const attachments = (await Promise.all(names.map(on))).flat();
  return {
    ...facts,
    pods,
    attachments: await awaited(context, facts.claim, { attachments, pods }),
  };
}
