import type { Ec2Filter } from '@dovetail/core-ports';

import { invalidValue, missingParameter, NotServedFault } from '../foundation/aws-fault.js';

/**
 * The parameters of a query request (`Filter.1.Name=…`), read by name. Parameters that no operation
 * reads are refused: AWS would act on them and the twin does not.
 */
export type Params = {
  text(name: string): string | undefined;
  required(name: string): string;
  integer(name: string): number | undefined;
  decimal(name: string): number | undefined;
  flag(name: string): boolean | undefined;
  /** An ISO 8601 time, as milliseconds. */
  timeMs(name: string): number | undefined;
  /** The members of a structure. */
  at(name: string): Params;
  /** The items of a list, in order; structures. */
  list(name: string): readonly Params[];
  texts(name: string): readonly string[];
  /** Every scalar below, by its name; for structures that are kept as they are. */
  scalars(): Readonly<Record<string, string>>;
  isEmpty(): boolean;
  /**
   * Refuses parameters that were not read by now (UnknownParameter). Operations with an effect call
   * it first.
   */
  done(): void;
};

type Source = { readonly values: ReadonlyMap<string, string>; readonly read: Set<string> };

function numberOf(name: string, text: string | undefined, whole: boolean): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value) || (whole && !Number.isInteger(value)))
    throw invalidValue(name, text, whole ? 'It must be an integer.' : 'It must be a number.');
  return value;
}

function flagOf(name: string, text: string | undefined): boolean | undefined {
  if (text === undefined) return undefined;
  if (text === 'true' || text === 'false') return text === 'true';
  throw invalidValue(name, text, 'It must be true or false.');
}

function timeOf(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) throw invalidValue(name, text, 'It must be a time in ISO 8601 form.');
  return ms;
}

function indexesOf(values: ReadonlyMap<string, string>, prefix: string): readonly number[] {
  const found = new Set<number>();
  for (const key of values.keys()) {
    const match = key.startsWith(prefix) ? /^(\d+)(\.|$)/.exec(key.slice(prefix.length)) : null;
    if (match !== null) found.add(Number(match[1]));
  }
  return [...found].sort((left, right) => left - right);
}

function scalarsBelow({ values, read }: Source, prefix: string): Record<string, string> {
  const entries = [...values].filter(([key]) => key.startsWith(prefix));
  for (const [key] of entries) read.add(key);
  return Object.fromEntries(entries.map(([key, value]) => [key.slice(prefix.length), value]));
}

function paramsAt(source: Source, prefix: string): Params {
  const text = (name: string): string | undefined => {
    source.read.add(prefix + name);
    return source.values.get(prefix + name);
  };
  return {
    text,
    required(name) {
      const value = text(name);
      if (value === undefined || value === '') throw missingParameter(prefix + name);
      return value;
    },
    integer: (name) => numberOf(prefix + name, text(name), true),
    decimal: (name) => numberOf(prefix + name, text(name), false),
    flag: (name) => flagOf(prefix + name, text(name)),
    timeMs: (name) => timeOf(prefix + name, text(name)),
    at: (name) => paramsAt(source, `${prefix}${name}.`),
    list: (name) =>
      indexesOf(source.values, `${prefix}${name}.`).map((index) =>
        paramsAt(source, `${prefix}${name}.${index}.`),
      ),
    texts: (name) =>
      indexesOf(source.values, `${prefix}${name}.`).flatMap(
        (index) => text(`${name}.${index}`) ?? [],
      ),
    scalars: () => scalarsBelow(source, prefix),
    done() {
      const unread = [...source.values.keys()].find((key) => !source.read.has(key));
      if (unread !== undefined)
        throw new NotServedFault('UnknownParameter', `The parameter ${unread} is not recognized`);
    },
    isEmpty: () => ![...source.values.keys()].some((key) => key.startsWith(prefix)),
  };
}

/** The parameters of a form body. */
export const parseParams = (body: string): Params =>
  paramsAt(
    { values: new Map(new URLSearchParams(body)), read: new Set(['Action', 'Version']) },
    '',
  );

/** `Filter.N.Name` with `Filter.N.Value.M`. */
export const filtersOf = (params: Params): readonly Ec2Filter[] =>
  params
    .list('Filter')
    .map((filter) => ({ name: filter.required('Name'), values: filter.texts('Value') }));

/** A list of tags as a record; a tag without a value has the empty one. */
export const tagsOf = (tags: readonly Params[]): Record<string, string> =>
  Object.fromEntries(tags.map((tag) => [tag.required('Key'), tag.text('Value') ?? '']));

/** `TagSpecification.N`: tags by the resource type they are for. */
export function tagSpecifications(params: Params): ReadonlyMap<string, Record<string, string>> {
  const byType = new Map<string, Record<string, string>>();
  for (const specification of params.list('TagSpecification')) {
    const type = specification.required('ResourceType');
    byType.set(type, { ...byType.get(type), ...tagsOf(specification.list('Tag')) });
  }
  return byType;
}
