import { lookUp } from '@dovetail/core-invariant';

import type {
  LabelSelector,
  LabelSelectorRequirement,
  NodeSelectorTerm,
  Taint,
  Toleration,
} from '../pod.js';
import type { RequirementSpec } from '../requirement.js';
import type { Raw } from './raw.js';
import {
  Malformed,
  optional,
  readEach,
  readInteger,
  readOneOf,
  readRecord,
  readRequiredText,
  readText,
  readTextMap,
  readTexts,
} from './raw.js';

const effects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'] as const;
const selectorOperators = ['In', 'NotIn', 'Exists', 'DoesNotExist'] as const;
const nodeOperators = [...selectorOperators, 'Gt', 'Lt'] as const;
/** Karpenter's requirements have two more than a pod's node affinity. */
const poolOperators = [...nodeOperators, 'Gte', 'Lte'] as const;

/**
 * Reads the values of a selector's expression. Throws Malformed for a number of values that the API
 * server refuses. In and NotIn need one at least, Gt and Lt exactly one, the others take none.
 */
function readValues(item: Raw, path: string): readonly string[] {
  const values = readTexts(item['values'], `${path}.values`);
  const refuse = (remedy: string): never => {
    throw new Malformed(`${path}.values`, item['values'], remedy);
  };
  switch (item['operator']) {
    case 'In':
    case 'NotIn':
      return values.length > 0 ? values : refuse('write at least one value');
    case 'Gt':
    case 'Lt':
      return values.length === 1 ? values : refuse('write exactly one value');
    default:
      return values.length === 0 ? values : refuse('leave the values out');
  }
}

/**
 * Reads a label selector, `matchLabels` first and by key. Undefined when it is absent: it selects
 * nothing.
 */
export function readSelector(raw: unknown, field: string): LabelSelector | undefined {
  if (raw === undefined || raw === null) return undefined;
  const selector = readRecord(raw, field);
  const labels = readTextMap(selector['matchLabels'], `${field}.matchLabels`);
  const equalities = Object.keys(labels)
    .sort()
    .map((key): LabelSelectorRequirement => ({
      key,
      operator: 'In',
      values: [lookUp(labels, key) ?? ''],
    }));
  const expressions = readEach(
    selector['matchExpressions'],
    `${field}.matchExpressions`,
    (item, path): LabelSelectorRequirement => ({
      key: readRequiredText(item['key'], `${path}.key`),
      operator: readOneOf(item['operator'], `${path}.operator`, selectorOperators),
      values: readValues(item, path),
    }),
  );
  return { requirements: [...equalities, ...expressions] };
}

/** Reads the requirements of a NodePool, a Provisioner or a NodeClaim. */
export function readRequirementSpecs(raw: unknown, field: string): readonly RequirementSpec[] {
  return readEach(raw, field, (item, path): RequirementSpec => ({
    key: readRequiredText(item['key'], `${path}.key`),
    operator: readOneOf(item['operator'], `${path}.operator`, poolOperators),
    values: readTexts(item['values'], `${path}.values`),
    ...optional('minValues', readInteger(item['minValues'], `${path}.minValues`, { min: 1 })),
  }));
}

const readExpressions = (raw: unknown, field: string): readonly RequirementSpec[] =>
  readEach(raw, field, (item, path): RequirementSpec => ({
    key: readRequiredText(item['key'], `${path}.key`),
    operator: readOneOf(item['operator'], `${path}.operator`, nodeOperators),
    values: readValues(item, path),
  }));

const readTerm = (item: Raw, path: string): NodeSelectorTerm => ({
  matchExpressions: readExpressions(item['matchExpressions'], `${path}.matchExpressions`),
  matchFields: readExpressions(item['matchFields'], `${path}.matchFields`),
});

/**
 * Whether a term states anything. In Kubernetes an empty required term matches no node, and an
 * empty preference has no effect.
 */
export const saysSomething = (term: NodeSelectorTerm): boolean =>
  term.matchExpressions.length + term.matchFields.length > 0;

/** Reads one term of a node selector. */
export const readNodeSelectorTerm = (raw: unknown, field: string): NodeSelectorTerm =>
  readTerm(readRecord(raw, field), field);

/**
 * Reads the terms of a required node selector, without empty ones, which match nothing. Undefined
 * when it is absent.
 */
export function readNodeSelector(
  raw: unknown,
  field: string,
): readonly NodeSelectorTerm[] | undefined {
  if (raw === undefined || raw === null) return undefined;
  return readEach(
    readRecord(raw, field)['nodeSelectorTerms'],
    `${field}.nodeSelectorTerms`,
    readTerm,
  ).filter(saysSomething);
}

/** Reads the taints of a node, pool or claim. */
export function readTaints(raw: unknown, field: string): readonly Taint[] {
  return readEach(raw, field, (item, path): Taint => ({
    key: readRequiredText(item['key'], `${path}.key`),
    ...optional('value', readText(item['value'], `${path}.value`) || undefined),
    effect: readOneOf(item['effect'], `${path}.effect`, effects),
  }));
}

/**
 * Reads the tolerations of a pod. An absent operator is Equal, and an absent effect matches all. As
 * for the API server, no key needs the operator Exists, and that takes no value.
 */
export function readTolerations(raw: unknown, field: string): readonly Toleration[] {
  return readEach(raw, field, (item, path): Toleration => {
    const effect = item['effect'];
    const key = readText(item['key'], `${path}.key`) || undefined;
    const value = readText(item['value'], `${path}.value`);
    const operator = readOneOf(
      item['operator'],
      `${path}.operator`,
      ['Equal', 'Exists', 'Lt', 'Gt'],
      'Equal',
    );
    if (key === undefined && operator !== 'Exists')
      throw new Malformed(`${path}.operator`, item['operator'], 'write Exists, or name a key');
    if (operator === 'Exists' && value !== undefined && value !== '')
      throw new Malformed(`${path}.value`, value, 'leave it out, or write the operator Equal');
    return {
      ...optional('key', key),
      operator,
      ...optional('value', value),
      ...(effect === undefined || effect === null || effect === ''
        ? {}
        : { effect: readOneOf(effect, `${path}.effect`, effects) }),
      ...optional(
        'tolerationSeconds',
        readInteger(item['tolerationSeconds'], `${path}.tolerationSeconds`),
      ),
    };
  });
}
