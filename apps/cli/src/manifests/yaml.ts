/**
 * The command's use of its YAML library, in its own part of the bundle, because most manifests do
 * not need it. The library is CommonJS, and a bundle finds its names only in static imports.
 */
import {
  type Document,
  isCollection,
  type LineCounter,
  parseDocument,
  type ScalarTag,
  visit,
} from 'yaml';

export { LineCounter, stringify } from 'yaml';

/** YAML 1.1's further words for true and false. */
const words: ScalarTag = {
  tag: 'tag:yaml.org,2002:bool',
  default: true,
  test: /^(?:y|Y|yes|Yes|YES|on|On|ON|n|N|no|No|NO|off|Off|OFF)$/,
  resolve: (text) => /^(?:y|on)/i.test(text),
};

/** YAML 1.1's numbers: `010` is 8, `1_000` is 1000, and `0b11` is 3. */
const numbers: ScalarTag = {
  tag: 'tag:yaml.org,2002:float',
  default: true,
  test: /^[-+]?(?:0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9][0-9_]*)(?:[eE][-+]?[0-9]+)?)$/,
  resolve(text) {
    const plain = text.replaceAll('_', '');
    const digits = plain.replace(/^[-+]/, '');
    const size = Number(/^0[0-7]+$/.test(digits) ? `0o${digits}` : digits);
    if (!Number.isFinite(size)) return text;
    return plain.startsWith('-') ? -size : size;
  },
};

/**
 * Reads a document as kubectl does, whose library knows YAML 1.1: with merge keys (`<<`), more
 * words for true and false, and octal numbers. Another reading would plan other pods than kubectl
 * makes.
 */
export const parseAsKubectl = (text: string, lineCounter: LineCounter): Document.Parsed =>
  parseDocument(text, {
    lineCounter,
    prettyErrors: false,
    merge: true,
    customTags: (tags) => [words, numbers, ...tags],
  });

/**
 * The offset of the first key that is itself a map or a list; undefined if there is none. No
 * Kubernetes object has one, and `{{ … }}` of a template is one.
 */
export function collectionKeyAt(document: Document.Parsed): number | undefined {
  let offset: number | undefined;
  visit(document, {
    Pair(_index, { key }) {
      if (!isCollection(key)) return undefined;
      offset = key.range?.[0];
      return visit.BREAK;
    },
  });
  return offset;
}
