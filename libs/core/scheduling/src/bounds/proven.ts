import type { LpSolver } from '@dovetail/core-ports';

import type { Bound, Plan } from '../plan.js';
import { type Planned, tightBound } from './tight.js';
import { uncharged } from './uncharged.js';

/**
 * Ranges of the number of nodes that the spread bound tries, if time permits. Beyond these it
 * hardly grows.
 */
const rangesMax = 25;

/**
 * Returns the best bound for a plan: its own, or a larger one that `lp` proves for the pods that it
 * places. `msMax` is the time of each program in milliseconds, and `stepsMax` the counted steps of
 * all, which `lp` must count, too. Rejects if `lp` fails.
 */
export async function provenBound(
  made: Plan,
  { snapshot, pods, options }: Planned,
  proof: { readonly lp: LpSolver; readonly msMax: number; readonly stepsMax?: number },
): Promise<Bound> {
  if (made.newNodes.length === 0) return made.bound;
  const left = new Set(made.unplaced.map((one) => one.podUid));
  const charged = await tightBound(
    snapshot,
    pods.filter((pod) => !left.has(pod.uid)),
    { ...options, assumedRequests: made.assumedRequests ?? {} },
    proof.lp,
    {
      programMsMax: proof.msMax,
      rangesMax,
      ...(proof.stepsMax === undefined ? {} : { stepsMax: proof.stepsMax }),
    },
  );
  const bound = uncharged(charged, made.newNodes.length, options);
  return bound.priceMicrosPerHour > made.bound.priceMicrosPerHour ? bound : made.bound;
}
