import { parseArgs } from 'node:util';

import { lookUp, put } from '@dovetail/core-invariant';
import { messageOf } from '@dovetail/core-ports';

import { version } from './version.js';

/**
 * One setting of a service. Its value comes from the flag, else the environment variable, else the
 * default.
 */
export type Setting<T> = {
  readonly env: string;
  readonly flag: string;
  /** Its meaning, its unit and the effect of leaving it out. `--help` prints this text. */
  readonly help: string;
  /** If absent, the setting must be given. */
  readonly fallback?: T;
  /** Throws an Error that names the accepted values. */
  readonly parse: (text: string) => T;
};

/** The values of these settings, by name. */
export type SettingsOf<S extends Record<string, Setting<unknown>>> = {
  readonly [K in keyof S]: S[K] extends Setting<infer T> ? T : never;
};

/**
 * A setting is missing or wrong. The message names the flag, the variable, the value and the
 * remedy.
 */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
}

/** The result of reading the command line: the settings, or the help or version to print. */
export type Invocation<T> =
  { readonly kind: 'run'; readonly settings: T } | { readonly kind: 'help'; readonly text: string };

/** Reads every setting of the table. Throws SettingsError with all faults, not only the first. */
export function readSettings<S extends Record<string, Setting<unknown>>>(
  program: { readonly name: string; readonly purpose: string },
  table: S,
  from: {
    readonly env: Readonly<Record<string, string | undefined>>;
    readonly args: readonly string[];
  },
): Invocation<SettingsOf<S>> {
  const flags = flagsOf(table, from.args);
  if (flags['help'] === true) return { kind: 'help', text: helpText(program, table) };
  if (flags['version'] === true) return { kind: 'help', text: `${program.name} ${version}\n` };
  const problems: string[] = [];
  const settings: Record<string, unknown> = {};
  for (const [name, setting] of Object.entries(table)) {
    const given = lookUp(flags, setting.flag) ?? lookUp(from.env, setting.env);
    const result = readOne(setting, typeof given === 'string' && given !== '' ? given : undefined);
    if ('problem' in result) problems.push(result.problem);
    else put(settings, name, result.value);
  }
  if (problems.length > 0)
    throw new SettingsError(
      `${program.name} cannot start:\n${problems.map((problem) => `  - ${problem}`).join('\n')}\nSee ${program.name} --help.`,
    );
  return { kind: 'run', settings: settings as SettingsOf<S> };
}

function flagsOf(
  table: Record<string, Setting<unknown>>,
  args: readonly string[],
): Record<string, string | boolean | undefined> {
  const options: Record<string, { type: 'string' | 'boolean' }> = {
    help: { type: 'boolean' },
    version: { type: 'boolean' },
  };
  for (const setting of Object.values(table)) put(options, setting.flag, { type: 'string' });
  try {
    return parseArgs({ args: [...args], options, strict: true, allowPositionals: false }).values;
  } catch (cause) {
    throw new SettingsError(`${messageOf(cause)}. See --help for the flags that exist.`, { cause });
  }
}

function readOne(
  setting: Setting<unknown>,
  given: string | undefined,
): { value: unknown } | { problem: string } {
  if (given === undefined) {
    if ('fallback' in setting) return { value: setting.fallback };
    return { problem: `--${setting.flag} (or ${setting.env}) is missing: ${setting.help}` };
  }
  try {
    return { value: setting.parse(given) };
  } catch (error) {
    return {
      problem: `--${setting.flag} (or ${setting.env}) is ${JSON.stringify(given)}: ${messageOf(error)}`,
    };
  }
}

function helpText(
  program: { name: string; purpose: string },
  table: Record<string, Setting<unknown>>,
): string {
  const lines = Object.entries(table).map(([name, setting]) => {
    const fallback =
      'fallback' in setting
        ? `default ${setting.fallback === undefined || setting.fallback === '' ? 'none' : shown(name, setting.fallback)}`
        : 'required';
    return `  --${setting.flag}, ${setting.env} (${fallback})\n      ${setting.help}`;
  });
  return `${program.name}: ${program.purpose}\n\nSettings, as flags or environment variables:\n${lines.join('\n')}\n`;
}

/** A default as a user would write it: durations with their unit, text in quotes. */
function shown(name: string, value: unknown): string {
  if (!name.endsWith('Ms') || typeof value !== 'number') return JSON.stringify(value);
  return value % 1_000 === 0 ? `${value / 1_000}s` : `${value}ms`;
}

/**
 * Reads a text, such as a path. A space at its end or a line break is a slip of the one who wrote
 * it, and would fail much later. The reader throws Error with the remedy.
 */
export function text(given: string): string {
  if (given === given.trim() && !/\p{Cc}/u.test(given)) return given;
  throw new Error('give it without spaces around it and without line breaks');
}

/**
 * Reads a whole number of the range, both ends included. The reader throws Error with the remedy.
 */
export function wholeNumber(range: {
  readonly least: number;
  readonly most: number;
}): (given: string) => number {
  return (given) => {
    const value = /^[0-9]{1,15}$/.test(given) ? Number(given) : Number.NaN;
    if (value >= range.least && value <= range.most) return value;
    throw new Error(`give a whole number from ${range.least} to ${range.most}`);
  };
}

/** Reads US dollars, such as 0.02, with at most six decimals. It throws Error with the remedy. */
export function dollars(given: string): number {
  if (!/^[0-9]{1,9}(\.[0-9]{1,6})?$/.test(given))
    throw new Error('give US dollars with at most six decimals, such as 0.02');
  return Number(given);
}

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** A timer of Node.js ends at once beyond 24 days. No service has a use for more than one. */
const durationMsMax = 24 * 3_600_000;

/**
 * Turns `250ms`, `10s`, `1h30m` or `0` into milliseconds, up to a day. It throws Error with the
 * remedy.
 */
export function durationMs(given: string): number {
  if (given === '0') return 0;
  const parts = [...given.matchAll(/(\d+)(ms|s|m|h)/g)];
  if (parts.length === 0 || parts.map(([whole]) => whole).join('') !== given)
    throw new Error('give a duration such as 250ms, 10s or 1h30m');
  const ms = parts.reduce(
    (sum, [, amount, unit]) => sum + Number(amount) * (lookUp(unitMs, unit ?? '') ?? 0),
    0,
  );
  if (ms > durationMsMax) throw new Error('give a duration of at most 24h');
  return ms;
}

/** Reads one of the choices, written exactly so. The reader throws Error with the remedy. */
export function oneOf<const T extends string>(...choices: readonly T[]): (given: string) => T {
  return (given) => {
    const choice = choices.find((candidate) => candidate === given);
    if (choice === undefined) throw new Error(`give one of ${choices.join(', ')}`);
    return choice;
  };
}

/** Only `true` and `false` are accepted, as Karpenter's flags do. */
export const yesOrNo = (given: string): boolean => oneOf('true', 'false')(given) === 'true';
