/** A policy of `behavior`: how many pods may come or go in a period. */
type ScalingPolicy = {
  readonly type: string;
  readonly value: number;
  readonly periodSeconds: number;
};

/** The rules of one direction, with their defaults filled in. */
type ScalingRules = {
  readonly stabilizationWindowSeconds?: number;
  readonly selectPolicy?: string;
  readonly policies?: readonly ScalingPolicy[];
};

/** The rules of both directions. */
export type Behavior = { readonly scaleUp: ScalingRules; readonly scaleDown: ScalingRules };

type Dated = { readonly atMs: number; readonly count: number };

/** An autoscaler's memory: recommendations, and pods added and taken away. */
export type ScaleHistory = {
  recommendations: readonly Dated[];
  added: readonly Dated[];
  removed: readonly Dated[];
};

/** A number of replicas, and why it is not another one. */
export type Limited = {
  readonly replicas: number;
  readonly reason: string;
  readonly message: string;
};

/** The numbers that limits are computed from. */
export type ScaleAim = {
  readonly nowMs: number;
  readonly current: number;
  readonly desired: number;
  readonly min: number;
  readonly max: number;
};

// The rules of pkg/controller/podautoscaler/horizontal.go of Kubernetes.
const downWindowMs = 300_000;
const upFactor = 2;
const upMinimum = 4;
/** The longest window or period that a HorizontalPodAutoscaler can ask for. */
const keptMs = 3_600_000;

/** A memory with nothing in it but the number of replicas that there were at first. */
export const newHistory = (replicas: number, nowMs: number): ScaleHistory => ({
  recommendations: [{ atMs: nowMs, count: replicas }],
  added: [],
  removed: [],
});

const recent = (list: readonly Dated[], nowMs: number, windowMs: number): readonly Dated[] =>
  list.filter(({ atMs }) => atMs >= nowMs - windowMs);

/** Remembers what the metrics asked for, before any limit. */
export function remember(history: ScaleHistory, { desired, nowMs }: ScaleAim): void {
  const kept = recent(history.recommendations, nowMs, keptMs);
  history.recommendations = [...kept, { atMs: nowMs, count: desired }];
}

/** Remembers pods that were added or taken away. */
export function rememberScale(
  history: ScaleHistory,
  {
    before,
    after,
    nowMs,
  }: { readonly before: number; readonly after: number; readonly nowMs: number },
): void {
  const change = { atMs: nowMs, count: Math.abs(after - before) };
  if (after > before) history.added = [...recent(history.added, nowMs, keptMs), change];
  else history.removed = [...recent(history.removed, nowMs, keptMs), change];
}

/** The recommendation that the windows of stabilization let through. */
export function stabilized(
  history: ScaleHistory,
  aim: ScaleAim,
  behavior: Behavior | undefined,
): Limited {
  const { nowMs, current, desired } = aim;
  const counts = (windowMs: number): readonly number[] => [
    desired,
    ...recent(history.recommendations, nowMs, windowMs)
      .filter(({ atMs }) => windowMs > 0 || atMs > nowMs)
      .map(({ count }) => count),
  ];
  const upMs = (behavior?.scaleUp.stabilizationWindowSeconds ?? 0) * 1000;
  const downSeconds = behavior?.scaleDown.stabilizationWindowSeconds;
  const downMs = downSeconds === undefined ? downWindowMs : downSeconds * 1000;
  const up = Math.min(...counts(upMs));
  const down = Math.max(...counts(downMs));
  const replicas = behavior === undefined ? down : Math.min(Math.max(current, up), down);
  if (replicas === desired)
    return {
      replicas,
      reason: 'ReadyForNewScale',
      message: 'recommended size matches current size',
    };
  return behavior !== undefined && desired >= current
    ? {
        replicas,
        reason: 'ScaleUpStabilized',
        message:
          'recent recommendations were lower than current one, applying the lowest recent recommendation',
      }
    : {
        replicas,
        reason: 'ScaleDownStabilized',
        message:
          'recent recommendations were higher than current one, applying the highest recent recommendation',
      };
}

const tooFast = (way: string): string =>
  `the desired replica count is ${way} faster than the maximum scale rate`;
const beyond = (way: string, bound: string): string =>
  `the desired replica count is ${way} than the ${bound} replica count`;
const within = (replicas: number): Limited => ({
  replicas,
  reason: 'DesiredWithinRange',
  message: 'the desired count is within the acceptable range',
});

/** The replicas within the bounds, and within a doubling at once. */
function plainLimit({ current, desired, min, max }: ScaleAim): Limited {
  const atOnce = Math.max(upFactor * current, upMinimum);
  if (desired < min)
    return { replicas: min, reason: 'TooFewReplicas', message: beyond('less', 'minimum') };
  if (desired <= Math.min(max, atOnce)) return within(desired);
  return max > atOnce
    ? { replicas: atOnce, reason: 'ScaleUpLimit', message: tooFast('increasing') }
    : { replicas: max, reason: 'TooManyReplicas', message: beyond('more', 'maximum') };
}

/** The furthest that the policies of one direction let the replicas go. */
function policyLimit(
  history: ScaleHistory,
  { current, nowMs }: ScaleAim,
  way: { readonly rules: ScalingRules; readonly sign: 1 | -1 },
): number {
  const { rules, sign } = way;
  if (rules.selectPolicy === 'Disabled') return current;
  const sum = (list: readonly Dated[], ms: number): number =>
    list.reduce((total, { atMs, count }) => total + (atMs > nowMs - ms ? count : 0), 0);
  const limits = (rules.policies ?? []).map(({ type, value, periodSeconds }) => {
    const ms = periodSeconds * 1000;
    const start = current - sum(history.added, ms) + sum(history.removed, ms);
    if (type === 'Pods') return start + sign * value;
    const scaled = (start * (100 + sign * value)) / 100;
    return sign > 0 ? Math.ceil(scaled) : Math.trunc(scaled);
  });
  const least = rules.selectPolicy === 'Min';
  const limit = least === sign > 0 ? Math.min(...limits) : Math.max(...limits);
  return sign > 0 ? Math.max(limit, current) : Math.min(limit, current);
}

function behaviorLimit(history: ScaleHistory, aim: ScaleAim, behavior: Behavior): Limited {
  const { current, desired, min, max } = aim;
  if (desired > current) {
    const limit = policyLimit(history, aim, { rules: behavior.scaleUp, sign: 1 });
    if (desired <= Math.min(max, limit)) return within(desired);
    return max > limit
      ? { replicas: limit, reason: 'ScaleUpLimit', message: tooFast('increasing') }
      : { replicas: max, reason: 'TooManyReplicas', message: beyond('more', 'maximum') };
  }
  if (desired === current) return within(desired);
  const limit = policyLimit(history, aim, { rules: behavior.scaleDown, sign: -1 });
  if (desired >= Math.max(min, limit)) return within(desired);
  return min < limit
    ? { replicas: limit, reason: 'ScaleDownLimit', message: tooFast('decreasing') }
    : { replicas: min, reason: 'TooFewReplicas', message: beyond('less', 'minimum') };
}

/** The replicas within the bounds and the rates. `desired` is stabilized already. */
export const limited = (
  history: ScaleHistory,
  aim: ScaleAim,
  behavior: Behavior | undefined,
): Limited => (behavior === undefined ? plainLimit(aim) : behaviorLimit(history, aim, behavior));
