import { lookUp } from '@dovetail/core-invariant';
import { isRecord } from '@dovetail/core-kube-model';

import type { FieldError } from '../model/errors.js';
import { equalJson } from '../model/json.js';
import type { StoredObject } from '../model/objects.js';
import { type CompiledRule, compileRule } from './cel-environment.js';
import { celValue } from './cel-values.js';
import type { Rule, Schema } from './schema.js';

type CelReason =
  'FieldValueInvalid' | 'FieldValueForbidden' | 'FieldValueRequired' | 'FieldValueDuplicate';

const reasons: Readonly<Record<string, CelReason>> = {
  FieldValueInvalid: 'FieldValueInvalid',
  FieldValueForbidden: 'FieldValueForbidden',
  FieldValueRequired: 'FieldValueRequired',
  FieldValueDuplicate: 'FieldValueDuplicate',
};

/** Kubernetes shows the type in place of the value. */
function shown(schema: Schema, value: unknown): string {
  if (Array.isArray(value)) return '"array"';
  if (isRecord(value)) return '"object"';
  return JSON.stringify(schema.type ?? typeof value);
}

function celError(path: string, rule: Rule, value: string, message: string): FieldError {
  const type = lookUp(reasons, rule.reason ?? '') ?? 'FieldValueInvalid';
  const field = `${path}${rule.fieldPath ?? ''}`.replace(/^\./, '') || '<nil>';
  switch (type) {
    case 'FieldValueForbidden':
      return { type, field, message: `Forbidden: ${message}` };
    case 'FieldValueRequired':
      return { type, field, message: `Required value: ${message}` };
    case 'FieldValueDuplicate':
      return { type, field, message: `Duplicate value: ${value}` };
    case 'FieldValueInvalid':
      return { type, field, message: `Invalid value: ${value}: ${message}` };
  }
}

type Pair = { readonly now: unknown; readonly before: unknown };

/** True unless the rule compares with an old value and there is none. */
function applies(compiled: CompiledRule, rule: Rule, before: unknown): boolean {
  return !compiled.usesOldSelf || before !== undefined || rule.optionalOldSelf === true;
}

function ruleErrorsAt(path: string, schema: Schema, { now, before }: Pair): readonly FieldError[] {
  const errors: FieldError[] = [];
  for (const rule of schema.rules ?? []) {
    const compiled = compileRule(rule.rule);
    if (compiled.problem !== undefined || !applies(compiled, rule, before)) continue;
    const values = {
      self: celValue(schema, now),
      oldSelf: before === undefined ? undefined : celValue(schema, before),
    };
    const outcome = compiled.run(values);
    if (outcome.holds) continue;
    const failed =
      outcome.problem === undefined
        ? undefined
        : `${outcome.problem} evaluating rule: ${rule.message ?? rule.rule}`;
    const said =
      rule.messageExpression === undefined
        ? undefined
        : compileRule(rule.messageExpression).text(values);
    errors.push(
      celError(
        path,
        rule,
        shown(schema, now),
        said ?? failed ?? rule.message ?? `failed rule: ${rule.rule}`,
      ),
    );
  }
  return errors;
}

/** The item of a list that a keyed item was before; lists without keys have no history. */
function itemBefore(schema: Schema, item: unknown, before: unknown): unknown {
  if (!Array.isArray(before) || schema.listType !== 'map') return undefined;
  const keys = schema.listMapKeys ?? [];
  return before.find(
    (other: unknown) =>
      isRecord(other) &&
      isRecord(item) &&
      keys.every((key) => equalJson(lookUp(other, key), lookUp(item, key))),
  );
}

function walk(path: string, schema: Schema, pair: Pair): readonly FieldError[] {
  const { now, before } = pair;
  if (now === null || now === undefined) return [];
  const errors = [...ruleErrorsAt(path, schema, pair)];
  if (Array.isArray(now)) {
    const items = schema.items;
    if (items !== undefined)
      now.forEach((item: unknown, index) =>
        errors.push(
          ...walk(`${path}[${index}]`, items, {
            now: item,
            before: itemBefore(schema, item, before),
          }),
        ),
      );
  } else if (isRecord(now)) {
    for (const [field, inner] of Object.entries(now)) {
      const below = lookUp(schema.properties, field);
      const old = isRecord(before) ? lookUp(before, field) : undefined;
      if (below !== undefined)
        errors.push(...walk(`${path}.${field}`, below, { now: inner, before: old }));
      else if (isRecord(schema.additionalProperties))
        errors.push(
          ...walk(`${path}[${field}]`, schema.additionalProperties, { now: inner, before: old }),
        );
    }
  }
  return errors;
}

/**
 * The errors that the CEL rules of a custom kind find in an object, or in its change from `before`.
 */
export function celErrors(
  schema: Schema,
  object: StoredObject,
  before: StoredObject | undefined,
): readonly FieldError[] {
  return walk('', schema, { now: object, before });
}

/** The rules of a definition's schema that do not parse. */
export function ruleErrors(path: string, schema: Schema): readonly FieldError[] {
  const own = (schema.rules ?? []).flatMap((rule, index): readonly FieldError[] => {
    const { problem } = compileRule(rule.rule);
    return problem === undefined
      ? []
      : [
          {
            type: 'FieldValueInvalid',
            field: `${path}.x-kubernetes-validations[${index}].rule`,
            message: `Invalid value: ${JSON.stringify(rule.rule)}: compilation failed: ${problem}`,
          },
        ];
  });
  const below = Object.entries(schema.properties ?? {}).flatMap(([name, inner]) =>
    ruleErrors(`${path}.properties[${name}]`, inner),
  );
  const items = schema.items === undefined ? [] : ruleErrors(`${path}.items`, schema.items);
  const additional = isRecord(schema.additionalProperties)
    ? ruleErrors(`${path}.additionalProperties`, schema.additionalProperties)
    : [];
  return [...own, ...below, ...items, ...additional];
}
