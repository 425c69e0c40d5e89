import { compareText } from '@dovetail/core-kube-model';

import { conditionOf, isReady, isTerminal, type Pod } from '../model/objects.js';

/** Pods that run or will: neither ended nor on their way out. */
export const activePods = (pods: readonly Pod[]): readonly Pod[] =>
  pods.filter((pod) => !isTerminal(pod) && pod.metadata.deletionTimestamp === undefined);

/** Ready for at least so many seconds. */
export function isAvailable(pod: Pod, minReadySeconds: number, nowMs: number): boolean {
  if (!isReady(pod)) return false;
  const since = conditionOf(pod.status?.conditions, 'Ready')?.lastTransitionTime;
  return (
    minReadySeconds === 0 ||
    (since !== undefined && Date.parse(since) + minReadySeconds * 1000 <= nowMs)
  );
}

const rank = (pod: Pod): readonly number[] => [
  (pod.spec.nodeName ?? '') === '' ? 0 : 1,
  pod.status?.phase === 'Pending' ? 0 : pod.status?.phase === 'Running' ? 2 : 1,
  isReady(pod) ? 1 : 0,
  Number(pod.metadata.annotations?.['controller.kubernetes.io/pod-deletion-cost'] ?? 0),
];

/**
 * The pods in the order in which a controller ends them: unplaced, pending, unready, cheapest to
 * delete, on crowded nodes, youngest.
 */
export function endFirst(pods: readonly Pod[]): readonly Pod[] {
  const onNode = new Map<string, number>();
  for (const pod of pods)
    onNode.set(pod.spec.nodeName ?? '', (onNode.get(pod.spec.nodeName ?? '') ?? 0) + 1);
  const crowd = (pod: Pod): number => -(onNode.get(pod.spec.nodeName ?? '') ?? 0);
  const order = (left: Pod, right: Pod): number => {
    const [a, b] = [rank(left), rank(right)];
    for (const [index, value] of a.entries())
      if (value !== b[index]) return value - (b[index] ?? 0);
    return (
      crowd(left) - crowd(right) ||
      compareText(right.metadata.creationTimestamp, left.metadata.creationTimestamp) ||
      compareText(left.metadata.name, right.metadata.name)
    );
  };
  return [...pods].sort(order);
}

/** A count or a percentage of a total, rounded as asked. */
export function countOf(value: unknown, total: number, round: 'up' | 'down'): number {
  if (typeof value === 'number') return value;
  if (typeof value !== 'string') return 0;
  const share = (Number.parseInt(value, 10) * total) / 100;
  return round === 'up' ? Math.ceil(share) : Math.floor(share);
}
