import { lookUp, put } from '@dovetail/core-invariant';
import { compareText } from '@dovetail/core-kube-model';

import { forbidden } from '../model/errors.js';
import { isTerminal, type Pod, type ResourceQuota } from '../model/objects.js';
import { podLimits, podRequests } from '../model/pod-requests.js';
import {
  addAmounts,
  type Amounts,
  amountsOf,
  parseMillis,
  quantityText,
} from '../model/quantity.js';
import type { StrategyContext } from '../store/strategy.js';
import { isInScope } from './quota-scope.js';

/** Resources that a quota may name with or without `requests.` before them. */
const plainNames = ['cpu', 'memory', 'ephemeral-storage'];

/** The resources that every container must name if a quota of its namespace does. */
const demanded = ['cpu', 'memory'].flatMap((name) => [name, `requests.${name}`, `limits.${name}`]);

/** The use of each quota resource by one pod, in thousandths. */
function quotaUsage(pod: Pod): Amounts {
  const requests = podRequests(pod);
  const usage: Record<string, number> = { pods: 1000, 'count/pods': 1000 };
  for (const [name, amount] of Object.entries(requests)) {
    put(usage, `requests.${name}`, amount);
    if (plainNames.includes(name)) put(usage, name, amount);
  }
  for (const [name, amount] of Object.entries(podLimits(pod))) put(usage, `limits.${name}`, amount);
  return usage;
}

/** The use of each quota resource by the pods that a quota counts, in thousandths. */
export function usageUnder(quota: ResourceQuota, context: StrategyContext): Amounts {
  let used: Amounts = {};
  for (const object of context.table('pods').values()) {
    const pod = object as Pod;
    if (pod.metadata.namespace !== quota.metadata.namespace || isTerminal(pod)) continue;
    if (isInScope(quota, pod)) used = addAmounts(used, quotaUsage(pod));
  }
  return used;
}

function quotasFor(pod: Pod, context: StrategyContext): readonly ResourceQuota[] {
  return [...context.table('resourcequotas').values()]
    .filter((quota) => quota.metadata.namespace === pod.metadata.namespace && isInScope(quota, pod))
    .sort((left, right) => compareText(left.metadata.name, right.metadata.name));
}

const refused = (pod: Pod, why: string): Error =>
  forbidden({ group: '', plural: 'pods', kind: 'Pod' }, pod.metadata.name, why);

/** The containers that do not name a resource which a quota needs to count. */
function unnamed(pod: Pod, resource: string): readonly string[] {
  const [bound, name = bound ?? ''] = resource.split('.');
  return [...pod.spec.containers, ...(pod.spec.initContainers ?? [])]
    .filter(
      ({ resources }) =>
        lookUp(resources?.[bound === 'limits' ? 'limits' : 'requests'], name) === undefined,
    )
    .map((container) => container.name);
}

function admitNamed(pod: Pod, quota: ResourceQuota, hard: Amounts): void {
  if (pod.spec.resources !== undefined) return;
  const missing = demanded
    .filter((resource) => Object.hasOwn(hard, resource))
    .map((resource) => ({ resource, names: unnamed(pod, resource) }))
    .filter(({ names }) => names.length > 0)
    .map(({ resource, names }) => `${resource} for: ${[...names].sort(compareText).join(',')}`);
  if (missing.length === 0) return;
  const list = missing.sort(compareText).join('; ');
  throw refused(pod, `failed quota: ${quota.metadata.name}: must specify ${list}`);
}

function admitAmounts(
  pod: Pod,
  quota: ResourceQuota,
  { hard, used }: { readonly hard: Amounts; readonly used: Amounts },
): void {
  const usage = quotaUsage(pod);
  const passed = Object.keys(hard)
    .filter(
      (name) =>
        (lookUp(usage, name) ?? 0) > 0 &&
        (lookUp(used, name) ?? 0) + (lookUp(usage, name) ?? 0) > (lookUp(hard, name) ?? 0),
    )
    .sort(compareText);
  if (passed.length === 0) return;
  const list = (amounts: Amounts): string =>
    passed.map((name) => `${name}=${quantityText(name, lookUp(amounts, name) ?? 0)}`).join(',');
  throw refused(
    pod,
    `exceeded quota: ${quota.metadata.name}, requested: ${list(usage)}, used: ${list(used)}, limited: ${list(hard)}`,
  );
}

/**
 * Throws 403, in the API server's words, for a new pod that would exceed a quota of its namespace,
 * or that does not say how much it takes of a resource under a quota.
 */
export function admitQuota(pod: Pod, context: StrategyContext): void {
  for (const quota of quotasFor(pod, context)) {
    const hard = amountsOf(quota.spec?.hard);
    admitNamed(pod, quota, hard);
    admitAmounts(pod, quota, { hard, used: usageUnder(quota, context) });
  }
}

/** The status of a quota: the limits and the use. */
export function quotaStatus(
  quota: ResourceQuota,
  used: Amounts,
): { readonly hard: Record<string, string | number>; readonly used: Record<string, string> } {
  const hard = { ...quota.spec?.hard };
  const names = Object.keys(hard).filter(
    (name) => parseMillis(lookUp(hard, name) ?? '') !== undefined,
  );
  return {
    hard,
    used: Object.fromEntries(
      names.map((name) => [name, quantityText(name, lookUp(used, name) ?? 0)]),
    ),
  };
}
