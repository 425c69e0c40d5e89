import type { Pod } from '@dovetail/core-kube-model';

import type { NewNode, Placement, Plan, Violation } from '../plan.js';
import type { PlanOptions, Snapshot } from '../snapshot.js';
import { Census } from './census.js';
import { hostViolations } from './fit.js';
import { type Host, hostsOf } from './hosts.js';
import { limitViolations, reservationViolations } from './limits.js';
import { spreadViolations } from './spread.js';
import { affinityViolations, antiAffinityViolations } from './topology.js';

type Parts = { readonly newNodes: readonly NewNode[]; readonly placements: readonly Placement[] };

/** Checks that the plan names each of the pods exactly once, and no other pods. */
function bookkeeping(pods: readonly Pod[], plan: Plan): readonly Violation[] {
  const times = new Map<string, number>();
  const uids = [
    ...plan.newNodes.flatMap((node) => node.podUids),
    ...plan.placements.flatMap((one) => one.podUids),
    ...plan.unplaced.map((one) => one.podUid),
  ];
  for (const uid of uids) times.set(uid, (times.get(uid) ?? 0) + 1);
  const asked = new Set(pods.map((pod) => pod.uid));
  return [
    ...[...asked]
      .filter((uid) => !times.has(uid))
      .map((uid) => ({
        code: 'missing-pod' as const,
        where: uid,
        message: `pod ${uid} is neither placed nor explained`,
      })),
    ...[...times]
      .filter(([uid]) => !asked.has(uid))
      .map(([uid]) => ({
        code: 'unknown-pod' as const,
        where: uid,
        message: `pod ${uid} is not among the pods to plan`,
      })),
    ...[...times]
      .filter(([, count]) => count > 1)
      .map(([uid, count]) => ({
        code: 'double-placement' as const,
        where: uid,
        message: `pod ${uid} occurs ${count} times`,
      })),
    ...plan.unplaced
      .filter((one) => one.reasons.length === 0)
      .map((one) => ({
        code: 'missing-pod' as const,
        where: one.podUid,
        message: `pod ${one.podUid} is left out without a reason`,
      })),
  ];
}

function money(plan: Plan): readonly Violation[] {
  const sum = plan.newNodes.reduce(
    (total, node) => total + Math.min(...node.options.map((one) => one.priceMicrosPerHour)),
    0,
  );
  const found: Violation[] = [];
  if (sum !== plan.priceMicrosPerHour)
    found.push({
      code: 'wrong-price',
      where: 'plan',
      message: `the nodes cost ${sum} together, the plan says ${plan.priceMicrosPerHour}`,
    });
  if (plan.bound.priceMicrosPerHour > plan.priceMicrosPerHour)
    found.push({
      code: 'wrong-price',
      where: 'plan',
      message: `the plan costs ${plan.priceMicrosPerHour}, less than its bound of ${plan.bound.priceMicrosPerHour}`,
    });
  return found;
}

function podsOnHosts(
  parts: Parts,
  byUid: ReadonlyMap<string, Pod>,
): ReadonlyMap<string, readonly Pod[]> {
  const known = (uids: readonly string[]): readonly Pod[] =>
    uids.flatMap((uid) => byUid.get(uid) ?? []);
  return new Map([
    ...parts.newNodes.map((node) => [`bin ${node.id}`, known(node.podUids)] as const),
    ...parts.placements.map((one) => [`node ${one.nodeUid}`, known(one.podUids)] as const),
  ]);
}

type Judged = {
  readonly snapshot: Snapshot;
  readonly pods: readonly Pod[];
  readonly parts: Parts;
  readonly options: PlanOptions;
};

function judged(what: Judged): readonly Host[] {
  const byUid = new Map(what.pods.map((pod) => [pod.uid, pod]));
  return hostsOf(
    what.snapshot,
    { newNodes: what.parts.newNodes, podsOn: podsOnHosts(what.parts, byUid) },
    new Set(byUid.keys()),
  );
}

function together(
  hosts: readonly Host[],
  what: Judged,
  about: (host: Host) => boolean,
): readonly Violation[] {
  const world = {
    hosts,
    census: new Census(hosts),
    snapshot: what.snapshot,
    options: what.options,
  };
  return [
    ...hosts.filter(about).flatMap((host) => hostViolations(host, what.snapshot, what.options)),
    ...spreadViolations(world, about),
    ...affinityViolations(world, about),
    ...antiAffinityViolations(world, about),
    ...limitViolations(hosts, what.snapshot),
    ...reservationViolations(hosts, what.snapshot),
  ];
}

/**
 * Verifies a whole plan from the snapshot and the pods alone. It checks resources with daemonsets,
 * taints, node affinity, spread, (anti-)affinity in both directions, and host ports. It also checks
 * volumes, limits, reservations and prices, and that every pod is in exactly one place. Every
 * option of a new node must hold all its pods. A plan without violations may be carried out.
 */
export function checkPlan(
  snapshot: Snapshot,
  pods: readonly Pod[],
  plan: Plan,
  options: PlanOptions,
): readonly Violation[] {
  const what: Judged = { snapshot, pods, parts: plan, options };
  const nodes = new Set(snapshot.nodes.map((node) => node.uid));
  const lost = plan.placements
    .filter((one) => !nodes.has(one.nodeUid))
    .map((one) => ({
      code: 'unknown-node' as const,
      where: one.nodeName,
      message: `node ${one.nodeName} (${one.nodeUid}) does not exist`,
    }));
  return [
    ...bookkeeping(pods, plan),
    ...money(plan),
    ...lost,
    ...together(judged(what), what, () => true),
  ];
}

/**
 * Checks one new node against a snapshot, as admission does with the live cluster. `pods` are the
 * current pods of the bin and of its companions. `beside` are the other nodes and placements of the
 * plan that are still to be carried out. Spread is checked together with them, because the nodes of
 * a plan may be level only together. Bins that were admitted before belong in the snapshot, as
 * claims in flight with promised pods.
 */
export function checkBin(
  snapshot: Snapshot,
  pods: readonly Pod[],
  bin: NewNode,
  options: PlanOptions,
  beside: Parts = { newNodes: [], placements: [] },
): readonly Violation[] {
  const have = new Set(pods.map((pod) => pod.uid));
  const missing = bin.podUids
    .filter((uid) => !have.has(uid))
    .map((uid) => ({
      code: 'unknown-pod' as const,
      where: uid,
      message: `pod ${uid} of ${bin.id} does not exist`,
    }));
  const what: Judged = {
    snapshot,
    pods,
    options,
    parts: {
      newNodes: [bin, ...beside.newNodes.filter((one) => one.id !== bin.id)],
      placements: beside.placements,
    },
  };
  const hosts = judged(what);
  const pool = `${bin.pool.kind}/${bin.pool.name}`;
  const mine = (one: Violation): boolean =>
    one.where === bin.id ||
    one.where === pool ||
    bin.options.some((option) => option.reservationId === one.where);
  return [...missing, ...together(hosts, what, (host) => host.name === bin.id).filter(mine)];
}
