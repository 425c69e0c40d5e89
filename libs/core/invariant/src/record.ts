// Labels, annotations, tags and names are written by others, and `constructor`, `toString` and
// `__proto__` are legal among them. A plain object answers to these names without holding them. The
// linter therefore refuses `record[key]` for a key that is not spelled out in the code.

/**
 * The value that the record itself holds for this key, or undefined. An absent record holds none.
 * This is how labels, annotations, resources, tags and tables are read by a key that others wrote.
 */
export const lookUp = <T>(
  record: Readonly<Record<string, T>> | undefined,
  key: string,
): T | undefined => (record !== undefined && Object.hasOwn(record, key) ? record[key] : undefined);

/** Sets a value of the record, also under the key `__proto__`, which an assignment would lose. */
export function put<T>(record: Record<string, T>, key: string, value: NoInfer<T>): void {
  if (key !== '__proto__') record[key] = value;
  else
    Object.defineProperty(record, key, {
      value,
      writable: true,
      enumerable: true,
      configurable: true,
    });
}
