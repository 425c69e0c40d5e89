import { lookUp } from '@dovetail/core-invariant';

import type {
  NodeSelectorTermSpec,
  Pod,
  SelectorExpression,
  TaintSpec,
  TolerationSpec,
} from '../model/objects.js';
import { expressionTest } from '../model/selectors.js';
import type { NodeInfo } from './cache.js';

type NodeLike = Pick<NodeInfo, 'name' | 'labels'>;

const fieldsMatch = (expressions: readonly SelectorExpression[], node: NodeLike): boolean =>
  expressions.every((expression) => expressionTest(expression)({ 'metadata.name': node.name }));

/** Whether one term of a node selector holds: all of it, and an empty term never. */
export function termMatches(term: NodeSelectorTermSpec, node: NodeLike): boolean {
  const { matchExpressions = [], matchFields = [] } = term;
  if (matchExpressions.length === 0 && matchFields.length === 0) return false;
  return (
    matchExpressions.every((expression) => expressionTest(expression)(node.labels)) &&
    fieldsMatch(matchFields, node)
  );
}

/** Whether the pod's node selector and required node affinity allow the node. */
export function nodeAffinityAllows(
  pod: { readonly spec: Pick<Pod['spec'], 'nodeSelector' | 'affinity'> },
  node: NodeLike,
): boolean {
  for (const [key, value] of Object.entries(pod.spec.nodeSelector ?? {}))
    if (lookUp(node.labels, key) !== value) return false;
  const terms =
    pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
      ?.nodeSelectorTerms;
  return terms === undefined || terms.some((term) => termMatches(term, node));
}

/** Whether a toleration covers a taint. */
export function tolerates(toleration: TolerationSpec, taint: TaintSpec): boolean {
  if ((toleration.effect ?? '') !== '' && toleration.effect !== taint.effect) return false;
  if ((toleration.key ?? '') !== '' && toleration.key !== taint.key) return false;
  return toleration.operator === 'Exists' || (toleration.value ?? '') === (taint.value ?? '');
}

/** The first taint with one of the effects that nothing tolerates. */
export const untolerated = (
  tolerations: readonly TolerationSpec[] | undefined,
  taints: readonly TaintSpec[],
  effects: readonly string[],
): TaintSpec | undefined =>
  taints.find(
    (taint) =>
      effects.includes(taint.effect) &&
      !(tolerations ?? []).some((toleration) => tolerates(toleration, taint)),
  );
