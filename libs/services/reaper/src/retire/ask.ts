import { requestPlan } from '@dovetail/contracts';
import type { NodeView } from '@dovetail/core-disruption';
import { isReschedulable, type Node } from '@dovetail/core-kube-model';
import { BusError } from '@dovetail/core-ports';
import type { Reaping } from '../context.js';
import { channelOf } from '../deps.js';

/**
 * What came of asking. `planned`: a solver has answered; `complete` when every pod found a place or nothing can be done about the
 * rest anyway. `not-taken`: no solver has seen the request. `unknown`: one may have planned all the same.
 */
export type Asked =
  | { readonly kind: 'planned'; readonly newNodes: number; readonly complete: boolean }
  | { readonly kind: 'not-taken' }
  | { readonly kind: 'unknown' };

/** Asks a solver to plan the node's pods as if it were gone, and to hand the plan to the launcher. */
export async function askForReplacement(reaping: Reaping, view: NodeView & { readonly node: Node }, reason: string): Promise<Asked> {
  const { deps, config } = reaping;
  const { node } = view;
  const podUids = view.pods.filter(isReschedulable).map(({ uid }) => uid).sort();
  try {
    const outcome = await requestPlan(channelOf(deps, config), 'plan', {
      podUids, withoutNodes: [node.name], commit: { nodeName: node.name, nodeUid: node.uid, reason }, budgetMs: config.disruption.planBudgetMs,
    }, { timeoutMs: config.disruption.planTimeoutMs });
    deps.metrics.count('dovetail_whatif_total', { outcome: outcome.ok ? 'planned' : outcome.code });
    if (!outcome.ok) {
      deps.log.warn('whatif-refused', `no plan for the pods of ${node.name}: ${outcome.code}: ${outcome.message}`, { node: node.name, code: outcome.code });
      return { kind: 'not-taken' };
    }
    const { plan, planId } = outcome.reply;
    deps.log.info('whatif-planned', `the ${String(podUids.length)} pods of ${node.name}: ${String(plan.newNodes.length)} new nodes, ${String(plan.placements.length)} existing, ${String(plan.unplaced.length)} unplaced`, { node: node.name, plan: planId });
    return { kind: 'planned', newNodes: plan.newNodes.length, complete: plan.newNodes.length > 0 || plan.unplaced.length === 0 };
  } catch (error) {
    if (!(error instanceof BusError)) throw error;
    deps.metrics.count('dovetail_whatif_total', { outcome: error.code });
    deps.log.warn('whatif-failed', `no solver answered for the pods of ${node.name}: ${error.code}; trying again`, { node: node.name, code: error.code });
    return { kind: error.code === 'no-responders' || error.code === 'unavailable' ? 'not-taken' : 'unknown' };
  }
}
