import { lookUp } from '@dovetail/core-invariant';
import { isRecord } from '@dovetail/core-kube-model';
import { messageOf } from '@dovetail/core-ports';

/** How a value of a field is read. It throws Error with the remedy. */
export type Parse<T> = (value: unknown) => T;

/**
 * The fields of one object of the file. Each fault is kept with the field's path, its value and the
 * remedy, so that one start tells all of them.
 */
export class Fields {
  readonly path: string;
  readonly #values: Readonly<Record<string, unknown>>;
  readonly #faults: string[];
  readonly #asked = new Set<string>();

  constructor(path: string, value: unknown, faults: string[]) {
    this.path = path;
    this.#faults = faults;
    this.#values = isRecord(value) ? value : {};
    if (!isRecord(value)) this.#fault(path, value, 'give an object with fields');
  }

  has(name: string): boolean {
    this.#asked.add(name);
    return lookUp(this.#values, name) !== undefined && lookUp(this.#values, name) !== null;
  }

  /** The fields of the object in a field. */
  inner(name: string): Fields {
    this.#asked.add(name);
    return new Fields(`${this.path}.${name}`, lookUp(this.#values, name), this.#faults);
  }

  /** The elements of a list, each with the fields of its object. */
  list(name: string): readonly Fields[] {
    this.#asked.add(name);
    const value = lookUp(this.#values, name);
    const path = this.path === '' ? name : `${this.path}.${name}`;
    if (Array.isArray(value) && value.length > 0)
      return value.map((each, at) => new Fields(`${path}[${String(at)}]`, each, this.#faults));
    this.#fault(path, value, 'give a list with at least one sink');
    return [];
  }

  /** A field that must be there. Undefined: it has a fault. */
  required<T>(name: string, parse: Parse<T>): T | undefined {
    if (this.has(name)) return this.optional(name, parse);
    this.#faults.push(`${this.path}.${name} is missing: ${remedyOf(parse)}`);
    return undefined;
  }

  /** Undefined: it is absent, or has a fault. */
  optional<T>(name: string, parse: Parse<T>): T | undefined {
    if (!this.has(name)) return undefined;
    const value = lookUp(this.#values, name);
    try {
      return parse(value);
    } catch (error) {
      this.#fault(`${this.path}.${name}`, value, messageOf(error));
      return undefined;
    }
  }

  /** A fault of the object as a whole. */
  refuse(remedy: string): void {
    this.#faults.push(`${this.path}: ${remedy}`);
  }

  /** Refuses each field that was not asked for: a misspelt one would be without effect. */
  end(): void {
    const known = [...this.#asked].toSorted().join(', ');
    for (const name of Object.keys(this.#values).filter((each) => !this.#asked.has(each)))
      this.#faults.push(
        `${this.path === '' ? '' : `${this.path}.`}${name} is no field here: give one of ${known}`,
      );
  }

  #fault(path: string, value: unknown, remedy: string): void {
    this.#faults.push(`${path} is ${JSON.stringify(value) ?? 'missing'}: ${remedy}`);
  }
}

/** The remedy of a field that is absent, as the reader tells it of a value that is none. */
function remedyOf(parse: Parse<unknown>): string {
  try {
    parse(undefined);
    return 'give it';
  } catch (error) {
    return messageOf(error);
  }
}
