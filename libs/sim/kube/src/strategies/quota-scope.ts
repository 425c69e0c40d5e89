import { lookUp } from '@dovetail/core-invariant';

import type { Pod, QuotaScope, ResourceQuota } from '../model/objects.js';
import { qosClass } from './pod-defaults.js';

const isBestEffort = ({ spec }: Pod): boolean => qosClass(spec) === 'BestEffort';

const isTerminating = ({ spec }: Pod): boolean => spec.activeDeadlineSeconds !== undefined;

/** Whether a pod is in a scope, by the scope's name. */
const scopes: Readonly<Record<string, (pod: Pod, scope: QuotaScope) => boolean>> = {
  BestEffort: isBestEffort,
  NotBestEffort: (pod) => !isBestEffort(pod),
  Terminating: isTerminating,
  NotTerminating: (pod) => !isTerminating(pod),
  PriorityClass: ({ spec }, { operator, values = [] }) => {
    const name = spec.priorityClassName ?? '';
    if (operator === 'DoesNotExist') return name === '';
    if (operator === 'NotIn') return !values.includes(name);
    return operator === 'In' ? values.includes(name) : name !== '';
  },
};

/**
 * Whether a quota counts a pod: all of its scopes hold. A scope that the twin does not know counts
 * no pod.
 */
export function isInScope(quota: ResourceQuota, pod: Pod): boolean {
  const named = (quota.spec?.scopes ?? []).map((scopeName) => ({ scopeName, operator: 'Exists' }));
  const all: readonly QuotaScope[] = [
    ...named,
    ...(quota.spec?.scopeSelector?.matchExpressions ?? []),
  ];
  return all.every((scope) => lookUp(scopes, scope.scopeName)?.(pod, scope) ?? false);
}
