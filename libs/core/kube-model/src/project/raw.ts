/** Parsed JSON that nobody has looked at yet. */
export type Raw = Readonly<Record<string, unknown>>;

/** What is wrong with an object: the field's path, its value as JSON text, and what to write instead. */
export type ParseFailure = { readonly ok: false; readonly field: string; readonly value: string; readonly remedy: string };
export type Parsed<T> = { readonly ok: true; readonly value: T } | ParseFailure;

/** Thrown by the readers below and turned into a value by `parsed`; it never leaves a parser. */
export class Malformed extends Error {
  override readonly name = 'Malformed';
  readonly failure: ParseFailure;
  constructor(field: string, value: unknown, remedy: string, valueText = shown(value)) {
    super(`${field}: ${remedy}`);
    this.failure = { ok: false, field, value: valueText, remedy };
  }
}

function shown(value: unknown): string {
  const text = value === undefined ? '(absent)' : JSON.stringify(value) ?? typeof value;
  return text.length <= 120 ? text : `${text.slice(0, 119)}…`;
}

/** Runs one reader; a malformed field becomes a failure, everything else passes. */
export function parsed<T>(read: () => T): Parsed<T> {
  try {
    return { ok: true, value: read() };
  } catch (error) {
    if (error instanceof Malformed) return error.failure;
    throw error;
  }
}

const isAbsent = (raw: unknown): raw is undefined | null => raw === undefined || raw === null;

/** An object; absent reads as an empty one. */
export function readRecord(raw: unknown, field: string): Raw {
  if (isAbsent(raw)) return {};
  if (typeof raw !== 'object' || Array.isArray(raw)) throw new Malformed(field, raw, 'write an object here');
  return raw as Raw;
}

/** A list; absent reads as an empty one. */
export function readList(raw: unknown, field: string): readonly unknown[] {
  if (isAbsent(raw)) return [];
  if (!Array.isArray(raw)) throw new Malformed(field, raw, 'write a list here');
  return raw;
}

/** A list of objects, each read with its own path. */
export function readEach<T>(raw: unknown, field: string, read: (item: Raw, path: string) => T): readonly T[] {
  return readList(raw, field).map((item, index) => {
    const path = `${field}[${index}]`;
    return read(readRecord(item, path), path);
  });
}

/** A text, or undefined when it is absent. */
export function readText(raw: unknown, field: string): string | undefined {
  if (isAbsent(raw)) return undefined;
  if (typeof raw !== 'string') throw new Malformed(field, raw, 'write a text here (quote it if it looks like a number or a boolean)');
  return raw;
}

/** A text that has to be there and must not be empty. */
export function readRequiredText(raw: unknown, field: string): string {
  const text = readText(raw, field);
  if (text === undefined || text === '') throw new Malformed(field, raw, 'this field is required: write a text that is not empty');
  return text;
}

/** A list of texts. */
export function readTexts(raw: unknown, field: string): readonly string[] {
  return readList(raw, field).map((item, index) => readText(item, `${field}[${index}]`) ?? '');
}

export type IntegerRange = { readonly min?: number; readonly max?: number };

/** An integer within its range, or undefined when it is absent. */
export function readInteger(raw: unknown, field: string, range: IntegerRange = {}): number | undefined {
  if (isAbsent(raw)) return undefined;
  const { min = -Infinity, max = Infinity } = range;
  if (typeof raw !== 'number' || !Number.isInteger(raw) || raw < min || raw > max) {
    const limits = [...(range.min === undefined ? [] : [`at least ${min}`]), ...(range.max === undefined ? [] : [`at most ${max}`])];
    throw new Malformed(field, raw, ['write an integer', ...limits].join(', '));
  }
  return raw;
}

/** A boolean, or undefined when it is absent. */
export function readFlag(raw: unknown, field: string): boolean | undefined {
  if (isAbsent(raw)) return undefined;
  if (typeof raw !== 'boolean') throw new Malformed(field, raw, 'write true or false, without quotes');
  return raw;
}

/** A map of texts; absent reads as an empty one. */
export function readTextMap(raw: unknown, field: string): Readonly<Record<string, string>> {
  const map: Record<string, string> = {};
  for (const [key, value] of Object.entries(readRecord(raw, field))) map[key] = readText(value, `${field}.${key}`) ?? '';
  return map;
}

/** One of a closed set of words; absent (or empty, where the API writes that for absent) reads as the fallback. */
export function readOneOf<T extends string>(raw: unknown, field: string, allowed: readonly T[], fallback?: T): T {
  if ((isAbsent(raw) || raw === '') && fallback !== undefined) return fallback;
  const word = allowed.find((one) => one === raw);
  if (word === undefined) throw new Malformed(field, raw, `write one of ${allowed.join(', ')}`);
  return word;
}

/** An RFC 3339 time in milliseconds since 1970, or undefined when it is absent. */
export function readTimeMs(raw: unknown, field: string): number | undefined {
  if (isAbsent(raw)) return undefined;
  const ms = typeof raw === 'string' ? Date.parse(raw) : Number.NaN;
  if (Number.isNaN(ms)) throw new Malformed(field, raw, 'write a time like 2026-01-31T12:00:00Z');
  return ms;
}

/** A property that is left out when there is no value, as exact optional types want it. */
export function optional<K extends string, V>(key: K, value: V | undefined): { readonly [P in K]?: V } {
  return (value === undefined ? {} : { [key]: value }) as { readonly [P in K]?: V };
}
