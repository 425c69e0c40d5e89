import { at, float64At } from '@dovetail/core-invariant';

import type { PodClass } from '../model/classes.js';
import { type Group, groupSelects } from '../model/groups.js';
import type { World } from '../world/world.js';
import { admissionsOf, type Column } from './columns.js';

/**
 * Pods that the bounds need not tell apart. Amounts are scaled: a resource's whole demand is as
 * large as there are pods.
 */
export type DemandClass = {
  readonly requests: Float64Array;
  readonly count: number;
  readonly admission: number;
  /** Indices into `rules` of those that limit how many pods share a node. */
  readonly limitedBy: readonly number[];
  /** Indices into `rules` of those that count the pods. */
  readonly countedBy: readonly number[];
};

/** What a hostname rule says of each new node, depending on how many new nodes there are. */
export type HostRule = {
  /** Pods under the rule that a node may hold at most, however many nodes there are. */
  readonly mostEver: number;
  /**
   * Pods under the rule that a node may hold at most, when there are at least `nodes` new nodes.
   */
  readonly most: (nodes: number) => number;
  /**
   * Pods that count for the rule that every new node must hold, when there are at most `nodes` new
   * nodes.
   */
  readonly least: (nodes: number) => number;
};

/** A relaxation of planning: everything in it holds for every plan that places all the pods. */
export type BoundProblem = {
  readonly classes: readonly DemandClass[];
  readonly rules: readonly HostRule[];
  readonly buyable: readonly Column[];
  readonly existing: readonly Column[];
  /** Sum over classes, scaled. */
  readonly demand: Float64Array;
  /** Whether some rule depends on the number of new nodes. */
  readonly balanced: boolean;
  /**
   * New nodes that spread and anti-affinity over zones (or any label but the hostname) demand; 0
   * where pods or nodes are there already.
   */
  readonly nodesMin: number;
};

/** Rules that a class follows at every level: what it may give up binds nobody. */
const carriedAlways = (cls: PodClass, group: Group): boolean =>
  cls.levels.length > 0 && cls.levels.every((level) => level.carries.includes(group));

/** Pods that already run and count for a group, wherever they are. */
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
 * Hostname spread as kube-scheduler sees it in the end: the emptiest of all eligible nodes holds at
 * most the average, and the fullest at most maxSkew more; and the fullest holds at least the
 * average, so every node holds at least maxSkew less than that. With `strict` the emptiest counts
 * as 0, and nothing is demanded of a node.
 */
function spreadRule(group: Group, standing: Standing, strict: boolean): HostRule {
  if (strict) return { mostEver: group.maxSkew, most: () => group.maxSkew, least: () => 0 };
  // With node filters only some nodes are eligible, and which ones is not known here.
  if (group.filter.alternatives !== undefined || group.filter.tolerations !== undefined)
    return { mostEver: Infinity, most: () => Infinity, least: () => 0 };
  return {
    mostEver: Infinity,
    most: (nodes) =>
      nodes <= 0
        ? Infinity
        : Math.floor((standing.counted + standing.running) / nodes) + group.maxSkew,
    // With too few domains the emptiest counts as 0, which demands less.
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
 * Each node lies in one domain of a label. A spread that leaves a domain empty allows maxSkew pods
 * in each of the others, so pods are in as many domains as that takes, or in all; anti-affinity
 * allows one pod a domain.
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
 * Scales that make every resource's whole demand equal the number of pods: amounts span twelve
 * orders of magnitude.
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
 * States the relaxation for every pod of a world that some node could take; classes that differ in
 * nothing here are one.
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
    balanced,
    nodesMin: domainNodesMin(world),
  };
}
