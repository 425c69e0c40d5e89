import { annotations, parsePromise, taints } from '@dovetail/core-api';
import {
  commandWaitMs,
  type DisruptionNote,
  isVoluntary,
  type NodeView,
  note,
  type PodLookup,
  type Retirement,
  type RetirementStep,
  retirementStep,
} from '@dovetail/core-disruption';
import { type Node, type Pod, podOf } from '@dovetail/core-kube-model';
import { kubeResources } from '@dovetail/core-ports';

import type { ReaperContext } from '../context.js';

/** A node that is being retired, with its claim and pods. */
export type Retired = NodeView & { readonly node: Node };

/** Says that a person has taken the taint of a retirement off its node. */
export const taintRemoved = ({ name }: Node): DisruptionNote =>
  note('taint-removed', `the taint ${taints.disrupted.key} was taken off ${name}`, {
    taint: taints.disrupted.key,
  });

/** The next step of a retirement, by this view of its node and by the promises of others. */
export async function stepOf(
  context: ReaperContext,
  view: Retired,
  retirement: Retirement,
): Promise<RetirementStep> {
  const { deps, cluster, config } = context;
  const { consolidationWaitMs } = config.disruption;
  const waitMs = commandWaitMs(consolidationWaitMs, cluster.retiringCount());
  const refused = cluster.refusedPlans.reasonFor(retirement, view);
  return retirementStep({
    retirement,
    view,
    rooms: cluster.roomsFor(view.pods).rooms,
    limits: { ...config.disruption, consolidationWaitMs: waitMs },
    budgetsOf: cluster.budgetsOf,
    podOf: await podLookup(context, view, retirement),
    nowMs: deps.clock.nowMs(),
    retiring: true,
    ...(refused === undefined ? {} : { refused }),
  });
}

/**
 * Promised pods may be younger than our watch: then all pods without a node are listed live. Only
 * a node that may stay is judged by its promises.
 */
async function podLookup(
  { deps, cluster }: ReaperContext,
  { claim, node }: Retired,
  retirement: Retirement,
): Promise<PodLookup> {
  const watched: PodLookup = (uid) => cluster.pods.get(uid);
  if (!isVoluntary(retirement)) return watched;
  const promised = [claim, node].flatMap(
    (holder) => parsePromise(holder.annotations[annotations.promise])?.podUids ?? [],
  );
  if (promised.every((uid) => watched(uid) !== undefined)) return watched;
  const objects = await deps.kube.list(kubeResources.pods, { fieldSelector: 'spec.nodeName=' });
  const unbound = objects.flatMap((object): readonly Pod[] => {
    const pod = podOf(object);
    return pod.ok ? [pod.value] : [];
  });
  const byUid = new Map(unbound.map((pod) => [pod.uid, pod]));
  return (uid) => byUid.get(uid) ?? watched(uid);
}
