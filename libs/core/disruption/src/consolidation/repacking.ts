import { uprooted } from '@dovetail/core-kube-model';
import {
  type ExistingNode,
  plan,
  type PlanOptions,
  type Snapshot,
} from '@dovetail/core-scheduling';

import type { Candidate } from './candidates.js';
import type { Part } from './parts.js';
import type { Region } from './regions.js';
import { moveCostOfAll } from './removal.js';
import { without } from './surroundings.js';

/**
 * Improvement steps of a plan that repacks a region: fewer for many pods, whose steps take longer.
 * More of them buy cheaper nodes and hold the thread for longer.
 */
const stepsFor = (pods: number): number => Math.min(300, Math.ceil(36_000 / Math.max(1, pods)));

/** A way to repack a region: the nodes that go, the plan for their pods, and what it comes to. */
export type Repacked = Part & {
  /** Of the nodes that stay and those that are bought, in micro-dollars an hour. */
  readonly price: number;
  /** The cost of the moves, in moves of an ordinary pod. */
  readonly moveCost: number;
};

/** Everything that the plans of a region read. */
type Surroundings = {
  readonly snapshot: Snapshot;
  readonly options: PlanOptions;
  readonly needsAll: boolean;
  /** Whether a node may take pods that move. */
  readonly takes: (node: ExistingNode) => boolean;
};

/**
 * Plans the pods of the first nodes of a region over the rooms of the others. Undefined if some pod
 * has no place then.
 */
export function repacked(
  { candidates, rooms }: Region,
  cut: number,
  { snapshot, options, needsAll, takes }: Surroundings,
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
  const price = priceOfAll(stay) + made.priceMicrosPerHour;
  return { candidates: going, plan: made, price, moveCost: moveCostOfAll(going) };
}

/** The price of some nodes together. */
export const priceOfAll = (candidates: readonly Candidate[]): number =>
  candidates.reduce((sum, { priceMicrosPerHour }) => sum + priceMicrosPerHour, 0);

/** The way that saves most beyond the cost of its moves; undefined: none saves more than that. */
export function bestOf(
  ways: readonly Repacked[],
  priceBefore: number,
  moveCostMicrosPerHour: number,
): Repacked | undefined {
  const costOf = ({ price, moveCost }: Repacked): number =>
    price + moveCostMicrosPerHour * moveCost;
  const [best] = ways.toSorted((a, b) => costOf(a) - costOf(b) || a.moveCost - b.moveCost);
  return best !== undefined && costOf(best) < priceBefore ? best : undefined;
}
