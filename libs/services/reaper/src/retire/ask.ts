import { type PlannerOutcome, requestPlan } from '@dovetail/contracts';
import { compareText, type Node, type Pod } from '@dovetail/core-kube-model';
import { BusError } from '@dovetail/core-ports';
import { countText } from '@dovetail/service-kit';

import type { ReaperContext } from '../context.js';
import { channelOf } from '../deps.js';

/**
 * The outcome of asking. `planned`: a solver has answered, and has no place for `unplaced` pods.
 * `not-taken`: no solver has seen the request, or none is ready. `refused`: a solver, or the bus,
 * refuses this very request. `unknown`: a solver may have planned all the same.
 */
export type Asked =
  | { readonly kind: 'planned'; readonly unplaced: number }
  | { readonly kind: 'not-taken' }
  | { readonly kind: 'refused'; readonly code: string; readonly message: string }
  | { readonly kind: 'unknown' };

/** The pods to plan, and why they must move. `isUrgent`: by a deadline. */
type Moving = {
  readonly pods: readonly Pod[];
  readonly reason: string;
  readonly isUrgent?: boolean;
};

/** Asks a solver to plan these pods without their node, and to hand the plan to the launcher. */
export async function askForReplacement(
  context: ReaperContext,
  node: Node,
  { pods, reason, isUrgent = false }: Moving,
): Promise<Asked> {
  const { deps, config } = context;
  const { name: nodeName, uid: nodeUid } = node;
  const { planBudgetMs, urgentPlanBudgetMs, planTimeoutMs } = config.disruption;
  const podUids = pods.map(({ uid }) => uid).sort(compareText);
  const request = {
    podUids,
    withoutNodes: [nodeName],
    commit: { nodeName, nodeUid, reason },
    budgetMs: isUrgent ? urgentPlanBudgetMs : planBudgetMs,
  };
  try {
    const channel = channelOf(deps, config);
    const outcome = await requestPlan(channel, 'plan', request, { timeoutMs: planTimeoutMs });
    return takeOutcome(context, nodeName, podUids.length, outcome);
  } catch (error) {
    if (!(error instanceof BusError)) throw error;
    return takeFailure(context, nodeName, error);
  }
}

function takeOutcome(
  { deps }: ReaperContext,
  node: string,
  pods: number,
  outcome: PlannerOutcome,
): Asked {
  const { metrics, log } = deps;
  metrics.count('dovetail_whatif_total', { outcome: outcome.ok ? 'planned' : outcome.code });
  if (!outcome.ok) {
    const { code, message } = outcome;
    log.warn('whatif-refused', `no plan for the pods of ${node}: ${code}: ${message}`, {
      node,
      code,
    });
    return code === 'not-ready' ? { kind: 'not-taken' } : { kind: 'refused', code, message };
  }
  const { plan, planId } = outcome.reply;
  const [newNodes, unplaced] = [plan.newNodes.length, plan.unplaced.length];
  log.info(
    'whatif-planned',
    `planned ${countText(pods, 'pod')} of ${node}: ${countText(newNodes, 'new node')}, ${String(plan.placements.length)} existing, ${countText(unplaced, 'pod')} unplaced`,
    { node, plan: planId },
  );
  return { kind: 'planned', unplaced };
}

function takeFailure({ deps }: ReaperContext, node: string, error: BusError): Asked {
  const { code, message } = error;
  deps.metrics.count('dovetail_whatif_total', { outcome: code });
  if (code === 'too-large') {
    deps.log.warn('whatif-refused', `the pods of ${node} cannot be asked for: ${message}`, {
      node,
      code,
    });
    return { kind: 'refused', code, message };
  }
  deps.log.warn(
    'whatif-failed',
    `no solver answered for the pods of ${node}: ${code}; trying again`,
    { node, code },
  );
  const isNotTaken = code === 'no-responders' || code === 'unavailable';
  return { kind: isNotTaken ? 'not-taken' : 'unknown' };
}
