type Plain = Readonly<Record<string, unknown>>;
type Pairs = readonly (readonly [string, unknown])[];

/** An object of one key that begins so stands for a value that JSON has no form for. */
const mark = '$';

const isMark = (value: object): boolean => {
  const keys = Object.keys(value);
  return keys.length === 1 && keys[0]?.startsWith(mark) === true;
};

const isContainer = (value: unknown): value is object =>
  typeof value === 'object' && value !== null;

const numberText = (value: number): string => (Object.is(value, -0) ? '-0' : String(value));

/**
 * Turns values into what JSON has a form for. An object that comes again is written as the number
 * of its first coming: pods of one workload share most of what they are made of.
 */
class Writer {
  readonly #numbers = new Map<object, number>();

  write(value: unknown): unknown {
    if (typeof value === 'number')
      return numberText(value) === JSON.stringify(value) ? value : { $number: numberText(value) };
    if (!isContainer(value)) return value;
    const number = this.#numbers.get(value);
    if (number !== undefined) return { $ref: number };
    this.#numbers.set(value, this.#numbers.size);
    return this.#first(value);
  }

  #first(value: object): unknown {
    if (Array.isArray(value)) return value.map((item) => this.write(item));
    if (value instanceof Set) return { $set: [...value].map((item) => this.write(item)) };
    if (value instanceof Map)
      return { $map: [...value].map(([key, item]) => [this.write(key), this.write(item)]) };
    const pairs = this.#pairs(Object.entries(value));
    return isMark(value) ? { $object: pairs } : Object.fromEntries(pairs);
  }

  #pairs(entries: Pairs): Pairs {
    return entries.map(([key, item]) => [key, this.write(item)] as const);
  }
}

/** Turns them back. */
class Reader {
  readonly #numbered: unknown[] = [];

  read(value: unknown): unknown {
    if (!isContainer(value)) return value;
    const { $number, $ref } = isMark(value) ? (value as Plain) : {};
    if ($number !== undefined) return Number($number);
    if ($ref !== undefined) return this.#numbered[Number($ref)];
    // No object is within itself, so its number is not asked for before it is whole.
    const at = this.#numbered.push(undefined) - 1;
    return (this.#numbered[at] = this.#first(value));
  }

  #first(value: object): unknown {
    if (Array.isArray(value)) return value.map((item) => this.read(item));
    const { $set, $map, $object = Object.entries(value) } = isMark(value) ? (value as Plain) : {};
    if ($set !== undefined)
      return new Set(($set as readonly unknown[]).map((one) => this.read(one)));
    const pairs = ($map ?? $object) as readonly (readonly [unknown, unknown])[];
    const read = pairs.map(([key, item]) => [this.read(key), this.read(item)] as const);
    return $map === undefined ? Object.fromEntries(read as Pairs) : new Map(read);
  }
}

/**
 * Plain data as JSON, with its sets, its maps and the numbers that JSON lacks. Keys keep their
 * order, because planning may read it. Absent and undefined fields are the same.
 */
export const written = (value: unknown): string => JSON.stringify(new Writer().write(value));

/** The value that `written` has written. Throws SyntaxError for other text. */
export const readWritten = (text: string): unknown => new Reader().read(JSON.parse(text));
