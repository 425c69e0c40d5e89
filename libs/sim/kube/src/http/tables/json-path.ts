import { lookUp } from '@dovetail/core-invariant';
import { isRecord } from '@dovetail/core-kube-model';

import { textOf } from '../../model/json.js';

/** One step of a path: a field, every item, one item, or the items whose field has a value. */
type Step =
  | { readonly kind: 'field'; readonly name: string }
  | { readonly kind: 'all' }
  | { readonly kind: 'index'; readonly index: number }
  | { readonly kind: 'where'; readonly field: string; readonly value: string };

const bracket =
  /^\[(?:(\*)|(-?\d+)|'([^']*)'|"([^"]*)"|\?\(\s*@\.([\w.-]+)\s*==\s*(?:"([^"]*)"|'([^']*)')\s*\))\]/;

function parseBracket(match: RegExpExecArray): Step {
  const [, all, index, single, double, field, value, quoted] = match;
  if (all !== undefined) return { kind: 'all' };
  if (index !== undefined) return { kind: 'index', index: Number(index) };
  const name = single ?? double;
  return name !== undefined
    ? { kind: 'field', name }
    : { kind: 'where', field: field ?? '', value: value ?? quoted ?? '' };
}

const parsed = new Map<string, readonly Step[]>();

function parse(path: string): readonly Step[] {
  const before = parsed.get(path);
  if (before !== undefined) return before;
  const steps: Step[] = [];
  let rest = path.replace(/^\{|\}$/g, '').replace(/^\$/, '');
  while (rest !== '') {
    const inBrackets = bracket.exec(rest);
    const field = /^\.((?:\\.|[^.[\]])+)/.exec(rest);
    if (inBrackets !== null) steps.push(parseBracket(inBrackets));
    else if (field !== null)
      steps.push(
        field[1] === '*'
          ? { kind: 'all' }
          : { kind: 'field', name: (field[1] as string).replace(/\\(.)/g, '$1') },
      );
    const taken = inBrackets?.[0] ?? field?.[0];
    if (taken === undefined) break;
    rest = rest.slice(taken.length);
  }
  parsed.set(path, steps);
  return steps;
}

function take(values: readonly unknown[], step: Step): readonly unknown[] {
  return values.flatMap((value): readonly unknown[] => {
    switch (step.kind) {
      case 'field':
        return isRecord(value) && lookUp(value, step.name) !== undefined
          ? [lookUp(value, step.name)]
          : [];
      case 'all':
        return Array.isArray(value) ? value : isRecord(value) ? Object.values(value) : [];
      case 'index': {
        const item: unknown = Array.isArray(value) ? value.at(step.index) : undefined;
        return item === undefined ? [] : [item];
      }
      case 'where':
        return Array.isArray(value)
          ? value.filter(
              (item) => isRecord(item) && textOf(lookUp(item, step.field)) === step.value,
            )
          : [];
    }
  });
}

/**
 * The values at a JSONPath. Supports what printer columns use: fields, `[*]`, `[n]`, `['k']` and
 * `[?(@.k=="v")]`.
 */
export const valuesAtPath = (value: unknown, path: string): readonly unknown[] =>
  parse(path).reduce<readonly unknown[]>(take, [value]);
