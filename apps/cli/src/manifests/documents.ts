import { messageOf } from '@dovetail/core-ports';

import { InputError, type Place } from './input-error.js';
import { jsonErrorOffset } from './json-position.js';
import { knotIn } from './knots.js';
import type { Problems } from './problems.js';
import { quickYaml } from './quick-yaml.js';

/** One document of a file, as text and as a value. */
export type Document = {
  readonly file: string;
  /** The file's line, from 1, at which the text begins. */
  readonly line: number;
  readonly text: string;
  readonly value: unknown;
};

/** The value of a document that was not read. */
const none = { value: undefined };

type Part = { readonly line: number; readonly text: string };

/** The documents between `---` lines. A marker at the line's start ends any document. */
function partsOf(text: string): readonly Part[] {
  if (!/^---/m.test(text)) return [{ line: 1, text }];
  const parts: Part[] = [];
  // Directives belong to the document after them, whose version of YAML is kubectl's all the same.
  const isDirectives = (lines: readonly string[]): boolean =>
    lines.some((one) => one.startsWith('%')) && lines.every((one) => /^(?:[%#].*|\s*)$/.test(one));
  let line = 1;
  let current: string[] = [];
  text.split('\n').forEach((one, index) => {
    if (!/^---(\s|$)/.test(one)) {
      current.push(one);
      return;
    }
    if (!isDirectives(current)) parts.push({ line, text: current.join('\n') });
    line = index + 1;
    // Text after the marker belongs to the new document. Blanks keep its columns right.
    current = [
      one.replace(/^---/, '').trim() === '' || one.slice(3).trimStart().startsWith('#')
        ? ''
        : one.slice(3),
    ];
  });
  parts.push({ line, text: current.join('\n') });
  return parts;
}

/**
 * Reads one document of YAML that begins at a line of its file. Throws InputError with the
 * library's message and line.
 */
export async function slowYaml(file: string, part: Part): Promise<unknown> {
  const { collectionKeyAt, parseAsKubectl, LineCounter } = await import('./yaml.js');
  const counter = new LineCounter();
  const placeAt = (offset: number): Place => ({
    file,
    line: part.line + counter.linePos(Math.max(0, offset)).line - 1,
  });
  const document = caught({ file, line: part.line }, () => parseAsKubectl(part.text, counter));
  const [error] = document.errors;
  if (error?.message.includes('call stack') === true) throw tooDeep({ file, line: part.line });
  if (error !== undefined) {
    throw new InputError(`this is not valid YAML (${error.message}): correct the line`, {
      place: placeAt(error.pos[0]),
      cause: error,
    });
  }
  const key = caught({ file, line: part.line }, () => collectionKeyAt(document));
  if (key !== undefined) throw mapAsKey(placeAt(key));
  const place = placeAt(part.text.search(/[\s[,{:-]\*[^\s*]/) + 1);
  const value = valueOf(document, place, (alias) => placeAt(part.text.indexOf(`*${alias}`)));
  const knot = knotIn(value);
  if (knot === 'circle')
    throw new InputError('an alias stands inside of what it stands for: write the value out', {
      place,
    });
  if (knot === 'depth') throw tooDeep({ file, line: part.line });
  return value;
}

const mapAsKey = (place: Place): InputError =>
  new InputError(
    'a map or list is a key here: if this is a template, render it first, such as by `helm template`',
    { place },
  );

/** The value of a document. The library throws a ReferenceError for an alias without its anchor. */
function valueOf(
  document: { toJS(): unknown },
  place: Place,
  placeOf: (alias: string) => Place,
): unknown {
  return caught(place, () => {
    try {
      return document.toJS();
    } catch (error) {
      const [, alias] = /^Unresolved alias.*: (\S+)$/.exec(messageOf(error)) ?? [];
      if (alias === undefined) throw error;
      throw new InputError(
        `the alias *${alias} has no anchor before it in its document: write the value out`,
        { place: placeOf(alias), cause: error },
      );
    }
  });
}

/** Runs the library, and reports what it cannot read at a place. */
function caught<T>(place: Place, read: () => T): T {
  try {
    return read();
  } catch (error) {
    // The library throws this when aliases of aliases grow beyond a hundred copies.
    if (error instanceof ReferenceError)
      throw new InputError('aliases stand for too much here: write the values out', {
        place,
        cause: error,
      });
    if (error instanceof RangeError) throw tooDeep(place);
    throw error;
  }
}

const tooDeep = (place: Place): InputError =>
  new InputError('this is nested too deeply to be a Kubernetes object: write it flatter', {
    place,
  });

function jsonValue(file: string, text: string): { readonly value: unknown } | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (error) {
    // Flow style is YAML too, so only a file with the suffix .json must be JSON.
    if (!file.endsWith('.json')) return undefined;
    const line = text.slice(0, jsonErrorOffset(text)).split('\n').length;
    throw new InputError('this is not valid JSON: correct the line', {
      place: { file, line },
      cause: error,
    });
  }
}

/** A file as one document of JSON; undefined if it is YAML. */
function jsonDocument(file: string, text: string): Document | undefined {
  const json = jsonValue(file, text);
  if (json === undefined) return undefined;
  if (knotIn(json.value) !== undefined) throw tooDeep({ file, line: 1 });
  return { file, line: 1, text, ...json };
}

/** The documents of one file that have content. Unreadable ones become problems. */
export async function documentsOf(
  file: string,
  text: string,
  problems: Problems,
): Promise<readonly Document[]> {
  const whole = text.startsWith('\uFEFF') ? text.slice(1) : text;
  const before = problems.all.length;
  const json = await problems.reading(() => jsonDocument(file, whole));
  if (json !== undefined || problems.all.length > before) return json === undefined ? [] : [json];
  const documents: Document[] = [];
  for (const part of partsOf(whole.replaceAll('\r\n', '\n'))) {
    const { value } =
      quickYaml(part.text) ??
      (await problems.reading(async () => ({ value: await slowYaml(file, part) }))) ??
      none;
    if (value !== null && value !== undefined) documents.push({ file, ...part, value });
  }
  return documents;
}
