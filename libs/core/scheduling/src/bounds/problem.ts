import { at, float64At } from '@dovetail/core-invariant';

import type { PodClass } from '../model/classes.js';
import { type Group, groupSelects } from '../model/groups.js';
import type { World } from '../world/world.js';
import { admissionsOf, type Column } from './columns.js';

/**
 * Pods that the bounds treat as equal. Amounts are scaled: the total demand for each resource
 * equals the number of pods.
 */
export type DemandClass = {
  readonly requests: Float64Array;
  readonly count: number;
  readonly admission: number;
  /** Indices into `rules` of the rules that limit how many of these pods share a node. */
  readonly limitedBy: readonly number[];
  /** Indices into `rules` of the rules that count these pods. */
  readonly countedBy: readonly number[];
};

/** The limits of a hostname rule on each new node, which depend on the number of new nodes. */
export type HostRule = {
  /** The most pods under the rule on a node, for any number of nodes. */
  readonly mostEver: number;
  /** The most pods under the rule on a node if there are at least `nodes` new nodes. */
  readonly most: (nodes: number) => number;
  /** The least counted pods on every new node if there are at most `nodes` new nodes. */
  readonly least: (nodes: number) => number;
};

/** A relaxation of planning. Invariant: every plan that places all pods satisfies it. */
export type BoundProblem = {
  readonly classes: readonly DemandClass[];
  readonly rules: readonly HostRule[];
  readonly buyable: readonly Column[];
  readonly existing: readonly Column[];
  /** The sum of the classes' requests, scaled. */
  readonly demand: Float64Array;
  /** The factor of each resource by which its amounts are scaled; 0 if no pod requests it. */
  readonly scales: Float64Array;
  /** Whether some rule depends on the number of new nodes. */
  readonly balanced: boolean;
  /**
   * The new nodes that spread and anti-affinity demand over labels other than the hostname. It is 0
   * if pods or nodes exist already.
   */
  readonly nodesMin: number;
};

/**
 * Whether a class follows a rule at every level. A preference that may be given up is not a rule.
 */
export const carriedAlways = (cls: PodClass, group: Group): boolean =>
  cls.levels.length > 0 && cls.levels.every((level) => level.carries.includes(group));

/** Counts the running pods that a group selects, on any node. */
function runningOf(world: World, group: Group): number {
  let count = 0;
  for (const node of world.snapshot.nodes)
    for (const pod of [...node.pods, ...node.promisedPods])
      if (groupSelects(group, pod)) count += 1;
  return count;
}

type Standing = {
  readonly carried: number;
  readonly counted: number;
  readonly running: number;
  readonly nodes: number;
};

/**
 * Returns the limits of a hostname spread as kube-scheduler applies them in the end. The emptiest
 * eligible node has at most the average, and the fullest has at most maxSkew more. The fullest has
 * at least the average, so every node has at least the average less maxSkew. With `strict`, the
 * emptiest counts as 0 and no node has a minimum.
 */
function spreadRule(group: Group, standing: Standing, strict: boolean): HostRule {
  if (strict) return { mostEver: group.maxSkew, most: () => group.maxSkew, least: () => 0 };
  // With node filters only some nodes are eligible, and it is unknown here which.
  if (group.filter.alternatives !== undefined || group.filter.tolerations !== undefined)
    return { mostEver: Infinity, most: () => Infinity, least: () => 0 };
  return {
    mostEver: Infinity,
    most: (nodes) =>
      nodes <= 0
        ? Infinity
        : Math.floor((standing.counted + standing.running) / nodes) + group.maxSkew,
    // With too few domains the emptiest counts as 0, so no node has a minimum.
    least: (nodes) =>
      group.minDomains > 1
        ? 0
        : Math.max(
            0,
            Math.ceil(standing.carried / Math.max(1, nodes + standing.nodes)) - group.maxSkew,
          ),
  };
}

function hostRules(world: World): {
  readonly groups: readonly Group[];
  readonly rules: readonly HostRule[];
  readonly balanced: boolean;
} {
  const strict = world.options.hostnameSpread === 'strict';
  const groups = world.groups.groups.filter(
    (group) => group.onHost && group.hard && group.kind !== 'affinity',
  );
  const rules = groups.map((group): HostRule => {
    if (group.kind === 'anti') return { mostEver: 1, most: () => 1, least: () => 0 };
    const sum = (of: (cls: PodClass) => boolean): number =>
      world.classes.reduce((total, cls) => total + (of(cls) ? cls.uids.length : 0), 0);
    const selected = (cls: PodClass): boolean => cls.selectedBy.includes(group);
    return spreadRule(
      group,
      {
        carried: sum((cls) => selected(cls) && carriedAlways(cls, group)),
        counted: sum(selected),
        running: runningOf(world, group),
        nodes: world.snapshot.nodes.length,
      },
      strict,
    );
  });
  return { groups, rules, balanced: !strict && groups.some((group) => group.kind === 'spread') };
}

/**
 * Returns the least number of nodes that domains other than hosts demand. Each node lies in one
 * domain of a label. A spread with an empty domain allows maxSkew pods in each other domain. So it
 * needs enough domains for its pods, or all of them. Anti-affinity allows one pod per domain.
 */
function domainNodesMin(world: World): number {
  if (world.snapshot.nodes.length > 0) return 0;
  let nodes = 0;
  for (const group of world.groups.groups) {
    if (group.onHost || !group.hard || group.kind === 'affinity') continue;
    const pods = world.classes.reduce(
      (sum, cls) =>
        sum + (cls.selectedBy.includes(group) && carriedAlways(cls, group) ? cls.uids.length : 0),
      0,
    );
    const domains = world.standings.ledger.of(group).eligible.size;
    nodes = Math.max(
      nodes,
      group.kind === 'anti' ? pods : Math.min(domains, Math.ceil(pods / group.maxSkew)),
    );
  }
  return nodes;
}

/**
 * Returns scales that make the total demand for each resource equal the number of pods. Amounts
 * span twelve orders of magnitude.
 */
function scalesOf(world: World): Float64Array {
  const total = new Float64Array(world.dimensions.names.length);
  let pods = 0;
  for (const cls of world.classes) {
    pods += cls.uids.length;
    for (let r = 0; r < total.length; r += 1)
      total[r] = float64At(total, r) + float64At(cls.requests, r) * cls.uids.length;
  }
  return total.map((amount) => (amount > 0 ? pods / amount : 0));
}

/**
 * Builds the relaxation for every pod of a world that some node could take. Classes that differ in
 * nothing here are combined.
 */
export function problemOf(world: World): BoundProblem {
  const { groupOf, buyable, existing } = admissionsOf(world);
  const { groups, rules, balanced } = hostRules(world);
  const scales = scalesOf(world);
  const scaled = (amounts: Float64Array): Float64Array =>
    amounts.map((amount, r) => amount * float64At(scales, r));
  const classes = new Map<string, DemandClass & { count: number }>();
  const demand = new Float64Array(scales.length);
  for (const cls of world.classes) {
    const admission = groupOf[cls.index] ?? -1;
    if (admission < 0) continue;
    const countedBy = [...groups.keys()].filter((index) =>
      cls.selectedBy.includes(at(groups, index)),
    );
    const limitedBy = countedBy.filter((index) => carriedAlways(cls, at(groups, index)));
    const text = `${admission}|${cls.requests.join(',')}|${countedBy.join(',')}|${limitedBy.join(',')}`;
    const requests = scaled(cls.requests);
    const known = classes.get(text);
    if (known === undefined)
      classes.set(text, { requests, count: cls.uids.length, admission, limitedBy, countedBy });
    else known.count += cls.uids.length;
    for (let r = 0; r < demand.length; r += 1)
      demand[r] = float64At(demand, r) + float64At(requests, r) * cls.uids.length;
  }
  const fit = (columns: readonly Column[]): readonly Column[] =>
    columns.map((column) => ({ ...column, room: scaled(column.room) }));
  return {
    classes: [...classes.values()],
    rules,
    buyable: fit(buyable),
    existing: fit(existing),
    demand,
    scales,
    balanced,
    nodesMin: domainNodesMin(world),
  };
}
