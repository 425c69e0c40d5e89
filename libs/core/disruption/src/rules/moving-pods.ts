import { taints } from '@dovetail/core-api';
import {
  isActive,
  isDisruptionProtected,
  isEvictable,
  isReschedulable,
  type Pod,
  type PodDisruptionBudget,
} from '@dovetail/core-kube-model';

import type { EligibilityOptions } from './eligibility.js';

/** Whether the budget never lets a pod go, however many of its pods are well. */
const isFullyBlocking = ({ minAvailable, maxUnavailable }: PodDisruptionBudget): boolean =>
  maxUnavailable === '0' || maxUnavailable === '0%' || minAvailable === '100%';

/** Whether nothing but a deadline moves the pod: its annotation, or budgets that never yield. */
function isKept(pod: Pod, { budgetsOf, nowMs }: MovingOptions): boolean {
  if (isActive(pod) && isDisruptionProtected(pod, nowMs)) return true;
  if (!isEvictable(pod, taints.disrupted)) return false;
  const [budget, ...others] = budgetsOf(pod);
  if (others.length > 0) return true;
  if (budget === undefined) return false;
  const { unhealthyPodEvictionPolicy: policy } = budget;
  return isFullyBlocking(budget) && !(policy === 'AlwaysAllow' && !pod.ready);
}

type MovingOptions = Pick<EligibilityOptions, 'budgetsOf' | 'nowMs'>;

/**
 * The pods of a node that need another place before it goes although some of them may block it.
 * Those that only a deadline moves are left out: nobody knows when they need their place, and it
 * would cost money until then (Karpenter's IsCurrentlyReschedulable).
 */
export const movingPods = (pods: readonly Pod[], options: MovingOptions): readonly Pod[] =>
  pods.filter((pod) => isReschedulable(pod) && !isKept(pod, options));
