import type { Condition, ConditionStatus } from '@dovetail/core-api';
import { isoSeconds, plainText } from '@dovetail/core-kube-model';
import type { KubeObject } from '@dovetail/core-ports';

import { type ChangedObject, changeLive, type KubeChanges } from './change-guarded.js';

/** A condition to set. The time of its transition follows from the held one. */
export type NewCondition = {
  readonly type: string;
  readonly status: ConditionStatus;
  readonly reason: string;
  readonly message?: string;
};

/** Karpenter 1.15 cuts the message of Launched at 1,024 characters. */
const messageMax = 1_024;

/** The condition of this type, if it is held. */
export const conditionOf = (
  conditions: readonly Condition[],
  type: string,
): Condition | undefined => conditions.find((condition) => condition.type === type);

/** Whether the condition of that type is there and has status True. */
export const isTrue = (conditions: readonly Condition[], type: string): boolean =>
  conditionOf(conditions, type)?.status === 'True';

/** The message as conditions carry it. */
const shortened = ({ message = '' }: NewCondition): string =>
  plainText(message).slice(0, messageMax);

/** Whether a condition stands as wanted, so that setting it would change nothing. */
export function holdsCondition(conditions: readonly Condition[], wanted: NewCondition): boolean {
  const held = conditionOf(conditions, wanted.type);
  return (
    held?.status === wanted.status &&
    held.reason === wanted.reason &&
    held.message === shortened(wanted)
  );
}

/**
 * Sets one condition. Its transition time moves only when its status does (Kubernetes' rule for
 * lastTransitionTime). Returns the same list if nothing changes.
 */
export function withCondition(
  conditions: readonly Condition[],
  next: NewCondition,
  nowMs: number,
): readonly Condition[] {
  const { type, status, reason } = next;
  const message = shortened(next);
  const held = conditionOf(conditions, type);
  if (held === undefined)
    return [...conditions, { type, status, reason, message, lastTransitionMs: nowMs }];
  if (holdsCondition(conditions, next)) return conditions;
  const lastTransitionMs = held.status === status ? held.lastTransitionMs : nowMs;
  const set = { type, status, reason, message, lastTransitionMs };
  return conditions.map((condition) => (condition === held ? set : condition));
}

/** Removes a condition. Returns the same list if it is not held. */
export const withoutCondition = (
  conditions: readonly Condition[],
  type: string,
): readonly Condition[] =>
  conditionOf(conditions, type) === undefined
    ? conditions
    : conditions.filter((condition) => condition.type !== type);

/**
 * Sets Ready to the conjunction of these steps, with Karpenter's reasons for its root condition. It
 * is False when a step is False, and Unknown when one is neither.
 */
export function withRoot(
  conditions: readonly Condition[],
  steps: readonly string[],
  nowMs: number,
): readonly Condition[] {
  const waiting = steps.filter((step) => !isTrue(conditions, step));
  if (waiting.length === 0)
    return withCondition(conditions, { type: 'Ready', status: 'True', reason: 'Ready' }, nowMs);
  const statusOf = (step: string): ConditionStatus =>
    conditionOf(conditions, step)?.status ?? 'Unknown';
  const message = waiting.map((step) => `${step}=${statusOf(step)}`).join(', ');
  const root: NewCondition = waiting.some((step) => statusOf(step) === 'False')
    ? { type: 'Ready', status: 'False', reason: 'UnhealthyDependents', message }
    : { type: 'Ready', status: 'Unknown', reason: 'ReconcilingDependents', message };
  return withCondition(conditions, root, nowMs);
}

/** Conditions as the API takes them. A condition without a reason gets its type, as Karpenter's. */
export const conditionObjects = (
  conditions: readonly Condition[],
): readonly Readonly<Record<string, string>>[] =>
  conditions.map(({ type, status, reason, message, lastTransitionMs }) => ({
    type,
    status,
    reason: reason === '' ? type : reason,
    message,
    lastTransitionTime: isoSeconds(lastTransitionMs),
  }));

/** The conditions in an object's status. Unreadable ones are left out. */
export function conditionsIn(object: { readonly [field: string]: unknown }): readonly Condition[] {
  const list = (object['status'] as { readonly conditions?: unknown } | undefined)?.conditions;
  return Array.isArray(list) ? list.flatMap((raw: unknown) => conditionFrom(raw) ?? []) : [];
}

function conditionFrom(raw: unknown): Condition | undefined {
  const fields = (raw ?? {}) as Readonly<Record<string, unknown>>;
  const { type, status, lastTransitionTime } = fields;
  if (typeof type !== 'string') return undefined;
  if (status !== 'True' && status !== 'False' && status !== 'Unknown') return undefined;
  const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
  const lastTransitionMs = Date.parse(textOf(lastTransitionTime));
  return {
    type,
    status,
    reason: textOf(fields['reason']),
    message: textOf(fields['message']),
    lastTransitionMs: Number.isNaN(lastTransitionMs) ? 0 : lastTransitionMs,
  };
}

/**
 * Changes the conditions of an object, starting from those it has now. Writes nothing if `change`
 * returns the same list. Returns and rejects as `changeGuarded`.
 */
export const changeConditions = (
  kube: KubeChanges,
  ref: ChangedObject,
  change: (held: readonly Condition[]) => readonly Condition[],
): Promise<KubeObject | undefined> =>
  changeLive(
    kube,
    ref,
    (object) => {
      const held = conditionsIn(object);
      const wanted = change(held);
      return wanted === held ? undefined : { status: { conditions: conditionObjects(wanted) } };
    },
    { subresource: 'status' },
  );
