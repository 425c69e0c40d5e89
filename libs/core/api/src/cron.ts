import { lookUp } from '@dovetail/core-invariant';

/**
 * One field of a schedule: its values, and whether it is `*`, which decides how the two day fields
 * combine.
 */
type Field = { readonly values: ReadonlySet<number>; readonly star: boolean };

/** A parsed schedule of five fields, in UTC. */
export type CronSchedule = {
  readonly minute: Field;
  readonly hour: Field;
  readonly dayOfMonth: Field;
  readonly month: Field;
  readonly dayOfWeek: Field;
};
/** A schedule that was read, or the field at fault and a remedy. */
export type ParsedCron =
  | { readonly ok: true; readonly value: CronSchedule }
  | { readonly ok: false; readonly field: string; readonly remedy: string };

type Bounds = {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  readonly words?: readonly string[];
};
const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const weekdays = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const bounds = {
  minute: { name: 'minute', min: 0, max: 59 },
  hour: { name: 'hour', min: 0, max: 23 },
  dayOfMonth: { name: 'day of month', min: 1, max: 31 },
  month: { name: 'month', min: 1, max: 12, words: months },
  dayOfWeek: { name: 'day of week', min: 0, max: 6, words: weekdays },
} as const satisfies Record<string, Bounds>;

const descriptors: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};

function numberOf(text: string, { min, max, words }: Bounds): number | undefined {
  const word = words?.indexOf(text.toLowerCase()) ?? -1;
  const value = word >= 0 ? word + min : /^[0-9]{1,2}$/.test(text) ? Number(text) : Number.NaN;
  return value >= min && value <= max ? value : undefined;
}

/**
 * Reads one item of a list: `*`, `5` or `1-5`, each with an optional `/step`. `5/15` means from 5
 * to the end.
 */
function itemOf(text: string, limits: Bounds): Field | undefined {
  const [range = '', stepText, ...rest] = text.split('/');
  if (rest.length > 0) return undefined;
  const step = stepText === undefined ? 1 : /^[0-9]{1,3}$/.test(stepText) ? Number(stepText) : 0;
  if (step < 1) return undefined;
  const star = range === '*' || range === '?';
  const [lowText = '', highText, ...more] = range.split('-');
  const low = star ? limits.min : numberOf(lowText, limits);
  const single = stepText === undefined ? low : limits.max;
  const high = star ? limits.max : highText === undefined ? single : numberOf(highText, limits);
  if (more.length > 0 || low === undefined || high === undefined || low > high) return undefined;
  const values = new Set<number>();
  for (let value = low; value <= high; value += step) values.add(value);
  return { values, star: star && step === 1 };
}

function fieldOf(text: string, limits: Bounds): Field | undefined {
  const items = text.split(',').map((item) => itemOf(item, limits));
  const known = items.filter((item) => item !== undefined);
  if (known.length < items.length) return undefined;
  return {
    values: new Set(known.flatMap((item) => [...item.values])),
    star: known.some((item) => item.star),
  };
}

/**
 * Reads a schedule of Karpenter's budgets (the syntax of robfig/cron's ParseStandard). Its fields
 * are minute, hour, day of month, month and day of week. It may also be one of `@yearly`,
 * `@annually`, `@monthly`, `@weekly`, `@daily`, `@midnight`, `@hourly`. The reader understands
 * lists, ranges, steps and English names; Sunday is 0. A time zone (`CRON_TZ=`) is refused: budgets
 * are in UTC, and Karpenter, too, allows no disruption by a schedule that names one.
 */
export function parseCron(text: string): ParsedCron {
  const trimmed = text.trim();
  if (/^(CRON_)?TZ=/.test(trimmed))
    return {
      ok: false,
      field: 'schedule',
      remedy: 'budgets are in UTC: write the hours of UTC, and remove the time zone',
    };
  const parts = (lookUp(descriptors, trimmed) ?? trimmed).split(/\s+/);
  if (parts.length !== 5)
    return {
      ok: false,
      field: 'schedule',
      remedy: `write five fields such as "0 9 * * mon-fri", or @daily; ${JSON.stringify(text)} has ${String(parts.length)}`,
    };
  const names = ['minute', 'hour', 'dayOfMonth', 'month', 'dayOfWeek'] as const;
  const read: Partial<Record<(typeof names)[number], Field>> = {};
  for (const [index, key] of names.entries()) {
    const part = parts[index] ?? '';
    const field = fieldOf(part, bounds[key]);
    const { name, min, max } = bounds[key];
    if (field === undefined)
      return {
        ok: false,
        field: name,
        remedy: `${JSON.stringify(part)} is no ${name}: write values from ${String(min)} to ${String(max)}, ranges, lists or steps`,
      };
    read[key] = field;
  }
  return { ok: true, value: read as CronSchedule };
}

/**
 * Both day fields must match, unless both are restricted. Then one suffices, as in cron since Unix
 * V7.
 */
function dayMatches(schedule: CronSchedule, at: Date): boolean {
  if (!schedule.month.values.has(at.getUTCMonth() + 1)) return false;
  const byMonth = schedule.dayOfMonth.values.has(at.getUTCDate());
  const byWeek = schedule.dayOfWeek.values.has(at.getUTCDay());
  return schedule.dayOfMonth.star || schedule.dayOfWeek.star
    ? byMonth && byWeek
    : byMonth || byWeek;
}

const minuteMs = 60_000;
const hourMs = 3_600_000;
const dayMs = 86_400_000;
/** The days to search: 29 February comes again after eight years at most. */
const searchedDaysMax = 8 * 366 + 1;

/**
 * The latest hit of the schedule at or before `nowMs`. Undefined when it never hits, as on 31
 * February.
 */
export function lastHitMs(schedule: CronSchedule, nowMs: number): number | undefined {
  for (
    let day = 0, startMs = Math.floor(nowMs / dayMs) * dayMs;
    day < searchedDaysMax;
    day += 1, startMs -= dayMs
  ) {
    if (!dayMatches(schedule, new Date(startMs))) continue;
    for (let hour = 23; hour >= 0; hour -= 1) {
      if (!schedule.hour.values.has(hour)) continue;
      for (let minute = 59; minute >= 0; minute -= 1) {
        const atMs = startMs + hour * hourMs + minute * minuteMs;
        if (atMs <= nowMs && schedule.minute.values.has(minute)) return atMs;
      }
    }
  }
  return undefined;
}

/** Whether a window is open now. Each hit opens one for `durationMs`, and its end is outside. */
export function isWindowOpen(
  schedule: CronSchedule,
  window: { readonly durationMs: number; readonly nowMs: number },
): boolean {
  const hitMs = lastHitMs(schedule, window.nowMs);
  return hitMs !== undefined && window.nowMs - hitMs < window.durationMs;
}
