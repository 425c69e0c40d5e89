import { compareText } from '@dovetail/core-kube-model';

import { forbidden } from '../model/errors.js';
import { isTerminal, type Pod, type ResourceQuota } from '../model/objects.js';
import { podRequests } from '../model/pod-requests.js';
import {
  addAmounts,
  type Amounts,
  amountsOf,
  parseMillis,
  quantityText,
} from '../model/quantity.js';
import type { StrategyContext } from '../store/strategy.js';

/** The use of each quota resource by one pod, in thousandths. */
function quotaUsage(pod: Pod): Amounts {
  const requests = podRequests(pod);
  let limits: Amounts = {};
  for (const container of pod.spec.containers)
    limits = addAmounts(limits, amountsOf(container.resources?.limits));
  const usage: Record<string, number> = { pods: 1000, 'count/pods': 1000 };
  for (const [name, amount] of Object.entries(requests)) {
    usage[`requests.${name}`] = amount;
    if (name === 'cpu' || name === 'memory') usage[name] = amount;
  }
  for (const [name, amount] of Object.entries(limits)) usage[`limits.${name}`] = amount;
  return usage;
}

/** The use of each quota resource by all pods of a namespace, in thousandths. */
export function namespaceUsage(context: StrategyContext, namespace: string): Amounts {
  let used: Amounts = {};
  for (const object of context.table('pods').values()) {
    if (object.metadata.namespace === namespace && !isTerminal(object as Pod))
      used = addAmounts(used, quotaUsage(object as Pod));
  }
  return used;
}

function quotasIn(context: StrategyContext, namespace: string): readonly ResourceQuota[] {
  return [...context.table('resourcequotas').values()]
    .filter((quota) => quota.metadata.namespace === namespace)
    .sort((left, right) => compareText(left.metadata.name, right.metadata.name));
}

/**
 * Throws 403, in the API server's words, for a new pod that would exceed a quota of its namespace.
 */
export function admitQuota(pod: Pod, context: StrategyContext): void {
  const namespace = pod.metadata.namespace ?? '';
  const quotas = quotasIn(context, namespace);
  if (quotas.length === 0) return;
  const usage = quotaUsage(pod);
  const used = namespaceUsage(context, namespace);
  for (const quota of quotas) {
    const hard = amountsOf(quota.spec?.hard);
    const passed = Object.keys(hard)
      .filter(
        (name) =>
          (usage[name] ?? 0) > 0 && (used[name] ?? 0) + (usage[name] ?? 0) > (hard[name] ?? 0),
      )
      .sort(compareText);
    if (passed.length === 0) continue;
    const list = (amounts: Amounts): string =>
      passed.map((name) => `${name}=${quantityText(name, amounts[name] ?? 0)}`).join(',');
    throw forbidden(
      { group: '', plural: 'pods', kind: 'Pod' },
      pod.metadata.name,
      `exceeded quota: ${quota.metadata.name}, requested: ${list(usage)}, used: ${list(used)}, limited: ${list(hard)}`,
    );
  }
}

/** The status of a quota: the limits and the use. */
export function quotaStatus(
  quota: ResourceQuota,
  used: Amounts,
): { readonly hard: Record<string, string | number>; readonly used: Record<string, string> } {
  const hard = { ...quota.spec?.hard };
  const names = Object.keys(hard).filter((name) => parseMillis(hard[name] ?? '') !== undefined);
  return {
    hard,
    used: Object.fromEntries(names.map((name) => [name, quantityText(name, used[name] ?? 0)])),
  };
}
