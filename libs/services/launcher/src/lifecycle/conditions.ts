import type { Condition, ConditionStatus } from '@dovetail/core-api';

export type NewCondition = { readonly type: string; readonly status: ConditionStatus; readonly reason: string; readonly message?: string };

/** The conditions that a claim's Ready is made of. */
export const claimSteps = ['Launched', 'Registered', 'Initialized'] as const;

export const conditionOf = (conditions: readonly Condition[], type: string): Condition | undefined => conditions.find((condition) => condition.type === type);
export const isTrue = (conditions: readonly Condition[], type: string): boolean => conditionOf(conditions, type)?.status === 'True';

/** Sets one condition; its transition time moves only when its status does. The same conditions come back when nothing changes. */
export function withCondition(conditions: readonly Condition[], next: NewCondition, nowMs: number): readonly Condition[] {
  const held = conditionOf(conditions, next.type);
  // Karpenter cuts what EC2 says at 300 characters.
  const message = (next.message ?? '').slice(0, 300);
  if (held !== undefined && held.status === next.status && held.reason === next.reason && held.message === message) return conditions;
  const lastTransitionMs = held !== undefined && held.status === next.status ? held.lastTransitionMs : nowMs;
  const set = { type: next.type, status: next.status, reason: next.reason, message, lastTransitionMs };
  return held === undefined ? [...conditions, set] : conditions.map((condition) => (condition === held ? set : condition));
}

/** Ready is the conjunction of steps: False or Unknown as the first step that is not True, with its reason (as Karpenter's root condition). */
export function withRoot(conditions: readonly Condition[], steps: readonly string[], nowMs: number): readonly Condition[] {
  const waiting = steps.filter((step) => !isTrue(conditions, step));
  const failed = waiting.map((step) => conditionOf(conditions, step)).find((condition) => condition?.status === 'False');
  if (waiting.length === 0) return withCondition(conditions, { type: 'Ready', status: 'True', reason: 'Ready' }, nowMs);
  const message = waiting.map((step) => `${step}=${conditionOf(conditions, step)?.status ?? 'Unknown'}`).join(', ');
  return withCondition(conditions, { type: 'Ready', status: failed === undefined ? 'Unknown' : 'False', reason: failed === undefined ? 'ReconcilingDependents' : 'UnhealthyDependents', message }, nowMs);
}

/** Conditions as the API takes them. A True condition's reason is its type, as Karpenter's are. */
export const conditionObjects = (conditions: readonly Condition[]): readonly Readonly<Record<string, string>>[] =>
  conditions.map((condition) => ({
    type: condition.type, status: condition.status, reason: condition.reason === '' ? condition.type : condition.reason,
    message: condition.message, lastTransitionTime: isoSeconds(condition.lastTransitionMs),
  }));

/** RFC 3339 in whole seconds, as Kubernetes writes times. */
export const isoSeconds = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`;

/** The conditions that an object's status says, those that cannot be read left out. */
export function conditionsIn(object: { readonly [field: string]: unknown }): readonly Condition[] {
  const list = (object['status'] as { readonly conditions?: unknown } | undefined)?.conditions;
  if (!Array.isArray(list)) return [];
  return list.flatMap((each: unknown): readonly Condition[] => {
    const { type, status, reason, message, lastTransitionTime } = each as Readonly<Record<string, unknown>>;
    if (typeof type !== 'string' || (status !== 'True' && status !== 'False' && status !== 'Unknown')) return [];
    const lastTransitionMs = typeof lastTransitionTime === 'string' ? Date.parse(lastTransitionTime) : 0;
    return [{ type, status, reason: typeof reason === 'string' ? reason : '', message: typeof message === 'string' ? message : '', lastTransitionMs: Number.isNaN(lastTransitionMs) ? 0 : lastTransitionMs }];
  });
}
