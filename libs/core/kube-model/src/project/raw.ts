import { put } from '@dovetail/core-invariant';

/** A JSON object whose fields have not been checked yet. */
export type Raw = Readonly<Record<string, unknown>>;

/** Whether the value is a JSON object: not null, not a list. */
export const isRecord = (value: unknown): value is Raw =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The value as a JSON object, or an empty one when it is something else. */
export const recordOf = (value: unknown): Raw => (isRecord(value) ? value : {});

/**
 * Why an object was refused: the field's path, its value as JSON text, and the text to write
 * instead.
 */
export type ParseFailure = {
  readonly ok: false;
  readonly field: string;
  readonly value: string;
  readonly remedy: string;
};
/** The outcome of reading an object. */
export type Parsed<T> = { readonly ok: true; readonly value: T } | ParseFailure;

/** Thrown by the readers below. `parsed` turns it into a value, so it never leaves a parser. */
export class Malformed extends Error {
  override readonly name = 'Malformed';
  readonly failure: ParseFailure;
  constructor(field: string, value: unknown, remedy: string, valueText = textOfValue(value)) {
    super(`${field}: ${remedy}`);
    this.failure = { ok: false, field, value: valueText, remedy };
  }
}

function jsonText(value: unknown): string {
  // JSON writes null for the numbers that YAML calls .nan and .inf.
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value);
  return value === undefined ? '(absent)' : (JSON.stringify(value) ?? typeof value);
}

function textOfValue(value: unknown): string {
  const text = jsonText(value);
  return text.length <= 120 ? text : `${text.slice(0, 119)}…`;
}

/** Runs a reader and turns Malformed into a failure. Any other error is a bug and passes. */
export function parsed<T>(read: () => T): Parsed<T> {
  try {
    return { ok: true, value: read() };
  } catch (error) {
    if (error instanceof Malformed) return error.failure;
    throw error;
  }
}

const isAbsent = (raw: unknown): raw is undefined | null => raw === undefined || raw === null;

/** Reads an object. An absent one is empty. */
export function readRecord(raw: unknown, field: string): Raw {
  if (isAbsent(raw)) return {};
  if (!isRecord(raw)) throw new Malformed(field, raw, 'write an object here');
  return raw;
}

/** Reads a list. An absent one is empty. */
export function readList(raw: unknown, field: string): readonly unknown[] {
  if (isAbsent(raw)) return [];
  if (!Array.isArray(raw)) throw new Malformed(field, raw, 'write a list here');
  return raw;
}

/** Reads a list of objects, each with its own path. */
export function readEach<T>(
  raw: unknown,
  field: string,
  read: (item: Raw, path: string) => T,
): readonly T[] {
  return readList(raw, field).map((item, index) => {
    const path = `${field}[${index}]`;
    return read(readRecord(item, path), path);
  });
}

/** A text, or undefined when it is absent. */
export function readText(raw: unknown, field: string): string | undefined {
  if (isAbsent(raw)) return undefined;
  if (typeof raw !== 'string')
    throw new Malformed(
      field,
      raw,
      'write a text here (quote it if it looks like a number or a boolean)',
    );
  return raw;
}

/** Reads a text that must be there and not be empty. */
export function readRequiredText(raw: unknown, field: string): string {
  const text = readText(raw, field);
  if (text === undefined || text === '')
    throw new Malformed(field, raw, 'this field is required: write a text that is not empty');
  return text;
}

/** Reads a list of texts. */
export function readTexts(raw: unknown, field: string): readonly string[] {
  return readList(raw, field).map((item, index) => readText(item, `${field}[${index}]`) ?? '');
}

/** The ends of a range, both included. */
export type IntegerRange = { readonly min?: number; readonly max?: number };

/**
 * Reads an integer within its range, and never one beyond 2^53: it would be another than the one
 * that was written. Undefined when it is absent.
 */
export function readInteger(
  raw: unknown,
  field: string,
  range: IntegerRange = {},
): number | undefined {
  if (isAbsent(raw)) return undefined;
  const { min = -Infinity, max = Infinity } = range;
  if (typeof raw !== 'number' || !Number.isSafeInteger(raw) || raw < min || raw > max) {
    const limits = [
      ...(range.min === undefined ? [] : [`at least ${min}`]),
      ...(range.max === undefined ? [] : [`at most ${max}`]),
    ];
    throw new Malformed(field, raw, ['write an integer', ...limits].join(', '));
  }
  return raw;
}

/** Reads a boolean. Undefined when it is absent. */
export function readFlag(raw: unknown, field: string): boolean | undefined {
  if (isAbsent(raw)) return undefined;
  if (typeof raw !== 'boolean')
    throw new Malformed(field, raw, 'write true or false, without quotes');
  return raw;
}

/**
 * The object without its nulls, as the API server stores a custom resource: it drops a null where
 * the schema does not allow one. In its own kinds and in metadata it keeps the key with the zero
 * value.
 */
export const withoutNulls = (raw: unknown): unknown =>
  isRecord(raw)
    ? Object.fromEntries(Object.entries(raw).filter(([, value]) => value !== null))
    : raw;

/** Reads a map of texts. An absent one is empty, and a null is an empty text as for the server. */
export function readTextMap(raw: unknown, field: string): Readonly<Record<string, string>> {
  const map: Record<string, string> = {};
  for (const [key, value] of Object.entries(readRecord(raw, field)))
    put(map, key, readText(value, `${field}.${key}`) ?? '');
  return map;
}

/**
 * Reads one of a closed set of words. An absent or empty text is the fallback, where there is one.
 */
export function readOneOf<T extends string>(
  raw: unknown,
  field: string,
  allowed: readonly T[],
  fallback?: T,
): T {
  if ((isAbsent(raw) || raw === '') && fallback !== undefined) return fallback;
  const word = allowed.find((one) => one === raw);
  if (word === undefined) throw new Malformed(field, raw, `write one of ${allowed.join(', ')}`);
  return word;
}

/** Reads an RFC 3339 time as milliseconds since 1970. Undefined when it is absent. */
export function readTimeMs(raw: unknown, field: string): number | undefined {
  if (isAbsent(raw)) return undefined;
  const ms = typeof raw === 'string' ? Date.parse(raw) : Number.NaN;
  if (Number.isNaN(ms)) throw new Malformed(field, raw, 'write a time like 2026-01-31T12:00:00Z');
  return ms;
}

/**
 * A property to spread into an object: left out when there is no value, as
 * exactOptionalPropertyTypes demands.
 */
export function optional<K extends string, V>(
  key: K,
  value: V | undefined,
): { readonly [P in K]?: V } {
  return (value === undefined ? {} : { [key]: value }) as { readonly [P in K]?: V };
}
