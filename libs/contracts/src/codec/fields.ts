import { lookUp, put } from '@dovetail/core-invariant';

/**
 * A small algebra that turns domain values into wire objects and back. One description serves both
 * directions, so they cannot drift apart. Reading names the wrong field and its value. Writing
 * refuses values that the wire would silently change. Law: read(write(value)) equals value, for
 * every value that write accepts.
 */

/**
 * Thrown inside the codecs with the path of the wrong field. On reading it never leaves `codec/`.
 */
export class Malformed extends Error {
  override readonly name = 'Malformed';
  readonly path: string[] = [];
  readonly reason: string;
  constructor(reason: string) {
    super(reason);
    this.reason = reason;
  }
  /** `plan.newNodes[3].pool.kind`: the field, from the message's root. */
  get field(): string {
    return this.path.reduce(
      (text, step) =>
        step.startsWith('[') ? `${text}${step}` : text === '' ? step : `${text}.${step}`,
      '',
    );
  }
}

/** A generated message as plain fields. Their types are not known yet. */
export type Wire = Readonly<Record<string, unknown>>;

/** Converts one kind of value. `write` and `read` throw Malformed for a value that does not fit. */
export interface Codec<T> {
  write(this: void, value: T): unknown;
  read(this: void, wire: unknown): T;
}
/** A field that may be absent. `wireName` is protobuf's name where it differs from the domain's. */
type OptionalField<T> = {
  readonly codec: Codec<T>;
  readonly optional: true;
  readonly wireName?: string;
};
type FieldOf<T, K extends keyof T> =
  object extends Pick<T, K> ? OptionalField<Exclude<T[K], undefined>> : Codec<T[K]>;
type Fields<T> = { readonly [K in keyof T]-?: FieldOf<T, K> };

const shown = (value: unknown): string => {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
};

/** Adds the field's name to a failure that passes by. */
function passingBy(error: unknown, step: string): unknown {
  if (error instanceof Malformed) error.path.unshift(step);
  return error;
}

/** Runs one step. A failure gets the step's name in front of its path. */
export function at<R>(step: string, run: () => R): R {
  try {
    return run();
  } catch (error) {
    throw passingBy(error, step);
  }
}

const wireText = (value: unknown): string => {
  if (typeof value !== 'string') throw new Malformed(`${shown(value)} is not a string`);
  return value;
};
const nonEmpty = (value: unknown): string => {
  const read = wireText(value);
  if (read === '') throw new Malformed('"" is empty or missing; it is required');
  return read;
};
const safeInteger = (value: unknown): number => {
  if (typeof value !== 'number' || !Number.isSafeInteger(value))
    throw new Malformed(`${shown(value)} is not an integer below 2^53`);
  return value;
};
const countable = (value: unknown): number => {
  const read = safeInteger(value);
  if (read < 0 || read > 0xffff_ffff)
    throw new Malformed(`${shown(value)} is not within 0 and 4294967295`);
  return read;
};
const truth = (value: unknown): boolean => {
  if (typeof value !== 'boolean') throw new Malformed(`${shown(value)} is not a boolean`);
  return value;
};

/** Any string. */
export const text: Codec<string> = { write: wireText, read: wireText };
/** A string that identifies something: never empty. */
export const name: Codec<string> = { write: nonEmpty, read: nonEmpty };
/** An integer that a double holds exactly. */
export const int: Codec<number> = { write: safeInteger, read: safeInteger };
/** An unsigned 32-bit integer. */
export const uint: Codec<number> = { write: countable, read: countable };
/** A boolean. */
export const flag: Codec<boolean> = { write: truth, read: truth };

const mapOf = <T>(check: (value: unknown) => T): Codec<Readonly<Record<string, T>>> => ({
  write: (value) => {
    const written: Record<string, T> = {};
    // Protobuf maps have no order of their own: ascending keys make equal values equal bytes.
    for (const key of Object.keys(value).sort())
      put(written, key, checked(lookUp(value, key), key, check));
    return written;
  },
  read: (wire) => {
    const entries = (wire ?? {}) as Record<string, unknown>;
    for (const key of Object.keys(entries)) checked(lookUp(entries, key), key, check);
    return entries as Record<string, T>;
  },
});
function checked<T>(value: unknown, key: string, check: (value: unknown) => T): T {
  try {
    return check(value);
  } catch (error) {
    throw passingBy(error, `[${key}]`);
  }
}
/** Strings by name. */
export const textMap = mapOf(wireText);
/** Safe integers by name. */
export const intMap = mapOf(safeInteger);

/** A list. An absent list reads as empty, as proto3 has it. */
export const list = <T>(item: Codec<T>): Codec<readonly T[]> => ({
  write: (value) => eachOf(value, item.write),
  read: (wire) => eachOf((wire ?? []) as readonly unknown[], item.read),
});
function eachOf<A, B>(from: readonly A[], convert: (entry: A) => B): B[] {
  const made: B[] = [];
  try {
    for (const entry of from) made.push(convert(entry));
  } catch (error) {
    throw passingBy(error, `[${String(made.length)}]`);
  }
  return made;
}

/**
 * A closed set of values. An unset value, and one that only a newer peer knows, is refused and
 * never cast.
 */
export const oneOf = <T extends string>(numbers: Readonly<Record<T, number>>): Codec<T> => {
  const byNumber = new Map<unknown, T>(
    (Object.keys(numbers) as T[]).map((key) => [numbers[key], key]),
  );
  return {
    write: (value) => {
      const number = numbers[value] as number | undefined;
      if (number === undefined)
        throw new Malformed(`${shown(value)} is not one of ${Object.keys(numbers).join(', ')}`);
      return number;
    },
    read: (wire) => {
      const value = byNumber.get(wire);
      if (value === undefined)
        throw new Malformed(
          `${shown(wire)} is unset, or newer than this build (known: ${Object.keys(numbers).join(', ')})`,
        );
      return value;
    },
  };
};

/** A field that may be absent. */
export const optional = <T>(codec: Codec<T>, wireName?: string): OptionalField<T> => ({
  codec,
  optional: true,
  ...(wireName === undefined ? {} : { wireName }),
});
// The generated messages keep the zero values of their fields on their prototypes. The names of
// fields are our own.
const fieldOf = (wire: unknown, field: string): unknown => Reflect.get(wire as object, field);

/** A value in a message of its own with one field, so that the whole value can be absent. */
export const within = <T>(field: string, codec: Codec<T>): Codec<T> => ({
  write: (value) => ({ [field]: at(field, () => codec.write(value)) }),
  read: (wire) => {
    if (wire === null || wire === undefined) throw new Malformed('is missing; it is required');
    return at(field, () => codec.read(fieldOf(wire, field)));
  },
});

type Plain = {
  readonly key: string;
  readonly wireName: string;
  readonly codec: Codec<unknown>;
  readonly optional: boolean;
  readonly zeroIsAbsent: boolean;
};

function plainFields(fields: object): readonly Plain[] {
  return Object.entries(fields as Record<string, Codec<unknown> | OptionalField<unknown>>).map(
    ([key, field]) => {
      if (!('codec' in field))
        return { key, wireName: key, codec: field, optional: false, zeroIsAbsent: false };
      return {
        key,
        wireName: field.wireName ?? key,
        codec: field.codec,
        optional: field.optional,
        zeroIsAbsent: false,
      };
    },
  );
}

/** A message with these fields, each under the same name on both sides unless it says otherwise. */
export function message<T extends object>(
  fields: Fields<T>,
  zeroIsAbsent: readonly (keyof T & string)[] = [],
): Codec<T> {
  const plain = plainFields(fields).map((field) => ({
    ...field,
    zeroIsAbsent: (zeroIsAbsent as readonly string[]).includes(field.key),
  }));
  return {
    write: (value) => writeFields(plain, value as Wire),
    read: (wire) => readFields(plain, wire) as T,
  };
}

function writeFields(fields: readonly Plain[], value: Wire): Wire {
  const written: Record<string, unknown> = {};
  let current = '';
  try {
    for (const field of fields) {
      const part = lookUp(value, field.key);
      if (field.optional && part === undefined) continue;
      current = field.key;
      put(written, field.wireName, field.codec.write(part));
    }
  } catch (error) {
    throw passingBy(error, current);
  }
  return written;
}

/** A field that was not written reads as 0, or as a list without entries. */
const isZero = (part: unknown): boolean => part === 0 || (Array.isArray(part) && part.length === 0);

function readFields(fields: readonly Plain[], from: unknown): Wire {
  if (from === null || from === undefined) throw new Malformed('is missing; it is required');
  const read: Record<string, unknown> = {};
  let current = '';
  try {
    for (const field of fields) {
      current = field.key;
      const part = fieldOf(from, field.wireName);
      if (
        field.optional &&
        (part === null || part === undefined || (field.zeroIsAbsent && isZero(part)))
      )
        continue;
      put(read, field.key, field.codec.read(part));
    }
  } catch (error) {
    throw passingBy(error, current);
  }
  return read;
}
