/** Plain data as the text of a record. */
type Plain = Readonly<Record<string, unknown>>;

/** A key that begins so marks a value that JSON has no form for. */
const mark = '$';

const isMarked = (value: Plain): boolean => {
  const keys = Object.keys(value);
  return keys.length === 1 && keys[0]?.startsWith(mark) === true;
};

function forJson(_key: string, value: unknown): unknown {
  if (typeof value === 'number' && (!Number.isFinite(value) || Object.is(value, -0)))
    return { $number: Object.is(value, -0) ? '-0' : String(value) };
  if (value instanceof Set) return { $set: [...value] };
  if (value instanceof Map) return { $map: [...value] };
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject && isMarked(value as Plain) ? { $object: Object.entries(value) } : value;
}

function fromJson(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  if (!isMarked(value as Plain)) return value;
  const { $number, $set, $map, $object } = value as Plain;
  if ($number !== undefined) return Number($number);
  if ($set !== undefined) return new Set($set as readonly unknown[]);
  if ($map !== undefined) return new Map($map as readonly (readonly [unknown, unknown])[]);
  return Object.fromEntries($object as readonly (readonly [string, unknown])[]);
}

/**
 * Plain data as JSON, with its sets, its maps and the numbers that JSON lacks. Keys keep their
 * order, because planning may read it. Absent and undefined fields are the same.
 */
export const written = (value: unknown): string => JSON.stringify(value, forJson);

/** The value that `written` has written. Throws SyntaxError for other text. */
export const readWritten = (text: string): unknown => JSON.parse(text, fromJson);
