import { isRecord, type Parsed, type ParseFailure } from '@dovetail/core-kube-model';

import { type Document, documentsOf } from './documents.js';
import { standardInput } from './files.js';
import { InputError } from './input-error.js';

/** An object of a manifest, and its place. */
export type Source = {
  readonly document: Document;
  /** The object's path within its document: empty, or `items[3].` in a list. */
  readonly path: string;
  readonly kind: string;
  readonly apiVersion: string;
  readonly object: Readonly<Record<string, unknown>>;
};

/** Longer documents (in characters) are named by their first line only. */
const locateMax = 8_000_000;

/** Longer values are cut in errors, as those of fields are. */
const shownMax = 120;

const textOf = (value: unknown): string => {
  // A whole document may stand here. Only its beginning becomes text.
  const start = typeof value === 'string' ? value.slice(0, shownMax) : value;
  const text = JSON.stringify(start) ?? '(absent)';
  return text.length <= shownMax ? text : `${text.slice(0, shownMax - 1)}…`;
};

/** The error for a field of an object, with its line or, if the field is absent, its parent's. */
export async function errorAt(
  source: Pick<Source, 'document' | 'path'>,
  failure: Omit<ParseFailure, 'ok'>,
): Promise<InputError> {
  const { file, line, text } = source.document;
  // Finding the line means reading the document again with all positions. A very large one is not
  // worth it.
  const within =
    text.length > locateMax
      ? 1
      : (await import('./locate.js')).lineOfField(text, `${source.path}${failure.field}`);
  const at = line + within - 1;
  return new InputError(`${failure.value} cannot be used here: ${failure.remedy}`, {
    place: { file, line: at },
    field: `${source.path}${failure.field}`,
  });
}

/** Returns the parser's value. Throws InputError with file, line and field if there is none. */
export async function valueOf<T>(
  source: Pick<Source, 'document' | 'path'>,
  parsed: Parsed<T>,
): Promise<T> {
  if (parsed.ok) return parsed.value;
  throw await errorAt(source, parsed);
}

async function sourcesOf(
  document: Document,
  value: unknown,
  path: string,
): Promise<readonly Source[]> {
  const fail = (field: string, shown: unknown, remedy: string): Promise<InputError> =>
    errorAt({ document, path }, { field, value: textOf(shown), remedy });
  if (Array.isArray(value))
    return (
      await Promise.all(value.map((item, index) => sourcesOf(document, item, `${path}[${index}].`)))
    ).flat();
  if (!isRecord(value))
    throw await fail('', value, 'write a Kubernetes object with apiVersion, kind and metadata');
  const { kind, apiVersion } = value;
  if (typeof kind !== 'string' || kind === '')
    throw await fail('kind', kind, 'write the kind of the object, such as Pod');
  if (typeof apiVersion !== 'string' || apiVersion === '')
    throw await fail('apiVersion', apiVersion, 'write the version of the API, such as v1');
  const items = kind === 'List' ? (value['items'] ?? []) : value['items'];
  if (kind.endsWith('List') && Array.isArray(items)) {
    return (
      await Promise.all(
        items.map((item: unknown, index) => sourcesOf(document, item, `${path}items[${index}].`)),
      )
    ).flat();
  }
  return [{ document, path, kind, apiVersion, object: value }];
}

/**
 * Every object of the files, in order. Lists are unfolded. Throws InputError with file, line and
 * field, and for input that is empty: a command that failed wrote nothing to be planned.
 */
export async function objectsOf(texts: ReadonlyMap<string, string>): Promise<readonly Source[]> {
  const sources: Source[] = [];
  let read = 0;
  for (const [file, text] of texts) {
    const documents = await documentsOf(file, text);
    read += documents.length;
    if (documents.length === 0 && file === standardInput)
      throw new InputError('it is empty: look at what the command before the pipe said', {
        place: { file },
      });
    for (const document of documents)
      sources.push(...(await sourcesOf(document, document.value, '')));
  }
  if (read === 0)
    throw new InputError('there is no object here: name a file or folder with manifests', {
      place: { file: [...texts.keys()].join(', ') },
    });
  return sources;
}
