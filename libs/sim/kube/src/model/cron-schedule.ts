import { lookUp } from '@dovetail/core-invariant';
import { Cron } from 'croner';

/** The times at which a CronJob is to start a Job. */
export type CronSchedule = {
  /**
   * The first time after `ms` (milliseconds since the epoch); undefined when there is none, as on a
   * 31st of February.
   */
  readonly nextAfter: (ms: number) => number | undefined;
};

/** A schedule that cannot be read. The message is that of Kubernetes' parser. */
export class CronSyntaxError extends Error {
  override readonly name = 'CronSyntaxError';
}

type Bounds = {
  readonly min: number;
  readonly max: number;
  readonly names?: Readonly<Record<string, number>>;
};

const numbered = (words: string, first: number): Readonly<Record<string, number>> =>
  Object.fromEntries(words.split(' ').map((word, index) => [word, first + index]));

// The rules of github.com/robfig/cron v3, ParseStandard, which kube-apiserver and the CronJob
// controller call. croner reads some texts otherwise, so it is given each field written out.
const fieldBounds: readonly Bounds[] = [
  { min: 0, max: 59 },
  { min: 0, max: 23 },
  { min: 1, max: 31 },
  { min: 1, max: 12, names: numbered('jan feb mar apr may jun jul aug sep oct nov dec', 1) },
  { min: 0, max: 6, names: numbered('sun mon tue wed thu fri sat', 0) },
];

const descriptors: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};

function numberOf(text: string, names: Bounds['names']): number {
  const named = lookUp(names, text.toLowerCase());
  if (named !== undefined) return named;
  if (!/^[+-]?\d+$/.test(text))
    throw new CronSyntaxError(
      `failed to parse int from ${text}: strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`,
    );
  const value = Number(text);
  if (value < 0) throw new CronSyntaxError(`negative number (${value}) not allowed: ${text}`);
  return value;
}

/** Numbers of a field; `every` marks a field that does not restrict the day. */
type Chosen = { readonly numbers: readonly number[]; readonly every: boolean };

function checkRange(
  text: string,
  range: { readonly start: number; readonly end: number; readonly step: number },
  { min, max }: Bounds,
): void {
  const { start, end, step } = range;
  if (start < min)
    throw new CronSyntaxError(`beginning of range (${start}) below minimum (${min}): ${text}`);
  if (end > max) throw new CronSyntaxError(`end of range (${end}) above maximum (${max}): ${text}`);
  if (start > end)
    throw new CronSyntaxError(
      `beginning of range (${start}) beyond end of range (${end}): ${text}`,
    );
  if (step === 0) throw new CronSyntaxError(`step of range should be a positive number: ${text}`);
}

/** One part of a field: `*`, `5`, `1-5`, each perhaps with a step. `5/15` means `5-max/15`. */
function rangeOf(text: string, bounds: Bounds): Chosen {
  const [span = '', stepText, ...moreSteps] = text.split('/');
  const [low = '', high, ...moreHyphens] = span.split('-');
  const isStar = low === '*' || low === '?';
  const start = isStar ? bounds.min : numberOf(low, bounds.names);
  if (!isStar && moreHyphens.length > 0) throw new CronSyntaxError(`too many hyphens: ${text}`);
  const last = high === undefined ? start : isStar ? bounds.max : numberOf(high, bounds.names);
  if (moreSteps.length > 0) throw new CronSyntaxError(`too many slashes: ${text}`);
  const step = stepText === undefined ? 1 : numberOf(stepText, undefined);
  const isOpen = isStar || (stepText !== undefined && high === undefined);
  const end = isOpen ? bounds.max : last;
  checkRange(text, { start, end, step }, bounds);
  const count = Math.floor((end - start) / step) + 1;
  return {
    numbers: Array.from({ length: count }, (_, index) => start + index * step),
    every: isStar && step === 1,
  };
}

function fieldOf(text: string, bounds: Bounds): string {
  const parts = text.split(',').flatMap((part) => (part === '' ? [] : rangeOf(part, bounds)));
  if (parts.some(({ every }) => every)) return '*';
  return [...new Set(parts.flatMap(({ numbers }) => numbers))].join(',');
}

const unitMs: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 };

function everyMs(schedule: string): number {
  const text = schedule.slice('@every '.length);
  if (!/^(\d+(\.\d+)?(h|ms|m|s))+$/.test(text))
    throw new CronSyntaxError(
      `failed to parse duration ${schedule}: time: invalid duration ${JSON.stringify(text)}`,
    );
  const parts = [...text.matchAll(/([\d.]+)(h|ms|m|s)/g)];
  const ms = parts.reduce(
    (sum, [, count, unit = '']) => sum + Number(count) * (lookUp(unitMs, unit) ?? 0),
    0,
  );
  return Math.max(1000, Math.floor(ms / 1000) * 1000);
}

/** The five fields as numbers, so that every parser reads them alike. */
function fieldsOf(schedule: string): string {
  if (schedule.startsWith('@')) {
    const fields = lookUp(descriptors, schedule);
    if (fields === undefined) throw new CronSyntaxError(`unrecognized descriptor: ${schedule}`);
    return fields;
  }
  const fields = schedule.split(/\s+/).filter((field) => field !== '');
  if (fields.length !== fieldBounds.length)
    throw new CronSyntaxError(
      `expected exactly 5 fields, found ${fields.length}: [${fields.join(' ')}]`,
    );
  return fieldBounds.map((bounds, at) => fieldOf(fields[at] ?? '', bounds)).join(' ');
}

/**
 * Reads a schedule as Kubernetes does: five fields, `@daily` and its like, or `@every 90m`. Times
 * are those of the zone, UTC by default. Throws CronSyntaxError.
 */
export function cronSchedule(schedule: string, timeZone = 'UTC'): CronSchedule {
  if (schedule.startsWith('@every ')) {
    const intervalMs = everyMs(schedule);
    return { nextAfter: (ms) => Math.floor(ms / 1000) * 1000 + intervalMs };
  }
  const fields = fieldsOf(schedule);
  // A field of commas alone chooses nothing.
  if (/(^| )( |$)/.test(fields)) return { nextAfter: () => undefined };
  const cron = new Cron(fields, { timezone: timeZone, mode: '5-part', paused: true });
  return { nextAfter: (ms) => cron.nextRun(new Date(ms))?.getTime() };
}

/** True for a zone of the IANA database, in its own spelling. */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z][A-Za-z0-9._+-]*(\/[A-Za-z0-9._+][A-Za-z0-9._+-]*)*$/.test(name)) return false;
  try {
    const found = new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone;
    // Intl takes any case, Go's database only one. A link has another name than its zone.
    return found === name || found.toLowerCase() !== name.toLowerCase();
  } catch {
    return false;
  }
}
