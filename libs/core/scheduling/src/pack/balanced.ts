import { at, float64At, numberAt } from '@dovetail/core-invariant';

import type { State } from '../match/states.js';
import type { Group } from '../model/groups.js';
import { totalPrice } from './bins.js';
import { afterKind, emptyBin, putKind, ruleRoom } from './bins.js';
import { worthOf } from './fill.js';
import { type Fleet, greedyPack } from './greedy.js';
import type { Kind } from './kinds.js';
import { type PackBin, type PackContext } from './packing.js';

/**
 * Hostname spread looks at all eligible nodes at once: when the emptiest holds three pods, each may
 * hold three and maxSkew more. So a deployment with more replicas than there are nodes need not
 * have a node for each: every node gets its share, and keeps it. What follows plans for a number of
 * nodes that is decided first.
 */
export type Balanced = { readonly context: PackContext; readonly bins: readonly PackBin[] };

/**
 * Kinds of one hostname spread that a node takes more of as long as every other node has its share
 * too.
 */
type Shared = { readonly group: Group; readonly kinds: readonly Kind[]; readonly count: number };

/**
 * Spreads that count every node: with node filters only some do, and which ones is not known before
 * launch.
 */
const countsAll = (group: Group): boolean =>
  group.kind === 'spread' &&
  group.hard &&
  group.minDomains <= 1 &&
  group.filter.alternatives === undefined &&
  group.filter.tolerations === undefined;

/** Spreads whose pods all follow their own rule, each kind under one of them only. */
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
 * Who spreads over hosts wants to lose a part when one fails: so many hosts at least share the pods
 * of a spread.
 */
const hostsPerSpread = 3;

/** Fewer nodes than this cannot keep apart what anti-affinity and host ports keep apart. */
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
 * Whether a state leaves all that another does, and more; one for which every type counts does not
 * make up for one with sizes.
 */
function isWider(state: State, other: State): boolean {
  if (other.sized && !state.sized) return false;
  const offers = new Set(state.offers);
  return (
    state.offers.length > other.offers.length && other.offers.every((offer) => offers.has(offer))
  );
}

/** States that the nodes may be opened in, each as often as its share of the demand asks for. */
function slotStates(context: PackContext, nodes: number): readonly State[] | undefined {
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
  const total = [...demands.values()].reduce((sum, demand) => sum + demand, 0);
  const given = new Map([...demands.keys()].map((state) => [state, 0]));
  const slots: State[] = [];
  while (slots.length < nodes) {
    // Whoever is furthest below its share, and everybody once at first.
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
 * Puts a spread's pods where fewest of them are, on light nodes rather than heavy ones. False when
 * some find no node.
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

/** How many pods of a group the emptiest node that exists holds; Infinity when there is none. */
export type Standing = (group: Group) => number;

/**
 * Nodes with their shares of the spreads that have more pods than there are nodes, and the context
 * in which they are filled.
 */
function fleetOf(
  context: PackContext,
  shared: readonly Shared[],
  what: { readonly nodes: number; readonly standing: Standing },
): (Fleet & { readonly context: PackContext }) | undefined {
  const { nodes, standing } = what;
  const slots = slotStates(context, nodes);
  if (slots === undefined) return undefined;
  const bins = slots.map((state, index) => emptyBin(context, index, state));
  const left = Int32Array.from(context.kinds.map((kind) => kind.count));
  // While shares are dealt out nothing limits a node: what came out is judged at the end.
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

/** How many numbers of nodes are looked at: what they cost differs little once everything fits. */
const attemptsMax = 8;
const successesMax = 3;

/**
 * The cheapest of some packings that make use of balanced hostname spread; undefined when no spread
 * has more pods than the nodes needed otherwise, which leaves nothing to gain. `nodes`: how many a
 * packing has that gives each pod of a spread its own node.
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
  let count = Math.max(fewestNodes(context), hostsPerSpread);
  let best: Balanced | undefined;
  for (
    let attempt = 0, successes = 0;
    attempt < attemptsMax &&
    successes < successesMax &&
    count < Math.min(nodes, largest) &&
    !shouldStop();
    attempt += 1
  ) {
    const fleet = fleetOf(context, shared, { nodes: count, standing });
    const bins =
      fleet === undefined ? undefined : greedyPack(fleet.context, true, () => false, fleet);
    if (fleet !== undefined && bins !== undefined) {
      successes += 1;
      if (best === undefined || totalPrice(bins) < totalPrice(best.bins))
        best = { context: fleet.context, bins };
    }
    count = Math.max(count + 1, Math.ceil(count * (successes > 0 ? 1.1 : 1.3)));
  }
  return best;
}
