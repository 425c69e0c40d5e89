import { lookUp } from '@dovetail/core-invariant';
import type { Ec2Filter } from '@dovetail/core-ports';

import { AwsFault, NotServedFault } from './aws-fault.js';

/** The values of a thing under a filter's name; undefined when there is no such filter for it. */
export type FilterValues = (name: string) => readonly string[] | undefined;

/** EC2 refuses a request with more filter values than this. */
export const filterValuesMax = 200;

/** Values under `tag:<key>`, `tag-key` and `tag-value`, which every tagged thing has. */
export function tagFilterValues(
  tags: Readonly<Record<string, string>>,
  name: string,
): readonly string[] | undefined {
  if (name === 'tag-key') return Object.keys(tags);
  if (name === 'tag-value') return Object.values(tags);
  if (!name.startsWith('tag:')) return undefined;
  const value = lookUp(tags, name.slice(4));
  return value === undefined ? [] : [value];
}

/**
 * EC2's wildcards, case-sensitive: `*` is any text, `?` one character, and a backslash escapes the
 * next character.
 */
export function matchesPattern(pattern: string, value: string): boolean {
  const source = pattern.replace(/\\[\s\S]|[\s\S]/g, (token) => {
    if (token === '*') return '[\\s\\S]*';
    if (token === '?') return '[\\s\\S]';
    return (token.length === 2 ? token.slice(1) : token).replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&');
  });
  return new RegExp(`^${source}$`).test(value);
}

/**
 * The things that every filter admits: one of the filter's values matches one of the thing's.
 * Throws InvalidParameterValue for a name that the thing cannot be filtered by, and
 * FilterLimitExceeded for too many values.
 */
export function admitted<T>(
  things: readonly T[],
  filters: readonly Ec2Filter[],
  valuesOf: (thing: T) => FilterValues,
  known: ReadonlySet<string>,
): readonly T[] {
  if (filters.reduce((sum, filter) => sum + filter.values.length, 0) > filterValuesMax) {
    throw new AwsFault(
      'FilterLimitExceeded',
      `The maximum number of filter values specified on a single call is ${filterValuesMax}`,
    );
  }
  for (const { name } of filters) {
    if (
      !known.has(name) &&
      !name.startsWith('tag:') &&
      name !== 'tag-key' &&
      name !== 'tag-value'
    ) {
      throw new NotServedFault('InvalidParameterValue', `The filter '${name}' is invalid`);
    }
  }
  const plain = filters.map(({ name, values }) => ({
    name,
    exact: new Set(values),
    patterns: values.filter((value) => /[*?\\]/.test(value)),
  }));
  return things.filter((thing) => {
    const valueOf = valuesOf(thing);
    return plain.every(({ name, exact, patterns }) =>
      (valueOf(name) ?? []).some(
        (value) => exact.has(value) || patterns.some((pattern) => matchesPattern(pattern, value)),
      ),
    );
  });
}
