import { requestSearch, type SearchReply } from '@dovetail/contracts';
import { BusError } from '@dovetail/core-ports';

import type { ReaperConfig } from '../config.js';
import { channelOf, type ReaperDeps } from '../deps.js';

/** The answer of a solver that read its mirror, and what it writes, beside the search itself. */
const answerMs = 10_000;

/**
 * Asks a solver which of the nodes of these claims can go, together with cheaper nodes for their
 * pods. Nothing is carried out. Undefined: no solver has answered, or it refuses.
 */
export async function askSearch(
  { deps, config }: { readonly deps: ReaperDeps; readonly config: ReaperConfig },
  claimUids: readonly string[],
): Promise<SearchReply | undefined> {
  const { metrics, log } = deps;
  const {
    searchBudgetMs: budgetMs,
    replacementSavingMin,
    moveCostMicrosPerHour,
  } = config.disruption;
  const search = {
    claimUids,
    spotToSpot: config.spotToSpot,
    savingMinMicrosPerHour: replacementSavingMin.microsPerHour,
    savingMinPpm: Math.round(replacementSavingMin.share * 1e6),
    moveCostMicrosPerHour,
  };
  const about = { nodes: claimUids.length };
  const options = { budgetMs, timeoutMs: budgetMs + answerMs };
  try {
    const outcome = await requestSearch(channelOf(deps, config), search, options);
    metrics.count('dovetail_whatif_total', { outcome: outcome.ok ? 'searched' : outcome.code });
    if (outcome.ok) return outcome.found;
    log.info('consolidation-refused', `no search: ${outcome.code}: ${outcome.message}`, about);
  } catch (error) {
    if (!(error instanceof BusError)) throw error;
    metrics.count('dovetail_whatif_total', { outcome: error.code });
    log.info('consolidation-unanswered', `no search: no solver answered: ${error.code}`, about);
  }
  return undefined;
}
