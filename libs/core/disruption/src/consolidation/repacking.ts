import { uprooted } from '@dovetail/core-kube-model';
import {
  type ExistingNode,
  plan,
  type PlanOptions,
  type Snapshot,
} from '@dovetail/core-scheduling';

import type { Candidate } from './candidates.js';
import { type Part, partsOf } from './parts.js';
import type { Region } from './regions.js';
import { moveCostOfAll, type MoveRules, priceOfMoves } from './removal.js';
import { without } from './surroundings.js';

/**
 * Improvement steps of a plan that repacks a region: fewer for many pods, whose steps take longer.
 * More of them buy cheaper nodes and hold the thread for longer.
 */
const stepsFor = (pods: number): number => Math.min(300, Math.ceil(36_000 / Math.max(1, pods)));

/** A way to repack a region, as the parts of it that are worth it and that budgets allow. */
export type Repacked = {
  /** The most gain first. At least one. */
  readonly parts: readonly Part[];
  /** The saving beyond the cost of their moves, in micro-dollars an hour. */
  readonly gain: number;
  /** The cost of their moves, in moves of an ordinary pod. */
  readonly moveCost: number;
};

/** Everything that the plans of a region read. */
type Surroundings = {
  readonly snapshot: Snapshot;
  readonly options: PlanOptions;
  readonly rules: MoveRules;
  readonly needsAll: boolean;
  /** Whether a node may take pods that move. */
  readonly takes: (node: ExistingNode) => boolean;
  /** Whether budgets let these nodes go together. */
  readonly isAllowed: (candidates: readonly Candidate[]) => boolean;
};

/**
 * Plans the pods of the first nodes of a region over the rooms of the others. Undefined if some pod
 * has no place then, or no part of the plan is worth it and allowed.
 */
export function repacked(
  { candidates, rooms }: Region,
  cut: number,
  { snapshot, options, rules, needsAll, takes, isAllowed }: Surroundings,
): Repacked | undefined {
  const going = candidates.slice(0, cut);
  const stay = candidates.slice(cut);
  const open = new Set([...stay.map(({ view }) => view.node.uid), ...rooms.map(({ uid }) => uid)]);
  const isOpen = (node: ExistingNode): boolean => open.has(node.uid) && takes(node);
  const pods = going.flatMap((candidate) => candidate.pods).map(uprooted);
  const made = plan(without(snapshot, going, { isOpen, needsAll }), pods, {
    ...options,
    existingNodes: 'filled',
    stepsMax: Math.max(options.stepsMax, stepsFor(pods.length)),
  });
  if (made.unplaced.length > 0) return undefined;
  const parts = partsOf(going, made)
    .map((part) => ({ part, gain: gainOf(part, rules) }))
    .filter(({ part, gain }) => gain > 0 && isAllowed(part.candidates))
    .toSorted((a, b) => b.gain - a.gain);
  if (parts.length === 0) return undefined;
  return {
    parts: parts.map(({ part }) => part),
    gain: parts.reduce((sum, { gain }) => sum + gain, 0),
    moveCost: moveCostOfAll(parts.flatMap(({ part }) => part.candidates)),
  };
}

/** The saving of a part beyond the cost of its moves, in micro-dollars an hour. */
const gainOf = ({ candidates, plan: made }: Part, rules: MoveRules): number =>
  priceOfAll(candidates) - made.priceMicrosPerHour - priceOfMoves(candidates, rules);

/** The price of some nodes together. */
const priceOfAll = (candidates: readonly Candidate[]): number =>
  candidates.reduce((sum, { priceMicrosPerHour }) => sum + priceMicrosPerHour, 0);

/** The way that gains most; undefined: there is none. */
export const bestOf = (ways: readonly Repacked[]): Repacked | undefined =>
  ways.toSorted((a, b) => b.gain - a.gain || a.moveCost - b.moveCost)[0];
