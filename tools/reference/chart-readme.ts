import { isRecord } from '@dovetail/core-kube-model';
import { parse } from 'yaml';

type Row = { readonly path: string; readonly meaning: string; readonly value?: unknown };
type Line = { readonly indent: number; readonly name: string };

const keyOf = (line: string): Line | undefined => {
  const [, indent = '', name] = /^( *)([A-Za-z][\w]*):/.exec(line) ?? [];
  return name === undefined ? undefined : { indent: indent.length, name };
};

/** The value at a path of the whole file. */
const valueAt = (values: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>((block, name) => (isRecord(block) ? block[name] : undefined), values);

/** The lines of a block: those after its key that are further in. */
const blockBelow = (lines: readonly string[], at: number, indent: number): readonly string[] => {
  const end = lines.findIndex(
    (line, index) => index > at && line.trim() !== '' && line.search(/\S/) <= indent,
  );
  return lines.slice(at + 1, end < 0 ? lines.length : end);
};

/**
 * The values of a chart with the comments above them. A block without comments of its own, below
 * the first level, is one value.
 */
function rowsOf(text: string): readonly Row[] {
  const values: unknown = parse(text);
  const lines = text.split('\n');
  const rows: Row[] = [];
  const path: Line[] = [];
  let comment: string[] = [];
  let skipUntil = 0;
  lines.forEach((line, index) => {
    if (index < skipUntil) return;
    const key = keyOf(line);
    if (key === undefined) {
      comment = /^ *# /.test(line) ? [...comment, line.trim().slice(2)] : [];
      return;
    }
    while ((path.at(-1)?.indent ?? -1) >= key.indent) path.pop();
    path.push(key);
    const names = path.map(({ name }) => name);
    const value = valueAt(values, names);
    const below = blockBelow(lines, index, key.indent);
    const isWhole =
      !isRecord(value) || below.length === 0 || (path.length > 1 && !below.some(isComment));
    if (isWhole) skipUntil = index + 1 + below.length;
    if (isWhole || comment.length > 0)
      rows.push({
        path: names.join('.'),
        meaning: comment.join(' '),
        ...(isWhole ? { value } : {}),
      });
    comment = [];
  });
  return rows;
}

const isComment = (line: string): boolean => /^ *# /.test(line);

const cell = (text: string): string => text.replaceAll('|', '\\|');
/** Text outside of code, where `<name>` would count as HTML. */
const prose = (text: string): string => cell(text).replaceAll('<', '&lt;');

/** The README of the chart: its values, with their defaults and comments. */
export const chartReadme = (valuesFile: string): string => `# The chart of Dovetail

Made by \`npm run reference\` from values.yaml; do not edit by hand. How to install it: \`docs/guides/install-on-eks.md\` of the repository.
A value that the chart does not know is refused by its name.

| value | default | meaning |
|---|---|---|
${rowsOf(valuesFile)
  .map(
    ({ path, value, meaning }) =>
      `| \`${path}\` | ${value === undefined ? '' : `\`${cell(JSON.stringify(value))}\``} | ${prose(meaning)} |`,
  )
  .join('\n')}
`;
