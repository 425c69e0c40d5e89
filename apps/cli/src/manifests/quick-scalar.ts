import { put } from '@dovetail/core-invariant';

/**
 * Thrown for text that is not plain enough for the quick reader. The whole document then goes to
 * the YAML library.
 */
export class NotPlain extends Error {}

const integer = /^[-+]?(?:0|[1-9][0-9]*)$/;
const float = /^[-+]?(?:\.[0-9]+|[0-9]+\.[0-9]*|(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)[eE][-+]?[0-9]+)$/;
/** Other bases, digits with underscores, infinity, and YAML 1.1's further words for booleans. */
const unusual =
  /^(?:[-+]?(?:0[0-9_]+|0[xob][0-9a-f_]+|[0-9.]+_[0-9._e+-]*|\.(?:inf|nan|[0-9_]+))|y|yes|on|n|no|off)$/i;
const words: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ['', null],
  ['~', null],
  ['null', null],
  ['Null', null],
  ['NULL', null],
  ['true', true],
  ['True', true],
  ['TRUE', true],
  ['false', false],
  ['False', false],
  ['FALSE', false],
]);

/** The value of an unquoted scalar, as far as it is plain. */
function plainValue(text: string): unknown {
  if (words.has(text)) return words.get(text);
  if (integer.test(text) || float.test(text)) return finite(Number(text));
  if (unusual.test(text)) throw new NotPlain();
  return text;
}

function finite(value: number): number {
  if (!Number.isFinite(value)) throw new NotPlain();
  return value;
}

const controls = /[\u0000-\u001f]/;

/** Every backslash with the escape that JSON knows, or alone. */
const escapes = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})?/g;

/** The value of a double-quoted scalar whose escapes are JSON's, however long it is. */
function unescaped(inner: string): string {
  if (controls.test(inner)) throw new NotPlain();
  if (!inner.includes('\\')) return inner;
  for (const [escape] of inner.matchAll(escapes)) if (escape.length === 1) throw new NotPlain();
  return JSON.parse(`"${inner}"`) as string;
}

/** A quoted scalar at the start of the text: its value and its end. */
export function quoted(text: string): { readonly value: string; readonly end: number } {
  const quote = text[0];
  let end = 1;
  for (; end < text.length; end += 1) {
    if (quote === '"' && text[end] === '\\') {
      end += 1;
      continue;
    }
    if (text[end] !== quote) continue;
    if (quote === "'" && text[end + 1] === "'") {
      end += 1;
      continue;
    }
    break;
  }
  if (end >= text.length) throw new NotPlain();
  const inner = text.slice(1, end);
  if (quote === "'") return { value: inner.replaceAll("''", "'"), end: end + 1 };
  return { value: unescaped(inner), end: end + 1 };
}

const indicators = new Set('-?:,[]{}#&*!|>\'"%@`');

/** Whether an unquoted scalar may begin here. */
function mayBegin(text: string): boolean {
  const first = text[0] ?? '';
  if (!indicators.has(first)) return true;
  const second = text[1];
  return (
    (first === '-' || first === '?' || first === ':') && second !== undefined && second !== ' '
  );
}

const blankOrComment = /^(?:\s*|\s+#.*)$/;

/** A scalar that fills the rest of a line, with or without a comment after it. */
export function scalar(text: string): unknown {
  if (text.startsWith('"') || text.startsWith("'")) {
    const { value, end } = quoted(text);
    if (!blankOrComment.test(text.slice(end))) throw new NotPlain();
    return value;
  }
  if (!mayBegin(text)) throw new NotPlain();
  const comment = text.indexOf(' #');
  const plain = (comment < 0 ? text : text.slice(0, comment)).trimEnd();
  if (plain.includes(': ') || plain.endsWith(':') || plain.includes('\t')) throw new NotPlain();
  return plainValue(plain);
}

const commonKey = /^[A-Za-z_$/][-\w.:/${}]*$/;

/**
 * An unquoted key of the kind that manifests have. The library reads a number, a blank or a word
 * such as true.
 */
export function plainKey(text: string): string {
  if (!commonKey.test(text) || words.has(text) || unusual.test(text)) throw new NotPlain();
  return text;
}

type Cursor = { readonly text: string; at: number; depth: number };

/**
 * Deeper documents are for the library and its errors. Kubernetes objects nest to about 20, a CRD's
 * schema to twice that.
 */
export const depthMax = 100;

const skipBlanks = (cursor: Cursor): void => {
  while (cursor.text[cursor.at] === ' ') cursor.at += 1;
};

function flowScalar(
  cursor: Cursor,
  stop: RegExp,
): { readonly value: unknown; readonly key: string } {
  const rest = cursor.text.slice(cursor.at);
  if (rest.startsWith('"') || rest.startsWith("'")) {
    const { value, end } = quoted(rest);
    cursor.at += end;
    return { value, key: value };
  }
  const length = rest.search(stop);
  if (length < 0) throw new NotPlain();
  const plain = rest.slice(0, length).trimEnd();
  if (plain === '' || !mayBegin(plain) || /[#\t]|: |:$/.test(plain)) throw new NotPlain();
  cursor.at += length;
  return { value: plainValue(plain), key: plain };
}

function flowEntries(cursor: Cursor, close: string, readEntry: () => void): void {
  cursor.depth += 1;
  if (cursor.depth > depthMax) throw new NotPlain();
  cursor.at += 1;
  skipBlanks(cursor);
  while (cursor.text[cursor.at] !== close) {
    readEntry();
    skipBlanks(cursor);
    if (cursor.text[cursor.at] === ',') cursor.at += 1;
    else if (cursor.text[cursor.at] !== close) throw new NotPlain();
    skipBlanks(cursor);
  }
  cursor.at += 1;
  cursor.depth -= 1;
}

function flowValue(cursor: Cursor): unknown {
  const first = cursor.text[cursor.at];
  if (first === '[') {
    const list: unknown[] = [];
    flowEntries(cursor, ']', () => list.push(flowValue(cursor)));
    return list;
  }
  if (first !== '{') return flowScalar(cursor, /[,\]}[{]/).value;
  const map: Record<string, unknown> = {};
  flowEntries(cursor, '}', () => {
    const isQuoted = /["']/.test(cursor.text[cursor.at] ?? '');
    const { key: text } = flowScalar(cursor, /: |[,\]}[{]/);
    const key = isQuoted ? text : plainKey(text);
    if (cursor.text[cursor.at] !== ':' || cursor.text[cursor.at + 1] !== ' ') throw new NotPlain();
    cursor.at += 1;
    skipBlanks(cursor);
    setOnce(map, key, flowValue(cursor));
  });
  return map;
}

/** A flow collection (`[a, b]`, `{a: 1}`) that fills the rest of a line. */
export function flow(text: string): unknown {
  const cursor: Cursor = { text, at: 0, depth: 0 };
  const value = flowValue(cursor);
  if (!blankOrComment.test(text.slice(cursor.at))) throw new NotPlain();
  return value;
}

/** Sets a new key. YAML forbids a key twice, and the library's message for that is better. */
export function setOnce(map: Record<string, unknown>, key: string, value: unknown): void {
  if (key === '__proto__' || key === '<<' || Object.hasOwn(map, key)) throw new NotPlain();
  put(map, key, value);
}
