import { depthMax, flow, NotPlain, plainKey, quoted, scalar, setOnce } from './quick-scalar.js';

type Line = { readonly indent: number; readonly text: string };
type Reader = { readonly lines: Line[]; at: number; depth: number };

function linesOf(document: string): Line[] {
  if (document.includes('\t')) throw new NotPlain();
  const lines: Line[] = [];
  for (const raw of document.split('\n')) {
    const text = raw.trim();
    if (text === '' || text.startsWith('#')) continue;
    lines.push({ indent: raw.search(/\S/), text });
  }
  return lines;
}

/**
 * The key at the start of a line, and the text after its colon; undefined when the line is no
 * mapping entry.
 */
function entryOf(text: string): { readonly key: string; readonly rest: string } | undefined {
  if (text.startsWith('"') || text.startsWith("'")) {
    const { value, end } = quoted(text);
    if (text[end] !== ':' || (text[end + 1] !== undefined && text[end + 1] !== ' '))
      return undefined;
    return { key: value, rest: text.slice(end + 1).trim() };
  }
  if (/^[[\]{}&*!|>%@`,#?]/.test(text)) return undefined;
  const colon = text.indexOf(': ');
  const comment = text.indexOf(' #');
  if (colon >= 0 && (comment < 0 || colon < comment))
    return { key: plainKey(text.slice(0, colon)), rest: text.slice(colon + 2).trim() };
  const bare = comment < 0 ? text : text.slice(0, comment).trimEnd();
  return bare.endsWith(':') ? { key: plainKey(bare.slice(0, -1)), rest: '' } : undefined;
}

const isItem = (text: string): boolean => text === '-' || text.startsWith('- ');

/** A value that stands on its own line, which the next line must not continue. */
function inline(reader: Reader, text: string, indent: number): unknown {
  const value = text.startsWith('[') || text.startsWith('{') ? flow(text) : scalar(text);
  const next = reader.lines[reader.at];
  if (next !== undefined && next.indent > indent) throw new NotPlain();
  return value;
}

function nested(reader: Reader, indent: number, itemsMayAlign: boolean): unknown {
  const next = reader.lines[reader.at];
  if (next === undefined) return null;
  if (next.indent > indent) return block(reader, next.indent);
  return itemsMayAlign && next.indent === indent && isItem(next.text)
    ? sequence(reader, indent)
    : null;
}

function mapping(reader: Reader, indent: number): unknown {
  const map: Record<string, unknown> = {};
  for (
    let line = reader.lines[reader.at];
    line !== undefined && line.indent === indent;
    line = reader.lines[reader.at]
  ) {
    if (isItem(line.text)) throw new NotPlain();
    const entry = entryOf(line.text);
    if (entry === undefined) throw new NotPlain();
    reader.at += 1;
    const empty = entry.rest === '' || entry.rest.startsWith('#');
    setOnce(
      map,
      entry.key,
      empty ? nested(reader, indent, true) : inline(reader, entry.rest, indent),
    );
  }
  return map;
}

function sequence(reader: Reader, indent: number): unknown {
  const list: unknown[] = [];
  for (
    let line = reader.lines[reader.at];
    line !== undefined && line.indent === indent && isItem(line.text);
    line = reader.lines[reader.at]
  ) {
    const content = line.text.slice(1).trimStart();
    if (content === '' || content.startsWith('#')) {
      reader.at += 1;
      list.push(nested(reader, indent, false));
    } else if (isItem(content) || entryOf(content) !== undefined) {
      // The item's own first line is read again, as the first line of a block that begins after the
      // dash.
      const inner = indent + line.text.length - content.length;
      reader.lines[reader.at] = { indent: inner, text: content };
      list.push(block(reader, inner));
    } else {
      reader.at += 1;
      list.push(inline(reader, content, indent));
    }
  }
  return list;
}

function block(reader: Reader, indent: number): unknown {
  const first = reader.lines[reader.at];
  if (first === undefined) return null;
  reader.depth += 1;
  if (reader.depth > depthMax) throw new NotPlain();
  const value = isItem(first.text) ? sequence(reader, indent) : mapping(reader, indent);
  reader.depth -= 1;
  const next = reader.lines[reader.at];
  if (next !== undefined && next.indent > indent) throw new NotPlain();
  return value;
}

/**
 * Reads one YAML document of the plain kind that most manifests are: block mappings and sequences,
 * one-line scalars and flow collections. Returns undefined for anything else (anchors, tags, block
 * scalars, wrapped lines, errors), which the YAML library then reads. Thousands of objects take
 * tens of milliseconds this way and most of a second the other.
 */
export function quickYaml(document: string): { readonly value: unknown } | undefined {
  try {
    const reader: Reader = { lines: linesOf(document), at: 0, depth: 0 };
    const first = reader.lines[0];
    if (first === undefined) return { value: null };
    const value = block(reader, first.indent);
    return reader.at === reader.lines.length ? { value } : undefined;
  } catch (error) {
    if (error instanceof NotPlain) return undefined;
    throw error;
  }
}
