import { lookUp } from '@dovetail/core-invariant';
import type { Raw, RequirementSpec, Resources, Taint } from '@dovetail/core-kube-model';
import {
  canonicalKey,
  Malformed,
  parseDurationMs,
  readEach,
  readRecord,
  readRequirementSpecs,
  readResources,
  readTaints,
  readText,
  readTextMap,
  withoutNulls,
} from '@dovetail/core-kube-model';

import type { Condition, ConditionStatus } from '../claim.js';
import { capacityTypes, isLabelValue, isQualifiedName, restrictedLabel } from '../label-rules.js';
import { labels } from '../names.js';

const plainDuration = /^([0-9]+(s|m|h))+$/;

/**
 * Reads a duration of hours, minutes and seconds. Undefined when it is absent, or `Never` where
 * that is allowed.
 */
export function readDurationMs(
  raw: unknown,
  field: string,
  { allowNever }: { readonly allowNever: boolean },
): number | undefined {
  const text = readText(raw, field);
  if (text === undefined || (text === 'Never' && allowNever)) return undefined;
  const ms = plainDuration.test(text) ? parseDurationMs(text) : undefined;
  if (ms === undefined)
    throw new Malformed(
      field,
      raw,
      `write a duration such as 30s, 10m or 336h${allowNever ? ', or Never' : ''}`,
    );
  return ms;
}

/** Reads `status.conditions`. A transition without a time counts as the oldest. */
export function readConditions(status: Raw): readonly Condition[] {
  return readEach(status['conditions'], 'status.conditions', (item, path): Condition => {
    const word = readText(item['status'], `${path}.status`);
    const known: ConditionStatus = word === 'True' || word === 'False' ? word : 'Unknown';
    const ms = Date.parse(readText(item['lastTransitionTime'], `${path}.lastTransitionTime`) ?? '');
    return {
      type: readText(item['type'], `${path}.type`) ?? '',
      status: known,
      reason: readText(item['reason'], `${path}.reason`) ?? '',
      message: readText(item['message'], `${path}.message`) ?? '',
      lastTransitionMs: Number.isNaN(ms) ? 0 : ms,
    };
  });
}

/** Whether the condition exists and is True. */
export const conditionIsTrue = (conditions: readonly Condition[], type: string): boolean =>
  conditions.some((condition) => condition.type === type && condition.status === 'True');

/** Reads the labels of new nodes: qualified names with label values, none of them restricted. */
export function readNodeLabels(raw: unknown, field: string): Readonly<Record<string, string>> {
  const map = readTextMap(withoutNulls(raw), field);
  for (const key of Object.keys(map).sort()) {
    const value = lookUp(map, key) ?? '';
    if (!isQualifiedName(key))
      throw new Malformed(`${field}.${key}`, key, 'write the label as name or domain/name');
    if (!isLabelValue(value))
      throw new Malformed(
        `${field}.${key}`,
        value,
        'write a label value: at most 63 letters, digits, -, _ or .',
      );
    const restricted = restrictedLabel(key);
    if (restricted !== undefined) throw new Malformed(`${field}.${key}`, value, restricted);
  }
  return map;
}

/** Taints with qualified keys and label values. */
function readCheckedTaints(raw: unknown, field: string): readonly Taint[] {
  const taints = readTaints(raw, field);
  taints.forEach((taint, index) => {
    if (!isQualifiedName(taint.key))
      throw new Malformed(
        `${field}[${index}].key`,
        taint.key,
        'write the key as name or domain/name',
      );
    if (!isLabelValue(taint.value ?? ''))
      throw new Malformed(
        `${field}[${index}].value`,
        taint.value,
        'write a label value: at most 63 letters, digits, -, _ or .',
      );
  });
  return taints;
}

/** The taints of a pool's nodes. Startup taints are there only until the node is initialised. */
export type PoolTaints = {
  readonly taints: readonly Taint[];
  readonly startupTaints: readonly Taint[];
};

/** Reads taints and startup taints of a pool. A key and effect may occur once over both. */
export function readPoolTaints(spec: Raw, field: string): PoolTaints {
  const taints = readCheckedTaints(spec['taints'], `${field}.taints`);
  const startupTaints = readCheckedTaints(spec['startupTaints'], `${field}.startupTaints`);
  const seen = new Set<string>();
  const check = (list: readonly Taint[], path: string): void =>
    list.forEach((taint, index) => {
      const identity = `${taint.key}:${taint.effect}`;
      if (seen.has(identity))
        throw new Malformed(
          `${path}[${index}]`,
          identity,
          'this key and effect stands twice: remove one of them',
        );
      seen.add(identity);
    });
  check(taints, `${field}.taints`);
  check(startupTaints, `${field}.startupTaints`);
  return { taints, startupTaints };
}

const notNegative = /^\+?[0-9]+$/;

function checkValues(spec: RequirementSpec, path: string): void {
  const bad = spec.values.find((value) => !isLabelValue(value));
  if (bad !== undefined)
    throw new Malformed(
      `${path}.values`,
      bad,
      'write label values: at most 63 letters, digits, -, _ or .',
    );
  switch (spec.operator) {
    case 'In':
      if (spec.values.length === 0)
        throw new Malformed(`${path}.values`, spec.values, 'In needs at least one value');
      if (spec.values.length < (spec.minValues ?? 0))
        throw new Malformed(
          `${path}.minValues`,
          spec.minValues,
          `In has only ${spec.values.length} values: list more, or lower minValues`,
        );
      return;
    case 'Gt':
    case 'Lt':
    case 'Gte':
    case 'Lte':
      if (spec.values.length !== 1 || !notNegative.test(spec.values[0] ?? ''))
        throw new Malformed(
          `${path}.values`,
          spec.values,
          `${spec.operator} needs exactly one value, an integer of 0 or more in quotes`,
        );
      return;
    case 'NotIn':
    case 'Exists':
    case 'DoesNotExist':
  }
}

/** Unknown capacity types are ignored. It is an error if none is known, or fewer than minValues. */
function checkKnownValues(spec: RequirementSpec, path: string): void {
  if (canonicalKey(spec.key) !== labels.capacityType || spec.operator !== 'In') return;
  const known = spec.values.filter((value) => capacityTypes.includes(value));
  if (known.length < Math.max(1, spec.minValues ?? 1))
    throw new Malformed(`${path}.values`, spec.values, `use ${capacityTypes.join(', ')}`);
}

/**
 * Reads the requirements of a pool: unrestricted keys, and operators with the values that they
 * need.
 */
export function readPoolRequirements(raw: unknown, field: string): readonly RequirementSpec[] {
  const specs = readRequirementSpecs(raw, field);
  if (specs.length > 100)
    throw new Malformed(field, `${specs.length} entries`, 'write at most 100 requirements');
  specs.forEach((spec, index) => {
    const path = `${field}[${index}]`;
    if (!isQualifiedName(spec.key))
      throw new Malformed(`${path}.key`, spec.key, 'write the label as name or domain/name');
    const restricted = restrictedLabel(spec.key);
    if (restricted !== undefined) throw new Malformed(`${path}.key`, spec.key, restricted);
    if ((spec.minValues ?? 1) > 50)
      throw new Malformed(`${path}.minValues`, spec.minValues, 'write 1 to 50');
    checkValues(spec, path);
    checkKnownValues(spec, path);
  });
  return specs;
}

/** Reads limits by resource name. The name `nodes` counts nodes. */
export function readLimits(raw: unknown, field: string): Resources {
  const limits = readResources(raw, field);
  const negative = Object.keys(limits)
    .sort()
    .find((name) => (lookUp(limits, name) ?? 0) < 0);
  if (negative !== undefined)
    throw new Malformed(
      `${field}.${negative}`,
      lookUp(readRecord(raw, field), negative),
      'write a quantity of 0 or more',
    );
  return limits;
}
