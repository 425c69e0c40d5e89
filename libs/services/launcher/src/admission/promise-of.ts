import { type PlanCause, replacedNodes } from '@dovetail/contracts';
import type { PromiseAnnotation } from '@dovetail/core-api';
import type { Pod, Resources } from '@dovetail/core-kube-model';

/** The room that an admitted bin holds: for its pods, or for the successors of replaced ones. */
export function promiseOf(
  cause: PlanCause,
  {
    pods,
    podUids,
    requests,
    shared,
  }: {
    readonly pods: readonly Pod[];
    readonly podUids: readonly string[];
    readonly requests: Resources;
    readonly shared: Pick<PromiseAnnotation, 'admission' | 'untilMs'>;
  },
): PromiseAnnotation {
  if (cause.kind === 'pending') return { ...shared, podUids };
  const left = new Set(pods.map(({ nodeName }) => nodeName));
  const { nodeName, nodeUid } = cause;
  return {
    ...shared,
    podUids: [],
    reserved: requests,
    forPodUids: podUids,
    replaces: replacedNodes(cause).find((node) => left.has(node.nodeName)) ?? { nodeName, nodeUid },
  };
}
