import { forbidden } from '../errors.js';
import { compareText } from '../json.js';
import { isTerminal, type Pod, type ResourceQuota } from '../model.js';
import { podRequests } from '../pod-requests.js';
import { addAmounts, amountsOf, parseMillis, quantityText, type Amounts } from '../quantity.js';
import type { StoreState } from '../store/state.js';

/** What one pod uses of each quota resource; thousandths. */
export function quotaUsage(pod: Pod): Amounts {
  const requests = podRequests(pod);
  let limits: Amounts = {};
  for (const container of pod.spec.containers) limits = addAmounts(limits, amountsOf(container.resources?.limits));
  const usage: Record<string, number> = { pods: 1000, 'count/pods': 1000 };
  for (const [name, amount] of Object.entries(requests)) {
    usage[`requests.${name}`] = amount;
    if (name === 'cpu' || name === 'memory') usage[name] = amount;
  }
  for (const [name, amount] of Object.entries(limits)) usage[`limits.${name}`] = amount;
  return usage;
}

/** What the pods of a namespace use together. */
export function namespaceUsage(state: StoreState, namespace: string): Amounts {
  let used: Amounts = {};
  for (const object of state.table('pods').values()) {
    if (object.metadata.namespace === namespace && !isTerminal(object as Pod)) used = addAmounts(used, quotaUsage(object as Pod));
  }
  return used;
}

function quotasIn(state: StoreState, namespace: string): readonly ResourceQuota[] {
  return [...state.table('resourcequotas').values()]
    .filter((quota) => quota.metadata.namespace === namespace)
    .sort((left, right) => compareText(left.metadata.name, right.metadata.name));
}

/** Refuses a new pod (403) that would pass a quota of its namespace, in the API server's words. */
export function admitQuota(pod: Pod, state: StoreState): void {
  const namespace = pod.metadata.namespace ?? '';
  const quotas = quotasIn(state, namespace);
  if (quotas.length === 0) return;
  const usage = quotaUsage(pod);
  const used = namespaceUsage(state, namespace);
  for (const quota of quotas) {
    const hard = amountsOf(quota.spec?.hard);
    const passed = Object.keys(hard).filter((name) => (usage[name] ?? 0) > 0 && (used[name] ?? 0) + (usage[name] ?? 0) > (hard[name] ?? 0)).sort(compareText);
    if (passed.length === 0) continue;
    const list = (amounts: Amounts): string => passed.map((name) => `${name}=${quantityText(name, amounts[name] ?? 0)}`).join(',');
    throw forbidden({ group: '', plural: 'pods', kind: 'Pod' }, pod.metadata.name, `exceeded quota: ${quota.metadata.name}, requested: ${list(usage)}, used: ${list(used)}, limited: ${list(hard)}`);
  }
}

/** The status a quota should have: what is limited and what of it is used. */
export function quotaStatus(quota: ResourceQuota, used: Amounts): { readonly hard: Record<string, string | number>; readonly used: Record<string, string> } {
  const hard = { ...quota.spec?.hard };
  const names = Object.keys(hard).filter((name) => parseMillis(hard[name] ?? '') !== undefined);
  return { hard, used: Object.fromEntries(names.map((name) => [name, quantityText(name, used[name] ?? 0)])) };
}
