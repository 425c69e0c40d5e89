import { lookUp } from '@dovetail/core-invariant';

import { badRequest } from './errors.js';
import type { LabelSelectorSpec, SelectorExpression } from './objects.js';

type Labels = Readonly<Record<string, string>>;

/** Whether an object with these labels matches. */
export type LabelTest = (labels: Labels | undefined) => boolean;

function valueTestOf(
  operator: string,
  values: readonly string[],
): (value: string | undefined) => boolean {
  switch (operator) {
    case 'In':
      return (value) => value !== undefined && values.includes(value);
    case 'NotIn':
      return (value) => value === undefined || !values.includes(value);
    case 'Exists':
      return (value) => value !== undefined;
    case 'DoesNotExist':
      return (value) => value === undefined;
    case 'Gt':
      return (value) => value !== undefined && Number.parseInt(value, 10) > Number(values[0]);
    case 'Lt':
      return (value) => value !== undefined && Number.parseInt(value, 10) < Number(values[0]);
    default:
      throw badRequest(`"${operator}" is not a valid label selector operator`);
  }
}

function testOf(key: string, operator: string, values: readonly string[]): LabelTest {
  const test = valueTestOf(operator, values);
  return (labels) => test(lookUp(labels, key));
}

/** The test of one expression of a selector. */
export const expressionTest = (expression: SelectorExpression): LabelTest =>
  testOf(expression.key, expression.operator, expression.values ?? []);

const selectorTests = new WeakMap<LabelSelectorSpec, LabelTest>();

/**
 * A LabelSelector object as a test. An absent selector selects nothing, an empty one everything.
 * Tests are cached per object.
 */
export function selectorTest(selector: LabelSelectorSpec | undefined): LabelTest {
  if (selector === undefined) return () => false;
  const before = selectorTests.get(selector);
  if (before !== undefined) return before;
  const tests = [
    ...Object.entries(selector.matchLabels ?? {}).map(([key, value]) => testOf(key, 'In', [value])),
    ...(selector.matchExpressions ?? []).map(expressionTest),
  ];
  const test: LabelTest = (labels) => tests.every((one) => one(labels));
  selectorTests.set(selector, test);
  return test;
}

const cannotParse = (text: string): Error => badRequest(`unable to parse requirement: ${text}`);

/** Splits at commas outside parentheses. */
function clausesOf(text: string): readonly string[] {
  const clauses: string[] = [];
  let depth = 0;
  let start = 0;
  for (let at = 0; at <= text.length; at += 1) {
    const letter = text[at];
    if (letter === '(') depth += 1;
    else if (letter === ')') depth -= 1;
    else if (letter === undefined || (letter === ',' && depth === 0)) {
      clauses.push(text.slice(start, at).trim());
      start = at + 1;
    }
  }
  return clauses.filter((clause) => clause !== '');
}

function labelClause(clause: string): LabelTest {
  const set = /^(\S+)\s+(in|notin)\s*\(([^)]*)\)$/.exec(clause);
  if (set !== null)
    return testOf(
      set[1] as string,
      set[2] === 'in' ? 'In' : 'NotIn',
      (set[3] as string).split(',').map((value) => value.trim()),
    );
  const compared = /^([^\s=!<>]+)\s*(==|=|!=|>|<)\s*([^\s=!<>]*)$/.exec(clause);
  if (compared !== null) {
    const operator = { '=': 'In', '==': 'In', '!=': 'NotIn', '>': 'Gt', '<': 'Lt' }[
      compared[2] as '='
    ];
    return testOf(compared[1] as string, operator, [compared[3] as string]);
  }
  const bare = /^(!?)\s*([^\s=!<>()]+)$/.exec(clause);
  if (bare !== null)
    return testOf(bare[2] as string, bare[1] === '!' ? 'DoesNotExist' : 'Exists', []);
  throw cannotParse(clause);
}

/**
 * Parses the label selector of a query, such as `a=b,c in (d,e),!f`. An empty text selects
 * everything. Throws StatusError 400.
 */
export function parseLabelSelector(text: string | undefined): LabelTest {
  const tests = clausesOf(text ?? '').map(labelClause);
  return (labels) => tests.every((test) => test(labels));
}

/** One comparison of a field selector. */
export type FieldTerm = { readonly field: string; readonly value: string; readonly equal: boolean };

/**
 * Parses the field selector of a query, such as `spec.nodeName=a,status.phase!=Failed`. Throws
 * StatusError 400.
 */
export function parseFieldSelector(text: string | undefined): readonly FieldTerm[] {
  return clausesOf(text ?? '').map((clause) => {
    const match = /^([^=!]+?)\s*(==|=|!=)\s*(.*)$/.exec(clause);
    if (match === null)
      throw badRequest(`invalid field selector: ${clause}; expected field=value or field!=value`);
    return {
      field: match[1] as string,
      value: (match[3] as string).replace(/\\([,=\\])/g, '$1'),
      equal: match[2] !== '!=',
    };
  });
}
