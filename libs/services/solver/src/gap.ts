import type { GapReply } from '@dovetail/contracts';
import { labels } from '@dovetail/core-api';
import { type OfferingIdentity, offeringKey } from '@dovetail/core-ec2-model';
import { isReschedulable, type Pod, uprooted } from '@dovetail/core-kube-model';
import {
  type ExistingNode,
  type Plan,
  plan,
  type Planned,
  type PlanOptions,
  type Snapshot,
} from '@dovetail/core-scheduling';

import type { Mirror } from './mirror.js';
import type { OwnTime } from './own-time.js';
import { opening, snapshotOf } from './snapshot.js';

/** Nodes whose pods are taken in one step, which takes about a millisecond. */
const nodesPerStep = 256;

/** The nodes with claims, their pods, and the cluster as if none of these nodes was there. */
type Nothing = {
  readonly nodes: readonly ExistingNode[];
  readonly pods: readonly Pod[];
  readonly snapshot: Snapshot;
  readonly statePosition: GapReply['statePosition'];
};

/** A plan from nothing beside the present price, with all that a proof of its bound reads. */
export type MeasuredGap = {
  /** The answer, with the plan's own bound. */
  readonly gap: GapReply;
  readonly plan: Plan;
  readonly planned: Planned;
};

/**
 * Takes all nodes with claims out of the mirror's present state, those on their way too. The pods
 * that would need another place are to be planned, even if nothing may move them now: the question
 * is what they would have to cost. Nodes of other owners stay with their pods, and take none. Pool
 * limits count none of the nodes that were taken out. It calls `giveWay` once the mirror is read.
 */
export function nothingOf(mirror: Mirror, nowMs: number, giveWay?: () => void): Nothing {
  const { incarnation, sequence } = mirror.position;
  const known = snapshotOf(mirror, { without: new Set(), moving: new Set(), nowMs });
  const nodes = known.nodes.filter(({ claimName }) => claimName !== undefined);
  const others = known.nodes.filter(({ claimName }) => claimName === undefined);
  const pods = new Map<string, Pod>();
  for (const [index, node] of nodes.entries()) {
    if (index % nodesPerStep === 0) giveWay?.();
    for (const pod of [...node.pods, ...node.promisedPods])
      if (isReschedulable(pod) && !pods.has(pod.uid)) pods.set(pod.uid, uprooted(pod));
  }
  return {
    nodes,
    pods: [...pods.values()],
    snapshot: opening({ ...known, nodes: others }, new Set()),
    statePosition: { incarnation, sequence },
  };
}

/** Whether the price of a node, or of a new node as it is counted, is an estimate. */
function isEstimated(nodes: readonly ExistingNode[], made: Plan, { pools }: Snapshot): boolean {
  const estimates = new Set<string>();
  for (const { instanceTypes } of pools)
    for (const { name: instanceType, offerings } of instanceTypes)
      for (const offering of offerings)
        if (offering.priceEstimated) estimates.add(offeringKey({ ...offering, instanceType }));
  if (estimates.size === 0) return false;
  const isOne = (offering: OfferingIdentity): boolean => estimates.has(offeringKey(offering));
  return (
    nodes.some((node) =>
      isOne({
        instanceType: node.labels[labels.instanceType] ?? '',
        zone: node.labels[labels.zone] ?? '',
        capacityType: node.labels[labels.capacityType] as OfferingIdentity['capacityType'],
      }),
    ) || made.newNodes.some(({ options: [first] }) => first !== undefined && isOne(first))
  );
}

/** Plans the pods from nothing, and compares the price with that of the nodes that hold them. */
export function measuredGap(
  { nodes, pods, snapshot, statePosition }: Nothing,
  options: PlanOptions,
  time: OwnTime,
): MeasuredGap {
  const made = plan(snapshot, pods, options);
  const priced = nodes.flatMap(({ priceMicrosPerHour: price }) => price ?? []);
  const gap: GapReply = {
    nodes: nodes.length,
    priceMicrosPerHour: priced.reduce((sum, price) => sum + price, 0),
    nodesWithoutPrice: nodes.length - priced.length,
    pods: pods.length,
    planNodes: made.newNodes.length,
    planPriceMicrosPerHour: made.priceMicrosPerHour,
    bound: made.bound,
    podsUnplaced: made.unplaced.length,
    statePosition,
    solveMs: time.spentMs(),
    priceEstimated: isEstimated(nodes, made, snapshot),
  };
  // The proof has its own time, and its own way to give way.
  const { giveWay: _, shouldStop: __, ...rules } = options;
  return { gap, plan: made, planned: { snapshot, pods, options: rules } };
}
