import { closest } from '@dovetail/core-scheduling';

import { InputError } from '../manifests/input-error.js';
import { errorAt, type Source } from '../manifests/objects.js';
import type { Problems } from '../manifests/problems.js';
import { unknownFields } from '../manifests/unknown-fields.js';

/** Fields of one kind and file that are wrong in the same way. */
type Mistake = {
  readonly source: Source;
  readonly field: string;
  readonly meant?: string;
  count: number;
};

/** The same field of another item or object is the same mistake. */
const mistakeKey = ({ document, apiVersion, kind }: Source, field: string): string =>
  `${document.file} ${apiVersion} ${kind} ${field.replaceAll(/\[[0-9]+\]/g, '[]')}`;

async function unknownField({ source, field, meant, count }: Mistake): Promise<InputError> {
  const { place, field: at } = await errorAt(source, { field, value: '', remedy: '' });
  const more = count > 1 ? `, here and in ${count - 1} more places` : '';
  const remedy = meant === undefined ? 'remove it' : `did you mean ${meant}?`;
  return new InputError(
    `${source.kind} has no such field, so it changes nothing${more}: ${remedy}`,
    { ...(place === undefined ? {} : { place }), ...(at === undefined ? {} : { field: at }) },
  );
}

/** Adds a problem for each field that its kind does not have; one for equal ones of a file. */
export async function addUnknownFields(
  sources: readonly Source[],
  problems: Problems,
): Promise<void> {
  const mistakes = new Map<string, Mistake>();
  for (const source of sources)
    for (const unknown of unknownFields(source)) {
      const key = mistakeKey(source, unknown.field);
      const known = mistakes.get(key);
      if (known === undefined) mistakes.set(key, { source, ...unknown, count: 1 });
      else known.count += 1;
    }
  for (const mistake of mistakes.values())
    problems.add('unknown-field', await unknownField(mistake));
}

/** The group of an `apiVersion`; empty for Kubernetes' core. */
export const groupOf = (apiVersion: string): string =>
  apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : '';

/**
 * The kind and version that may be meant by an object of another kind: those of a kind that is
 * read, if the names of kind and group are near and not both the same.
 */
export function meantKind(
  { kind, apiVersion }: Source,
  read: ReadonlyMap<string, string>,
): string | undefined {
  const group = groupOf(apiVersion);
  const near = read.has(kind) ? kind : closest(kind, read.keys());
  const version = near === undefined ? undefined : read.get(near);
  if (near === undefined || version === undefined) return undefined;
  const own = groupOf(version);
  if (group === own) return near === kind ? undefined : near;
  return closest(group, [own]) === undefined ? undefined : `${near} of ${version}`;
}

/** The problem of an object whose kind is misspelt. */
export async function unknownKind(source: Source, meant: string): Promise<InputError> {
  const field = meant.includes(' of ') ? 'apiVersion' : 'kind';
  const { place, field: at } = await errorAt(source, { field, value: '', remedy: '' });
  return new InputError(
    `${source.kind} of ${source.apiVersion} is no kind that is read, so it is left out: did you mean ${meant}?`,
    { ...(place === undefined ? {} : { place }), ...(at === undefined ? {} : { field: at }) },
  );
}
