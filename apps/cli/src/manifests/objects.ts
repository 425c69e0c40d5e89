import { isRecord, type Parsed, type ParseFailure } from '@dovetail/core-kube-model';

import { type Document, documentsOf } from './documents.js';
import { standardInput } from './files.js';
import { InputError, type Place } from './input-error.js';
import type { Problems } from './problems.js';

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

/** The place of an object, or of a field in it. A list has one document for all its objects. */
export async function placeOf(
  { document, path }: Pick<Source, 'document' | 'path'>,
  field = '',
): Promise<Place & { readonly line: number }> {
  const { file, line, text } = document;
  const whole = `${path}${field}`;
  // Finding the line means reading the document again with all positions. A very large one is not
  // worth it.
  if (text.length > locateMax) return { file, line };
  const { lineOfField } = await import('./locate.js');
  return { file, line: line + lineOfField(text, whole) - 1 };
}

/** The error for a field of an object, with its line or, if the field is absent, its parent's. */
export async function errorAt(
  source: Pick<Source, 'document' | 'path'>,
  failure: Omit<ParseFailure, 'ok'>,
): Promise<InputError> {
  return new InputError(`${failure.value} cannot be used here: ${failure.remedy}`, {
    place: await placeOf(source, failure.field),
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

/** The kind and version that an object of a typed list has, if it does not say. */
type Typed = { readonly kind?: string; readonly apiVersion?: string };

/** Unfolds the lists of a document. An object that is none becomes a problem. */
class Unfolding {
  readonly sources: Source[] = [];
  readonly #document: Document;
  readonly #problems: Problems;

  constructor(document: Document, problems: Problems) {
    this.#document = document;
    this.#problems = problems;
  }

  async add(value: unknown, path: string, typed: Typed): Promise<void> {
    if (Array.isArray(value)) {
      for (const [index, item] of value.entries()) await this.add(item, `${path}[${index}].`, {});
      return;
    }
    const source = await this.#problems.reading(() => this.#source(value, path, typed));
    if (source === undefined) return;
    const { kind, apiVersion, object } = source;
    const items = kind === 'List' ? (object['items'] ?? []) : object['items'];
    if (!kind.endsWith('List') || !Array.isArray(items)) {
      this.sources.push(source);
      return;
    }
    // The API server writes the kind of the items of a typed list only once: in the list's own.
    const below = kind === 'List' ? {} : { kind: kind.slice(0, -'List'.length), apiVersion };
    for (const [index, item] of items.entries())
      await this.add(item, `${path}items[${index}].`, below);
  }

  async #source(value: unknown, path: string, typed: Typed): Promise<Source> {
    const document = this.#document;
    const fail = (field: string, shown: unknown, remedy: string): Promise<InputError> =>
      errorAt({ document, path }, { field, value: textOf(shown), remedy });
    if (!isRecord(value))
      throw await fail('', value, 'write a Kubernetes object with apiVersion, kind and metadata');
    const { kind = typed.kind, apiVersion = typed.apiVersion } = value;
    if (typeof kind !== 'string' || kind === '')
      throw await fail('kind', kind, 'write the kind of the object, such as Pod');
    if (typeof apiVersion !== 'string' || apiVersion === '')
      throw await fail('apiVersion', apiVersion, 'write the version of the API, such as v1');
    return { document, path, kind, apiVersion, object: value };
  }
}

/**
 * Every object of the files, in order. Lists are unfolded. Documents and objects that cannot be
 * read become problems. Throws InputError for input that is empty: a command that failed wrote
 * nothing to be planned.
 */
export async function objectsOf(
  texts: ReadonlyMap<string, string>,
  problems: Problems,
): Promise<readonly Source[]> {
  const sources: Source[] = [];
  let read = 0;
  for (const [file, text] of texts) {
    const before = problems.all.length;
    const documents = await documentsOf(file, text, problems);
    const seen = documents.length + problems.all.length - before;
    read += seen;
    if (seen === 0 && file === standardInput)
      throw new InputError('it is empty: look at what the command before the pipe said', {
        place: { file },
      });
    for (const document of documents) {
      const unfolding = new Unfolding(document, problems);
      await unfolding.add(document.value, '', {});
      sources.push(...unfolding.sources);
    }
  }
  if (read === 0)
    throw new InputError('there is no object here: name a file or folder with manifests', {
      place: { file: [...texts.keys()].join(', ') },
    });
  return sources;
}
