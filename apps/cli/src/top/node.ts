import type { Fleet, FleetNode } from '@dovetail/core-fleet';
import { stepText } from '@dovetail/core-fleet/words';

/** The name and version of the form of `dovetail top -o json`. A version only gains fields. */
export const topSchema = 'dovetail.sh/top/v1';

/** A node, or a claim that becomes one, as `dovetail top` shows it. */
export type TopNode = Omit<FleetNode, 'uid' | 'createdMs' | 'cause' | 'next'> & {
  readonly ageMs: number;
  /** The next thing that happens to it, for people. */
  readonly next: string;
  /** When that happens, if a time is known: milliseconds since 1970. */
  readonly nextMs?: number;
};

/** The rows of all nodes at a time, in no order. */
export const topNodesOf = (fleet: Fleet, nowMs: number): readonly TopNode[] =>
  fleet.nodes().map((node) => topNodeOf(node, nowMs));

function topNodeOf(fleetNode: FleetNode, nowMs: number): TopNode {
  const { uid: _uid, createdMs, cause: _cause, next, ...node } = fleetNode;
  return {
    ...node,
    ageMs: Math.max(0, nowMs - createdMs),
    next: stepText(next, nowMs),
    ...(next.atMs === undefined ? {} : { nextMs: next.atMs }),
  };
}
