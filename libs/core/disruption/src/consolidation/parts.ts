import { numberAt } from '@dovetail/core-invariant';
import type { NewNode, Placement, Plan } from '@dovetail/core-scheduling';

import type { Candidate } from './candidates.js';

/** Nodes that go together, and the part of a plan that holds their pods. */
export type Part = { readonly candidates: readonly Candidate[]; readonly plan: Plan };

/**
 * Cuts a plan for the pods of some nodes into the smallest parts that stand alone. Nodes belong
 * together if pods of both go to one new node. Nodes that stay are shared by all parts: their rooms
 * hold the pods of all of them, so also those of some.
 */
export function partsOf(candidates: readonly Candidate[], plan: Plan): readonly Part[] {
  const nodeOf = new Map(
    candidates.flatMap((candidate, index) =>
      candidate.pods.map(({ uid }) => [uid, index] as const),
    ),
  );
  const leaders = candidates.map((_candidate, index) => index);
  const leaderOf = (index: number): number => {
    let leader = index;
    while (numberAt(leaders, leader) !== leader) leader = numberAt(leaders, leader);
    return leader;
  };
  for (const { podUids } of plan.newNodes) {
    const [first, ...others] = podUids.flatMap((uid) => nodeOf.get(uid) ?? []);
    for (const other of first === undefined ? [] : others)
      leaders[leaderOf(other)] = leaderOf(first ?? other);
  }
  const groups = new Map<number, Candidate[]>();
  candidates.forEach((candidate, index) => {
    const leader = leaderOf(index);
    groups.set(leader, [...(groups.get(leader) ?? []), candidate]);
  });
  return [...groups.values()].map((group) => ({ candidates: group, plan: partOf(plan, group) }));
}

/** The part of a plan that holds the pods of some nodes. */
function partOf(plan: Plan, group: readonly Candidate[]): Plan {
  const moving = new Set(group.flatMap(({ pods }) => pods.map(({ uid }) => uid)));
  const within = <T extends NewNode | Placement>(places: readonly T[]): readonly T[] =>
    places.flatMap((place) => {
      const podUids = place.podUids.filter((uid) => moving.has(uid));
      return podUids.length === 0 ? [] : [{ ...place, podUids }];
    });
  const newNodes = within(plan.newNodes);
  return {
    ...plan,
    newNodes,
    placements: within(plan.placements),
    unplaced: plan.unplaced.filter(({ podUid }) => moving.has(podUid)),
    priceMicrosPerHour: newNodes.reduce((sum, { options }) => sum + priceOf(options), 0),
    bound: { kind: 'none', priceMicrosPerHour: 0 },
    stats: { ...plan.stats, pods: moving.size },
  };
}

const priceOf = ([first]: NewNode['options']): number => first?.priceMicrosPerHour ?? 0;
