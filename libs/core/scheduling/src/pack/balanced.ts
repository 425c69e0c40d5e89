import { at, float64At, numberAt } from '@dovetail/core-invariant';

import type { State } from '../match/states.js';
import type { Group } from '../model/groups.js';
import { totalPrice } from './bins.js';
import { afterKind, emptyBin, putKind, ruleRoom } from './bins.js';
import { demandOf } from './context.js';
import { worthOf } from './fill.js';
import { type Fleet, greedyPack } from './greedy.js';
import type { Kind } from './kinds.js';
import { type PackBin, type PackContext } from './packing.js';

/**
 * A packing that uses hostname spread in full. The number of nodes is chosen first, and every node
 * keeps its share of each spread. Each node may then hold maxSkew more pods than the emptiest. A
 * spread with more pods than nodes therefore needs no node for each pod. `context` has the floors
 * that hold for these nodes.
 */
export type Balanced = { readonly context: PackContext; readonly bins: readonly PackBin[] };

/**
 * The kinds of one hostname spread. A node takes more of them as long as every other node has its
 * share.
 */
type Shared = { readonly group: Group; readonly kinds: readonly Kind[]; readonly count: number };

/**
 * Whether a spread counts every node. With node filters it counts only some nodes, and which ones
 * is unknown before launch.
 */
const countsAll = (group: Group): boolean =>
  group.kind === 'spread' &&
  group.hard &&
  group.minDomains <= 1 &&
  group.filter.alternatives === undefined &&
  group.filter.tolerations === undefined;

/**
 * Returns the spreads whose pods all follow the spread themselves. A kind with two spreads is left
 * out.
 */
function sharedOf(context: PackContext): readonly Shared[] {
  const kinds = new Map<Group, Kind[]>();
  for (const kind of context.kinds) {
    const spreads = kind.roles.filter(
      ({ group, carries, selected }) => group.kind === 'spread' && carries && selected,
    );
    const [role] = spreads;
    if (role === undefined || spreads.length > 1 || !countsAll(role.group) || kind.ports.length > 0)
      continue;
    kinds.set(role.group, [...(kinds.get(role.group) ?? []), kind]);
  }
  return [...kinds].map(([group, members]) => ({
    group,
    kinds: members,
    count: members.reduce((sum, kind) => sum + kind.count, 0),
  }));
}

/**
 * A spread over hosts should survive the loss of one, so its pods share at least this many hosts.
 * More hosts lose fewer pods with each failure, and cost more.
 */
const hostsPerSpread = 3;

/**
 * Returns the number of nodes that some resource needs, if every node has as much of it as the
 * largest. Smaller numbers cannot hold the pods, and trying them takes time.
 */
function nodesByRoom(context: PackContext): number {
  const demand = demandOf(
    context.kinds.map((kind) => ({ kind, count: kind.count })),
    context.perUnit.length,
  );
  const states = new Set(context.kinds.flatMap(({ openings }) => openings));
  const rooms = [...states].flatMap(({ widest }) => widest);
  return demand.reduce((most, amount, r) => {
    const largest = rooms.reduce((room, other) => Math.max(room, float64At(other, r)), 0);
    return amount > 0 && largest > 0 ? Math.max(most, Math.ceil(amount / largest)) : most;
  }, 1);
}

/** Returns the number of nodes that anti-affinity and host ports need to keep pods apart. */
function fewestNodes(context: PackContext): number {
  const counts = new Map<string, number>();
  for (const kind of context.kinds) {
    const rule = kind.roles.find(
      ({ group, carries, selected }) => group.kind === 'anti' && carries && selected,
    );
    const text =
      rule !== undefined
        ? `g${rule.group.id}`
        : kind.ports.length > 0
          ? `p${kind.rule}`
          : undefined;
    if (text !== undefined) counts.set(text, (counts.get(text) ?? 0) + kind.count);
  }
  return Math.max(1, ...counts.values());
}

/**
 * Whether a state has all offers of another and more. An unsized state is never wider than a sized
 * one.
 */
function isWider(state: State, other: State): boolean {
  if (other.sized && !state.sized) return false;
  const offers = new Set(state.offers);
  return (
    state.offers.length > other.offers.length && other.offers.every((offer) => offers.has(offer))
  );
}

/**
 * How often each opening state occurs among the nodes: as its share of the demand requires, or all
 * as often. Pods that spread over zones and hosts need as many nodes in each zone.
 */
type Division = 'by-demand' | 'equal';

/** Returns the opening states of the nodes: `nodes`, or a few more to divide them equally. */
function slotStates(
  context: PackContext,
  nodes: number,
  division: Division,
): readonly State[] | undefined {
  const demands = new Map<State, number>();
  for (const kind of context.kinds) {
    const [opening] = kind.openings;
    if (opening === undefined) return undefined;
    demands.set(
      opening,
      (demands.get(opening) ?? 0) + float64At(context.worth, kind.index) * kind.count,
    );
  }
  // Pods that may go wherever others may go do not decide where nodes are.
  const states = [...demands.keys()];
  for (const state of states)
    if (states.some((other) => other !== state && isWider(state, other))) demands.delete(state);
  if (demands.size > nodes) return undefined;
  if (division === 'equal') {
    const each = Math.ceil(nodes / demands.size);
    return [...demands.keys()].flatMap((state) => Array<State>(each).fill(state));
  }
  const total = [...demands.values()].reduce((sum, demand) => sum + demand, 0);
  const given = new Map([...demands.keys()].map((state) => [state, 0]));
  const slots: State[] = [];
  while (slots.length < nodes) {
    // Each state gets one node first. Later nodes go to the state furthest below its share.
    const lack = ([state, demand]: readonly [State, number]): number =>
      given.get(state) === 0 ? Infinity : (demand / total) * nodes - (given.get(state) ?? 0);
    const [next] = [...demands].reduce((most, one) => (lack(one) > lack(most) ? one : most));
    given.set(next, (given.get(next) ?? 0) + 1);
    slots.push(next);
  }
  return slots;
}

const selectedIn = (bin: PackBin, group: Group): number => bin.hosts?.get(group.id)?.selected ?? 0;

/**
 * Puts the pods of a spread on the nodes with the fewest of them, lighter nodes first. Returns
 * false if some pod finds no node.
 */
function deal(context: PackContext, bins: readonly PackBin[], shared: Shared): boolean {
  const worths = bins.map((bin) => worthOf(context, bin));
  const choosy = shared.kinds.map((kind) => ({
    kind,
    at: bins.flatMap((bin, index) =>
      afterKind(context, bin.state, kind) === undefined ? [] : [index],
    ),
  }));
  for (const { kind, at: takers } of choosy.sort(
    (a, b) => a.at.length - b.at.length || a.kind.index - b.kind.index,
  )) {
    for (let pod = 0; pod < kind.count; pod += 1) {
      let best = -1;
      for (const index of takers) {
        const bin = at(bins, index);
        if (ruleRoom(context, bin, kind) <= 0 || afterKind(context, bin.state, kind) === undefined)
          continue;
        const fewer =
          best < 0 ? -1 : selectedIn(bin, shared.group) - selectedIn(at(bins, best), shared.group);
        if (fewer < 0 || (fewer === 0 && numberAt(worths, index) < numberAt(worths, best)))
          best = index;
      }
      if (best < 0) return false;
      putKind(context, at(bins, best), kind, 1);
      worths[best] = numberAt(worths, best) + float64At(context.worth, kind.index);
    }
  }
  return true;
}

/** Returns the fewest pods of a group on any existing node; Infinity if no node exists. */
export type Standing = (group: Group) => number;

/**
 * Returns nodes with their shares of every spread that has at least as many pods as nodes, and the
 * context in which they are filled.
 */
function fleetOf(
  context: PackContext,
  shared: readonly Shared[],
  what: { readonly nodes: number; readonly standing: Standing; readonly division: Division },
): (Fleet & { readonly context: PackContext }) | undefined {
  const { standing, division } = what;
  const slots = slotStates(context, what.nodes, division);
  if (slots === undefined) return undefined;
  const nodes = slots.length;
  const bins = slots.map((state, index) => emptyBin(context, index, state));
  const left = Int32Array.from(context.kinds.map((kind) => kind.count));
  // The floors are lifted while shares are dealt, so no node is limited. The result is checked
  // against maxSkew afterwards.
  const open: PackContext = { ...context, hostFloors: context.hostFloors.map(() => Infinity) };
  const floors = Float64Array.from(context.hostFloors);
  for (const one of shared.filter(({ count }) => count >= nodes)) {
    if (!deal(open, bins, one)) return undefined;
    const counts = bins.map((bin) => selectedIn(bin, one.group));
    const least = counts.reduce((fewest, count) => Math.min(fewest, count), standing(one.group));
    if (Math.max(...counts) > least + one.group.maxSkew) return undefined;
    floors[one.group.id] = least;
    for (const kind of one.kinds) left[kind.index] = 0;
  }
  return {
    context: { ...context, hostFloors: floors },
    bins: bins.map((bin, index) => ({
      ...bin,
      base: new Map(bin.contents),
      opened: at(slots, index),
    })),
    left,
    closed: true,
  };
}

/**
 * Numbers of nodes that are tried, and successes after which the trials end. More trials may find a
 * cheaper number and take more time.
 */
const attemptsMax = 8;
const successesMax = 3;
/**
 * The factors by which the number of nodes grows after a trial: slowly once some number works, and
 * faster before. Smaller factors look at closer numbers and need more trials.
 */
const growthAfterSuccess = 1.1;
const growthBeforeSuccess = 1.3;

/**
 * Returns the cheapest packing with balanced hostname spread; undefined if no number of nodes below
 * `nodes` works. `nodes` is the size of a packing that gives each pod of a spread its own node.
 */
export function balancedPack(
  context: PackContext,
  what: { readonly nodes: number; readonly standing: Standing; readonly shouldStop: () => boolean },
): Balanced | undefined {
  const { nodes, standing, shouldStop } = what;
  const shared = sharedOf(context);
  const largest = shared.reduce(
    (most, { count, group }) => Math.max(most, count / group.maxSkew),
    0,
  );
  let count = Math.max(fewestNodes(context), nodesByRoom(context), hostsPerSpread);
  let best: Balanced | undefined;
  for (
    let attempt = 0, successes = 0;
    attempt < attemptsMax &&
    successes < successesMax &&
    count < Math.min(nodes, largest) &&
    !shouldStop();
    attempt += 1
  ) {
    const fleet =
      fleetOf(context, shared, { nodes: count, standing, division: 'by-demand' }) ??
      fleetOf(context, shared, { nodes: count, standing, division: 'equal' });
    const bins =
      fleet === undefined ? undefined : greedyPack(fleet.context, true, () => false, fleet);
    if (fleet !== undefined && bins !== undefined) {
      successes += best === undefined || totalPrice(bins) >= totalPrice(best.bins) ? 1 : 0;
      if (best === undefined || totalPrice(bins) < totalPrice(best.bins))
        best = { context: fleet.context, bins };
    }
    count = Math.max(
      count + 1,
      Math.ceil(
        Math.max(count, fleet?.bins.length ?? 0) *
          (successes > 0 ? growthAfterSuccess : growthBeforeSuccess),
      ),
    );
  }
  return best;
}
