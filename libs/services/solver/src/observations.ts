import type { PlanMessage } from '@dovetail/contracts';
import type { Metrics } from '@dovetail/core-ports';
import { gapOf } from '@dovetail/service-kit';

type Measured = { readonly metrics: Metrics };

/**
 * A batch waits for a solver. A request waits for the planning thread, which plans one at a time.
 */
export const observeWait = (
  { metrics }: Measured,
  work: 'batch' | 'request',
  waitedMs: number,
): void =>
  metrics.observe('dovetail_solver_queue_wait_seconds', Math.max(0, waitedMs) / 1_000, { work });

/** Karpenter's name for what a plan is made for: pending pods, or pods of nodes to give up. */
export type PlanFor = 'provisioner' | 'disruption';

/** The measures of one plan: its time, its classes, its gap and the pods it leaves over. */
export function observePlan(
  { metrics }: Measured,
  { plan, solveMs }: PlanMessage,
  controller: PlanFor,
): void {
  metrics.observe('karpenter_scheduler_scheduling_duration_seconds', solveMs / 1_000, {
    controller,
  });
  metrics.observe('dovetail_solver_classes', plan.stats.classes);
  const gap = gapOf(plan);
  if (gap !== undefined) metrics.observe('dovetail_solver_gap_ratio', gap);
  for (const { reasons } of plan.unplaced)
    metrics.count('dovetail_solver_unplaced_total', { reason: reasons[0]?.code ?? 'none' });
}
