import type { Taint, Toleration } from './pod.js';

const decimalInteger = /^(0|-?[1-9][0-9]*)$/;

/**
 * Compares a taint's value with a toleration's, for Kubernetes' Lt and Gt. Only decimal integers
 * match.
 */
function compares(taintValue: string, tolerationValue: string, operator: 'Lt' | 'Gt'): boolean {
  if (!decimalInteger.test(taintValue) || !decimalInteger.test(tolerationValue)) return false;
  const difference = BigInt(taintValue) - BigInt(tolerationValue);
  return operator === 'Lt' ? difference < 0n : difference > 0n;
}

/**
 * Whether a toleration matches a taint (Kubernetes' ToleratesTaint). A toleration without an effect
 * matches every effect, and `Exists` without a key matches every taint. An absent value is empty.
 */
export function tolerates(taint: Taint, toleration: Toleration): boolean {
  if (toleration.effect !== undefined && toleration.effect !== taint.effect) return false;
  const key = toleration.key ?? '';
  if (key !== '' && key !== taint.key) return false;
  switch (toleration.operator) {
    case 'Exists':
      return true;
    case 'Equal':
      return key !== '' && (toleration.value ?? '') === (taint.value ?? '');
    case 'Lt':
    case 'Gt':
      return key !== '' && compares(taint.value ?? '', toleration.value ?? '', toleration.operator);
  }
}

/**
 * The first taint, in the given order, that keeps the pod away. PreferNoSchedule counts only with
 * `includePreferred`. kube-scheduler merely avoids such nodes; Karpenter treats the taint as
 * binding until it relaxes the pod's preferences.
 */
export function firstUntolerated(
  taints: readonly Taint[],
  tolerations: readonly Toleration[],
  options?: { readonly includePreferred?: boolean },
): Taint | undefined {
  return taints.find(
    (taint) =>
      (taint.effect !== 'PreferNoSchedule' || options?.includePreferred === true) &&
      !tolerations.some((toleration) => tolerates(taint, toleration)),
  );
}

/** Writes a taint as kubectl does: `key=value:Effect`. */
export const describeTaint = (taint: Taint): string =>
  `${taint.key}${taint.value === undefined || taint.value === '' ? '' : `=${taint.value}`}:${taint.effect}`;

/**
 * Whether a node carries the taint only while it starts. Planning ignores such taints on nodes that
 * are not initialised (Karpenter's KnownEphemeralTaints).
 */
export function isEphemeralTaint(taint: Taint): boolean {
  if (taint.key.startsWith('readiness.k8s.io/')) return true;
  switch (taint.key) {
    case 'node.kubernetes.io/not-ready':
      return taint.effect !== 'PreferNoSchedule';
    case 'node.kubernetes.io/unreachable':
      return taint.effect === 'NoSchedule';
    case 'node.cloudprovider.kubernetes.io/uninitialized':
      return taint.effect === 'NoSchedule';
    case 'karpenter.sh/unregistered':
      return true;
    default:
      return false;
  }
}
