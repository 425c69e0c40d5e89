import { present } from '@dovetail/core-invariant';
import type { Pod } from '@dovetail/core-kube-model';
import {
  checkPlan,
  defaultPlanOptions,
  type NewNode,
  type Plan,
  plan,
  type PlanOptions,
  type Reason,
} from '@dovetail/core-scheduling';

import type { PeerResult } from '../planner/peer.js';
import type { BenchWorld } from '../worlds/objects.js';
import { beyondSkew, seatsOf, unmetPreferences } from './preferences.js';

const options: PlanOptions = { ...defaultPlanOptions, stepsMax: 0 };

/**
 * Where a plan is dearer than Karpenter's or places fewer pods: a reason of the page on
 * compatibility, or none.
 */
export type Difference = {
  readonly world: string;
  readonly what: 'fewer pods' | 'dearer';
  readonly ours: string;
  readonly theirs: string;
  readonly reason?: string;
};

const shown = (left: number, micros: number, nodes: number): string =>
  `${left} left out, ${nodes} nodes, $${(micros / 1e6).toFixed(4)}/h`;

function nodeOf(world: BenchWorld, node: PeerResult['nodes'][number], id: string): NewNode {
  const { pool } = present(
    world.snapshot.pools.find((one) => one.pool.identity.name === node.nodePool),
    'Karpenter opens nodes in the pools that it was given',
  );
  return {
    id,
    pool: pool.identity,
    options: [
      {
        instanceType: node.instanceType,
        zone: node.zone,
        capacityType: node.capacityType,
        priceMicrosPerHour: Math.round(node.price * 1e6),
      },
    ],
    requirements: pool.requirements,
    labels: pool.labels,
    taints: pool.taints,
    requests: {},
    podUids: node.pods,
    topologyGroups: [],
    minValuesRelaxed: false,
    notes: [],
  };
}

const left: Reason = { code: 'displaced', message: 'Karpenter left it out', values: {} };

/** Karpenter's plan in our form, each node as the cheapest that it may become. */
function theirPlan(world: BenchWorld, peer: PeerResult, ours: Plan): Plan {
  const placed = new Set([
    ...peer.nodes.flatMap((node) => node.pods),
    ...Object.values(peer.existing).flat(),
  ]);
  return {
    ...ours,
    newNodes: peer.nodes.map((node, index) => nodeOf(world, node, `bin-${index}`)),
    placements: Object.entries(peer.existing).map(([nodeName, podUids]) => ({
      nodeName,
      nodeUid: world.snapshot.nodes.find(({ name }) => name === nodeName)?.uid ?? '',
      podUids,
      topologyGroups: [],
    })),
    unplaced: world.pods.flatMap(({ uid }) =>
      placed.has(uid) ? [] : [{ podUid: uid, reasons: [left] }],
    ),
    priceMicrosPerHour: Math.round(peer.pricePerHour * 1e6),
  };
}

/** Returns the values of a key that some pool offers. */
const offered =
  (world: BenchWorld) =>
  (key: string): readonly string[] => [
    ...new Set(
      world.snapshot.pools.flatMap(({ pool }) =>
        pool.requirements.flatMap((one) => (one.key === key ? one.values : [])),
      ),
    ),
  ];

/** Whether a plan passes the skew of some hard spread if every domain of the pools counts. */
function leavesDomainsOut(world: BenchWorld, theirs: Plan): boolean {
  const seats = seatsOf(world, theirs);
  return world.pods.some((pod) =>
    pod.topologySpread.some(
      (spread) =>
        spread.whenUnsatisfiable === 'DoNotSchedule' &&
        beyondSkew(seats, spread, offered(world)(spread.topologyKey)) > 0,
    ),
  );
}

/** Returns the weight of the pool of each pod on a new node, together. */
const weightOf = (world: BenchWorld, { newNodes }: Plan): number =>
  newNodes.reduce((sum, { pool, podUids }) => {
    const found = world.snapshot.pools.find((one) => one.pool.identity.name === pool.name);
    return sum + (found?.pool.weight ?? 0) * podUids.length;
  }, 0);

/** Why Karpenter's plan cannot be had here, or is not wanted; undefined when there is no reason. */
function reasonFor(world: BenchWorld, ours: Plan, theirs: Plan): string | undefined {
  const violations = checkPlan(world.snapshot, world.pods, theirs, {
    ...options,
    hostnameSpread: 'strict',
  });
  const codes = [...new Set(violations.map(({ code }) => code))].sort();
  if (codes.length > 0) return `Karpenter's plan breaks a rule: ${codes.join(', ')}`;
  if (leavesDomainsOut(world, theirs)) return 'Karpenter leaves domains of the pools out';
  if (ours.unplaced.length > theirs.unplaced.length) return undefined;
  const unmet = (plan: Plan): number => unmetPreferences(world, plan, offered(world));
  if (unmet(ours) < unmet(theirs)) return 'Karpenter meets fewer preferences';
  const limited = world.snapshot.pools.some(({ pool }) => Object.keys(pool.limits).length > 0);
  // Nodes that are charged pessimistically leave Karpenter no room to try preferences in order.
  if (limited && unmet(theirs) > 0) return 'a limit makes Karpenter give up other preferences';
  if (weightOf(world, ours) > weightOf(world, theirs)) return 'Karpenter uses lighter pools';
  return undefined;
}

/** Returns the pods that have a place here and none in Karpenter's plan. */
export function placedOnlyHere(world: BenchWorld, peer: PeerResult): readonly Pod[] {
  const ours = plan(world.snapshot, world.pods, options);
  const left = new Set(ours.unplaced.map(({ podUid }) => podUid));
  const leftThere = new Set(theirPlan(world, peer, ours).unplaced.map(({ podUid }) => podUid));
  return world.pods.filter(({ uid }) => !left.has(uid) && leftThere.has(uid));
}

/** Plans a world and says where Karpenter's plan of it is better. */
export function differenceOf(world: BenchWorld, peer: PeerResult): Difference | undefined {
  const ours = plan(world.snapshot, world.pods, options);
  const violations = checkPlan(world.snapshot, world.pods, ours, options);
  if (violations.length > 0)
    throw new Error(`${world.name}: ${violations.map(({ message }) => message).join('; ')}`);
  const theirs = theirPlan(world, peer, ours);
  const fewer = ours.unplaced.length > theirs.unplaced.length;
  const dearer =
    ours.unplaced.length === theirs.unplaced.length &&
    ours.priceMicrosPerHour > theirs.priceMicrosPerHour;
  if (!fewer && !dearer) return undefined;
  const reason = reasonFor(world, ours, theirs);
  return {
    world: world.name,
    what: fewer ? 'fewer pods' : 'dearer',
    ours: shown(ours.unplaced.length, ours.priceMicrosPerHour, ours.newNodes.length),
    theirs: shown(theirs.unplaced.length, theirs.priceMicrosPerHour, theirs.newNodes.length),
    ...(reason === undefined ? {} : { reason }),
  };
}
