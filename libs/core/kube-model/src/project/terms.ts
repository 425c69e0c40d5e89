import type { LabelSelector, LabelSelectorRequirement, NodeSelectorTerm, Taint, Toleration } from '../pod.js';
import type { RequirementSpec } from '../requirement.js';
import type { Raw } from './raw.js';
import { optional, readEach, readInteger, readOneOf, readRecord, readRequiredText, readText, readTextMap, readTexts } from './raw.js';

const effects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'] as const;
const selectorOperators = ['In', 'NotIn', 'Exists', 'DoesNotExist'] as const;
const nodeOperators = [...selectorOperators, 'Gt', 'Lt', 'Gte', 'Lte'] as const;

/** A label selector, `matchLabels` first and in key order; absent stays absent (it selects nothing). */
export function readSelector(raw: unknown, field: string): LabelSelector | undefined {
  if (raw === undefined || raw === null) return undefined;
  const selector = readRecord(raw, field);
  const labels = readTextMap(selector['matchLabels'], `${field}.matchLabels`);
  const equalities = Object.keys(labels).sort().map((key): LabelSelectorRequirement => ({ key, operator: 'In', values: [labels[key] ?? ''] }));
  const expressions = readEach(selector['matchExpressions'], `${field}.matchExpressions`, (item, path): LabelSelectorRequirement => ({
    key: readRequiredText(item['key'], `${path}.key`),
    operator: readOneOf(item['operator'], `${path}.operator`, selectorOperators),
    values: readTexts(item['values'], `${path}.values`),
  }));
  return { requirements: [...equalities, ...expressions] };
}

/** Requirement entries of a node selector term, a NodePool or a NodeClaim. */
export function readRequirementSpecs(raw: unknown, field: string): readonly RequirementSpec[] {
  return readEach(raw, field, (item, path): RequirementSpec => ({
    key: readRequiredText(item['key'], `${path}.key`),
    operator: readOneOf(item['operator'], `${path}.operator`, nodeOperators),
    values: readTexts(item['values'], `${path}.values`),
    ...optional('minValues', readInteger(item['minValues'], `${path}.minValues`, { min: 1 })),
  }));
}

const readTerm = (item: Raw, path: string): NodeSelectorTerm => ({
  matchExpressions: readRequirementSpecs(item['matchExpressions'], `${path}.matchExpressions`),
  matchFields: readRequirementSpecs(item['matchFields'], `${path}.matchFields`),
});

/** Whether a term says anything. Kubernetes lets an empty required term match no node, and an empty preference do nothing. */
export const saysSomething = (term: NodeSelectorTerm): boolean => term.matchExpressions.length + term.matchFields.length > 0;

/** One term of a node selector. */
export const readNodeSelectorTerm = (raw: unknown, field: string): NodeSelectorTerm => readTerm(readRecord(raw, field), field);

/** `nodeSelectorTerms` of a required node selector, without the empty ones, which match nothing. Absent stays absent. */
export function readNodeSelector(raw: unknown, field: string): readonly NodeSelectorTerm[] | undefined {
  if (raw === undefined || raw === null) return undefined;
  return readEach(readRecord(raw, field)['nodeSelectorTerms'], `${field}.nodeSelectorTerms`, readTerm).filter(saysSomething);
}

/** Taints of a node, pool or claim. */
export function readTaints(raw: unknown, field: string): readonly Taint[] {
  return readEach(raw, field, (item, path): Taint => ({
    key: readRequiredText(item['key'], `${path}.key`),
    ...optional('value', readText(item['value'], `${path}.value`) || undefined),
    effect: readOneOf(item['effect'], `${path}.effect`, effects),
  }));
}

/** Tolerations of a pod; an absent operator is Equal, an absent effect matches all. */
export function readTolerations(raw: unknown, field: string): readonly Toleration[] {
  return readEach(raw, field, (item, path): Toleration => {
    const effect = item['effect'];
    return {
      ...optional('key', readText(item['key'], `${path}.key`) || undefined),
      operator: readOneOf(item['operator'], `${path}.operator`, ['Equal', 'Exists', 'Lt', 'Gt'], 'Equal'),
      ...optional('value', readText(item['value'], `${path}.value`)),
      ...(effect === undefined || effect === null || effect === '' ? {} : { effect: readOneOf(effect, `${path}.effect`, effects) }),
      ...optional('tolerationSeconds', readInteger(item['tolerationSeconds'], `${path}.tolerationSeconds`)),
    };
  });
}
