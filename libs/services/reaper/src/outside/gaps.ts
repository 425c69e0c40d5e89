import { type GapReply, requestGap } from '@dovetail/contracts';
import { BusError } from '@dovetail/core-ports';

import type { ReaperConfig } from '../config.js';
import { channelOf, type ReaperDeps } from '../deps.js';

/**
 * The time that a solver has to improve the plan. It trades the price that is found for the wait of
 * searches, which run in the same lane.
 */
const budgetMs = 5_000;
/**
 * The longest wait for the answer: a plan of 5,000 nodes with its proof, interrupted by batches all
 * the time. Measured alone: 7 s.
 */
const timeoutMs = 60_000;

/**
 * Asks a solver for the price of the nodes beside that of a plan from nothing. Undefined: no solver
 * has answered, or it refuses.
 */
export async function askGap({
  deps,
  config,
}: {
  readonly deps: ReaperDeps;
  readonly config: ReaperConfig;
}): Promise<GapReply | undefined> {
  const { metrics, log } = deps;
  try {
    const outcome = await requestGap(channelOf(deps, config), { budgetMs, timeoutMs });
    metrics.count('dovetail_whatif_total', { outcome: outcome.ok ? 'compared' : outcome.code });
    if (outcome.ok) return outcome.gap;
    log.info('gap-refused', `no gap: ${outcome.code}: ${outcome.message}`);
  } catch (error) {
    if (!(error instanceof BusError)) throw error;
    metrics.count('dovetail_whatif_total', { outcome: error.code });
    log.info('gap-unanswered', `no gap: no solver answered: ${error.code}`);
  }
  return undefined;
}
