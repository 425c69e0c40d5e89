import { poolKey } from '@dovetail/core-api';
import type { Pod } from '@dovetail/core-kube-model';

import type { NewNode, Placement, Plan, Violation } from '../plan.js';
import type { PlanOptions, Snapshot, Surroundings } from '../snapshot.js';
import type { Seat } from './census.js';
import { claimViolations } from './claims.js';
import { hostViolations } from './fit.js';
import { type Host, planning } from './hosts.js';
import { limitViolations, reservationViolations } from './limits.js';
import { newHosts } from './new-hosts.js';
import { spreadViolations } from './spread.js';
import { StandingNodes } from './standing-nodes.js';
import { affinityViolations, antiAffinityViolations, type Topology } from './topology.js';

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

type Judged = {
  readonly standing: StandingNodes;
  readonly around: Surroundings;
  readonly pods: readonly Pod[];
  readonly parts: Parts;
  readonly options: PlanOptions;
};

/** The nodes that the parts put pods on: new ones, and those that exist. */
type Planned = {
  readonly fresh: readonly Host[];
  readonly filled: readonly Host[];
  /** UIDs of the planned pods: where they are now, they count no more. */
  readonly moving: ReadonlySet<string>;
};

function plannedOf({ standing, around, pods, parts }: Judged): Planned {
  const byUid = new Map(pods.map((pod) => [pod.uid, pod]));
  const known = (uids: readonly string[]): readonly Pod[] =>
    uids.flatMap((uid) => byUid.get(uid) ?? []);
  const moving = new Set(byUid.keys());
  const onNode = new Map<string, readonly Pod[]>();
  for (const { nodeUid, podUids } of parts.placements)
    onNode.set(nodeUid, [...(onNode.get(nodeUid) ?? []), ...known(podUids)]);
  return {
    fresh: newHosts(around, parts.newNodes, (bin) => known(bin.podUids)),
    filled: [...onNode].flatMap(([uid, planned]) => {
      const host = standing.host(uid);
      return host === undefined ? [] : [planning(host, planned, moving)];
    }),
    moving,
  };
}

/**
 * Judges some of the nodes that pods are planned on, with all that stands and is planned beside.
 */
function together(
  { standing, around, options }: Judged,
  { fresh, filled, moving }: Planned,
  asked: readonly Host[],
): readonly Violation[] {
  const planned = standing.plannedOn([...fresh, ...filled]);
  const stays = ({ pod }: Seat): boolean => !moving.has(pod.uid);
  const world: Topology = {
    domains: (filter, domainOf) => standing.domainsWith(fresh, filter, domainOf),
    asked,
    planned,
    matching: (selector, namespaces) => [
      ...standing.census.matching(selector, namespaces).filter(stays),
      ...planned.matching(selector, namespaces),
    ],
    guards: standing.guards(around),
    stays,
    snapshot: around,
    options,
  };
  return [
    ...asked.flatMap((host) => hostViolations(host, around, options)),
    ...spreadViolations(world),
    ...affinityViolations(world),
    ...antiAffinityViolations(world),
    ...claimViolations({ asked, running: standing.census, planned, stays }, around),
    ...reservationViolations(fresh, around),
  ];
}

const unknownNodes = (
  placements: readonly Placement[],
  standing: StandingNodes,
): readonly Violation[] =>
  placements
    .filter((one) => standing.host(one.nodeUid) === undefined)
    .map((one) => ({
      code: 'unknown-node' as const,
      where: one.nodeName,
      message: `node ${one.nodeName} (${one.nodeUid}) does not exist`,
    }));

/**
 * Verifies a whole plan from the snapshot and the pods alone. It checks resources with daemonsets,
 * taints, node affinity, spread, (anti-)affinity in both directions, and host ports. It also checks
 * volumes, claims of one pod, limits, reservations and prices, and that every pod is in exactly one
 * place. Every option of a new node must hold all its pods. A plan without violations may be
 * carried out.
 */
export function checkPlan(
  snapshot: Snapshot,
  pods: readonly Pod[],
  plan: Plan,
  options: PlanOptions,
): readonly Violation[] {
  const standing = new StandingNodes(snapshot.nodes);
  const what: Judged = { standing, around: snapshot, pods, parts: plan, options };
  const planned = plannedOf(what);
  return [
    ...bookkeeping(pods, plan),
    ...money(plan),
    ...unknownNodes(plan.placements, standing),
    ...together(what, planned, [...planned.filled, ...planned.fresh]),
    ...limitViolations(planned.fresh, snapshot),
  ];
}

/** One new node or placement, asked about by itself. */
export type BinQuestion = {
  readonly bin: NewNode | Placement;
  /** The current pods of the bin and of its companions. */
  readonly pods: readonly Pod[];
  /**
   * The other nodes and placements of the plan that are still to be carried out. Spread is checked
   * together with them, because the nodes of a plan may be level only together. Bins that were
   * admitted before belong among the standing nodes, as claims in flight with promised pods.
   */
  readonly beside: Parts;
};

/**
 * Checks one bin among standing nodes, as admission does on live truth. Pool limits are left to
 * admission, which keeps them by narrowing options; here later bins would count at their largest.
 */
export function checkBinAmong(
  standing: StandingNodes,
  around: Surroundings,
  question: BinQuestion,
  options: PlanOptions,
): readonly Violation[] {
  const { bin, pods, beside } = question;
  const isNew = 'options' in bin;
  const parts = {
    newNodes: isNew
      ? [bin, ...beside.newNodes.filter((one) => one.id !== bin.id)]
      : beside.newNodes,
    placements: isNew ? beside.placements : [bin, ...beside.placements],
  };
  const what: Judged = { standing, around, pods, parts, options };
  const planned = plannedOf(what);
  const asked = isNew
    ? planned.fresh.filter((host) => host.bin?.id === bin.id)
    : planned.filled.filter((host) => host.existing?.uid === bin.nodeUid);
  const reservations = new Set(isNew ? bin.options.map((one) => one.reservationId) : []);
  return [
    ...(isNew ? unknownPods(bin, planned.moving) : unknownNodes([bin], standing)),
    ...together(what, planned, asked).filter(
      ({ code, where }) => code !== 'reserved-capacity' || reservations.has(where),
    ),
  ];
}

/** Checks one new node against a whole snapshot, pool limits included. */
export function checkBin(
  snapshot: Snapshot,
  question: BinQuestion & { readonly bin: NewNode },
  options: PlanOptions,
): readonly Violation[] {
  const { bin, beside } = question;
  const pool = poolKey(bin.pool);
  const others = beside.newNodes.filter((one) => one.id !== bin.id);
  return [
    ...checkBinAmong(new StandingNodes(snapshot.nodes), snapshot, question, options),
    ...limitViolations(
      newHosts(snapshot, [bin, ...others], () => []),
      snapshot,
    ).filter(({ where }) => where === pool),
  ];
}

const unknownPods = (bin: NewNode, have: ReadonlySet<string>): readonly Violation[] =>
  bin.podUids
    .filter((uid) => !have.has(uid))
    .map((uid) => ({
      code: 'unknown-pod' as const,
      where: uid,
      message: `pod ${uid} of ${bin.id} does not exist`,
    }));
