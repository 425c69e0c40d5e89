import {
  type Parsed,
  pdbOf,
  type PodDisruptionBudget,
  type Raw,
  recordOf,
} from '@dovetail/core-kube-model';

/** Reads a PodDisruptionBudget of policy/v1 or policy/v1beta1. */
export const budgetOf = (raw: unknown): Parsed<PodDisruptionBudget> =>
  pdbOf(inPolicyV1(raw as Raw));

/**
 * A budget as policy/v1 would have it. In policy/v1beta1 an empty selector matches no pod; in
 * policy/v1 it matches every one of the namespace.
 */
function inPolicyV1(raw: Raw): Raw {
  if (raw['apiVersion'] !== 'policy/v1beta1') return raw;
  const spec = recordOf(raw['spec']);
  const { matchLabels, matchExpressions } = recordOf(spec['selector']);
  const labels = Object.keys(recordOf(matchLabels)).length;
  const isEmpty =
    labels === 0 && (!Array.isArray(matchExpressions) || matchExpressions.length === 0);
  if (!isEmpty) return raw;
  const { selector: _, ...rest } = spec;
  return { ...raw, spec: rest };
}
