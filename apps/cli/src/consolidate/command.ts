import { defaultMoveCostMicrosPerHour } from '@dovetail/core-disruption';

import type { PlanningInput } from '../simulate/planning-input.js';
import {
  exitCodes,
  overCost,
  planOptionsOf,
  rendered,
  type SimulateRequest,
  type Streams,
  withInput,
} from '../simulate/run.js';
import { consolidate } from './run.js';
import { consolidationTableOf } from './table.js';

/** Searches for commands over the manifests, and prints them. Returns the exit code. */
export const runConsolidate = (
  request: SimulateRequest & {
    readonly spotToSpot: boolean;
    /** US dollars that the move of an ordinary pod must save an hour. Undefined: the default. */
    readonly moveCost?: number | undefined;
  },
  streams: Streams,
): Promise<number> =>
  withInput(request, streams, {
    isVain: ({ snapshot }) => snapshot.nodes.length === 0,
    run: (input) => searched(input, request, streams),
  });

async function searched(
  input: PlanningInput,
  request: Parameters<typeof runConsolidate>[0],
  streams: Streams,
): Promise<number> {
  const result = await consolidate(input, {
    options: planOptionsOf(request),
    budgetMs: request.budgetMs,
    boundSteps: request.boundSteps,
    spotToSpot: request.spotToSpot,
    moveCostMicrosPerHour:
      request.moveCost === undefined
        ? defaultMoveCostMicrosPerHour
        : Math.round(request.moveCost * 1e6),
    tell: (note) => streams.err(`note: ${note}\n`),
    progress: (text) => streams.progress(text),
  });
  streams.out(
    await rendered({ ...result, problems: input.problems.all }, request.output, () =>
      consolidationTableOf(result, request.layout),
    ),
  );
  return overCost(result.cost.after, request, streams) ? exitCodes.tooDear : exitCodes.placed;
}
