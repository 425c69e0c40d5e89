import { type PlanReply, type PlanRequest, requestPlan } from '@dovetail/contracts';
import { compareText, type Node, type Pod } from '@dovetail/core-kube-model';
import { BusError } from '@dovetail/core-ports';

import type { ReaperConfig } from '../config.js';
import { channelOf, type ReaperDeps } from '../deps.js';

/**
 * Nodes that might go, why, their pods, and the price below which each new node would be bought.
 * Without a price, any is.
 */
type Question = {
  readonly nodes: readonly Node[];
  readonly pods: readonly Pod[];
  readonly priceBelowMicrosPerHour?: number;
  /** The nodes that may take the pods, by name. Absent: all may. */
  readonly openNodes?: readonly string[];
  /** Whether a command begins if the answer is good: then the solver records the question. */
  readonly isRecorded?: boolean;
  readonly purpose?: 'consolidation' | 'drift' | 'repair';
};

/**
 * Asks a solver where these pods would go if these nodes were gone. The plan is not carried out.
 * Undefined: no solver has answered, or it refuses.
 */
export async function askWhatIf(
  { deps, config }: { readonly deps: ReaperDeps; readonly config: ReaperConfig },
  question: Question,
): Promise<PlanReply | undefined> {
  const { metrics, log } = deps;
  const { purpose = 'consolidation' } = question;
  const { planBudgetMs, planTimeoutMs } = config.disruption;
  const request = requestOf(question, planBudgetMs);
  const about = { nodes: request.withoutNodes };
  const options = { timeoutMs: planTimeoutMs };
  try {
    const outcome = await requestPlan(channelOf(deps, config), 'plan', request, options);
    metrics.count('dovetail_whatif_total', { outcome: outcome.ok ? 'explored' : outcome.code });
    if (outcome.ok) return outcome.reply;
    log.info(`${purpose}-refused`, `no what-if: ${outcome.code}: ${outcome.message}`, about);
  } catch (error) {
    if (!(error instanceof BusError)) throw error;
    metrics.count('dovetail_whatif_total', { outcome: error.code });
    log.info(`${purpose}-unanswered`, `no what-if: no solver answered: ${error.code}`, about);
  }
  return undefined;
}

function requestOf(
  { nodes, pods, priceBelowMicrosPerHour: below, openNodes, isRecorded = false }: Question,
  budgetMs: number,
): PlanRequest {
  return {
    podUids: pods.map(({ uid }) => uid).sort(compareText),
    withoutNodes: nodes.map(({ name }) => name).sort(compareText),
    ...(below === undefined ? {} : { maxPriceMicrosPerHour: below }),
    ...(openNodes === undefined ? {} : { openNodes }),
    ...(isRecorded ? { isRecorded } : {}),
    budgetMs,
  };
}
