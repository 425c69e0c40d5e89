import { messageOf } from '@dovetail/core-ports';
import { type Bound, type Plan, type Planned, provenBound } from '@dovetail/core-scheduling';

async function proven(made: Plan, planned: Planned, stepsMax: number): Promise<Bound> {
  // HiGHS is loaded only here: it takes longer to start than most plans take.
  const { highsSolver, stepBoxed } = await import('@dovetail/adapter-highs');
  const solver = highsSolver();
  solver.start();
  try {
    const lp = stepBoxed(solver, stepsMax);
    return await provenBound(made, planned, { lp, msMax: Infinity, stepsMax });
  } finally {
    await solver.close();
  }
}

/**
 * The plan with the largest lower bound that linear programs prove in this many counted steps, for
 * its placed pods. No clock is asked, so the bound is the same on any machine. If the solver does
 * not run here, `tell` gets the reason and the plan keeps its quick bound.
 */
export async function tightened(
  made: Plan,
  planned: Planned,
  what: { readonly stepsMax: number; readonly tell: (note: string) => void },
): Promise<Plan> {
  if (what.stepsMax <= 0 || made.newNodes.length === 0) return made;
  try {
    return { ...made, bound: await proven(made, planned, what.stepsMax) };
  } catch (error) {
    what.tell(`no tight lower bound: ${messageOf(error)}`);
    return made;
  }
}
