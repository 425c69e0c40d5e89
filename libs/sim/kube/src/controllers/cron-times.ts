import type { CronSchedule } from '../model/cron-schedule.js';

/** The moments that a CronJob's next start depends on, in milliseconds since the epoch. */
export type CronMoments = {
  /** When it last started a Job, or was created. */
  readonly sinceMs: number;
  readonly nowMs: number;
  /** Starts missed for longer are given up. */
  readonly deadlineMs?: number | undefined;
};

/** The start that is due, and whether more than a hundred were missed. */
export type DueStart = { readonly dueMs: number | undefined; readonly many: boolean };

/** A schedule without times to start at, such as a 31st of February. */
export class NoStartsError extends Error {
  override readonly name = 'NoStartsError';
  constructor() {
    super('time difference between two schedules is less than 1 second');
  }
}

const missedMax = 100;
/** Kubernetes' padding against clocks that run apart. */
const paddingMs = 100;

/**
 * The latest start that is due and was not made, by mostRecentScheduleTime of Kubernetes' CronJob
 * controller: of many missed starts only the latest is made up for. Throws NoStartsError.
 */
export function dueStart(schedule: CronSchedule, moments: CronMoments): DueStart {
  const { nowMs, deadlineMs } = moments;
  const sinceMs =
    deadlineMs === undefined ? moments.sinceMs : Math.max(moments.sinceMs, nowMs - deadlineMs);
  const first = schedule.nextAfter(sinceMs);
  const second = first === undefined ? undefined : schedule.nextAfter(first);
  if (first === undefined || second === undefined) throw new NoStartsError();
  if (nowMs < first) return { dueMs: undefined, many: false };
  if (nowMs < second) return { dueMs: first, many: false };
  const intervalMs = second - first;
  const missed = Math.floor((nowMs - first) / intervalMs) + 1;
  let dueMs: number | undefined;
  for (
    let next = schedule.nextAfter(first + (missed - 2) * intervalMs);
    next !== undefined && next <= nowMs;
    next = schedule.nextAfter(next)
  )
    dueMs = next;
  return { dueMs, many: missed > missedMax };
}

/** Milliseconds until the controller looks again; undefined when there are no more starts. */
export function untilNextMs(schedule: CronSchedule, moments: CronMoments): number | undefined {
  const { nowMs, sinceMs } = moments;
  const due = dueStart(schedule, { nowMs, sinceMs });
  const from = due.dueMs ?? (due.many ? nowMs : sinceMs);
  const next = schedule.nextAfter(from);
  return next === undefined ? undefined : Math.max(0, next + paddingMs - nowMs);
}
