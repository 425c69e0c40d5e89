import type { Pod } from '@dovetail/core-kube-model';
import { messageOf } from '@dovetail/core-ports';
import {
  type Bound,
  type Plan,
  type PlanOptions,
  type Snapshot,
  tightBound,
  uncharged,
} from '@dovetail/core-scheduling';

type Planned = {
  readonly snapshot: Snapshot;
  readonly pods: readonly Pod[];
  readonly options: PlanOptions;
};

/**
 * Ranges of the number of nodes that the spread bound tries, if time permits. Beyond these it
 * hardly grows.
 */
const rangesMax = 25;

async function proven({ snapshot, pods, options }: Planned, msMax: number): Promise<Bound> {
  // HiGHS is loaded only here: it takes longer to start than most plans take.
  const { highsSolver, timeBoxed } = await import('@dovetail/adapter-highs');
  const solver = highsSolver();
  solver.start();
  try {
    return await tightBound(snapshot, pods, options, timeBoxed(solver, msMax), {
      programMsMax: msMax,
      rangesMax,
    });
  } finally {
    await solver.close();
  }
}

/**
 * The plan with the largest lower bound that linear programs prove in this many milliseconds, for
 * its placed pods. If the solver does not run here, `tell` gets the reason and the plan keeps its
 * quick bound.
 */
export async function tightened(
  made: Plan,
  planned: Planned,
  what: { readonly msMax: number; readonly tell: (note: string) => void },
): Promise<Plan> {
  if (what.msMax <= 0 || made.newNodes.length === 0) return made;
  const left = new Set(made.unplaced.map((one) => one.podUid));
  try {
    const charged = await proven(
      { ...planned, pods: planned.pods.filter((pod) => !left.has(pod.uid)) },
      what.msMax,
    );
    const bound = uncharged(charged, made.newNodes.length, planned.options);
    return bound.priceMicrosPerHour > made.bound.priceMicrosPerHour ? { ...made, bound } : made;
  } catch (error) {
    what.tell(`no tight lower bound: ${messageOf(error)}`);
    return made;
  }
}
