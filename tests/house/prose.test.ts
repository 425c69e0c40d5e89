import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

/** The rule of docs/STYLE.md for how sentences open. ESLint's max-len holds comments' width. */
const root = join(import.meta.dirname, '..', '..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const filesOf = (...patterns: readonly string[]): readonly string[] =>
  execFileSync(
    'git',
    ['ls-files', '--cached', '--others', '--exclude-standard', '--', ...patterns],
    { cwd: root, encoding: 'utf8' },
  )
    .split('\n')
    .filter((path) => path !== '' && existsSync(join(root, path)));

const opening = /^[*_[("']*(?:What|Whoever|Nobody|Whatever|That which)\b(?!-)/;
const endOfSentence = /(?<=[.?!])\s+|\n\s*\n|(?:^|\n)\s*(?:[-*>]|\d+\.)\s+|\s*\|\s*/;
/** A block comment, a run of line comments, or one line comment after code. */
const comment =
  /^[ \t]*\/\*[\s\S]*?\*\/|^[ \t]*\/\/.*(?:\n[ \t]*\/\/.*)*|(?<=\S[ \t]+)(?<!https?:)\/\/ .*$/gm;
/** The markers at both ends of a comment's line. */
const markers = /^[ \t]*(?:\/\*\*?|\*\/|\/\/|\*(?=\s|$))[ \t]?|[ \t]*\*\/$/g;

const openingsIn = (prose: string): readonly string[] =>
  prose
    .split(endOfSentence)
    .map((sentence) => sentence.trim())
    .filter((sentence) => opening.test(sentence));

/** The faults of the comments of a source text. Programs wrote a generated text; it has none. */
function faultsOfSource(text: string): readonly string[] {
  if (/\bdo not edit\b/i.test(text.slice(0, 400))) return [];
  return [...text.matchAll(comment)].flatMap(([found]) =>
    openingsIn(
      found
        .split('\n')
        .map((line) => line.replaceAll(markers, ''))
        .join('\n'),
    ),
  );
}

/** The faults of a page. Code, headings and the examples under `| not | but |` have none. */
function faultsOfPage(text: string): readonly string[] {
  const prose = text
    .replaceAll(/^```[\s\S]*?^```/gm, '')
    .replaceAll(/^\| not \| but \|\n(?:\|.*\n)*/gm, '')
    .replaceAll(/^#.*$/gm, '\n');
  return openingsIn(prose);
}

const faultsOf = (
  paths: readonly string[],
  faults: (text: string) => readonly string[],
): readonly string[] =>
  paths.flatMap((path) => faults(read(path)).map((fault) => `${path}: ${fault}`));

describe('prose has its subject first', () => {
  test('in every comment of the sources', () =>
    expect(faultsOf(filesOf('*.ts', '*.tsx'), faultsOfSource)).toEqual([]));

  test('on every page', () =>
    expect(
      faultsOf(filesOf('docs/*.md', 'README.md', 'CONTRIBUTING.md', 'CHANGELOG.md'), faultsOfPage),
    ).toEqual([]));
});

describe('a planted fault of a source', () => {
  test.each([
    ['at the start of a line comment', '// What it does.', ['What it does.']],
    ['at the start of a docstring', '/** Whoever asks. */', ['Whoever asks.']],
    ['at the start of a long docstring', '/**\n * Nobody asks.\n */', ['Nobody asks.']],
    ['in a later sentence', '// It asks. Nobody answers.', ['Nobody answers.']],
    ['in a sentence on the next line', '// It asks.\n// What follows?', ['What follows?']],
    ['in an item', '/**\n * Kinds:\n * - Whatever is left\n */', ['Whatever is left']],
    ['in emphasis', '// *That which* is left.', ['*That which* is left.']],
    ['behind code', `ask(); ${'//'} What it does.`, ['What it does.']],
  ])('is found %s', (_where, text, faults) => expect(faultsOfSource(text)).toEqual(faults));

  test.each([
    ['inside a sentence', '// It says what it does.'],
    ['in code', "say('What is it?');"],
    ['in a longer word', '// What-if questions are asked.'],
    ['in a generated text', '// Generated; do not edit.\n// What it does.'],
  ])('is not seen %s', (_where, text) => expect(faultsOfSource(text)).toEqual([]));
});

describe('a planted fault of a page', () => {
  test.each([
    ['at the start of a paragraph', '# Page\n\nWhat it does.\n', ['What it does.']],
    ['in a later sentence', 'It asks. Nobody answers.\n', ['Nobody answers.']],
    ['in an item', '- Whoever asks\n- gets it\n', ['Whoever asks']],
    ['in a table', '| name | meaning |\n|---|---|\n| x | What it does |\n', ['What it does']],
  ])('is found %s', (_where, text, faults) => expect(faultsOfPage(text)).toEqual(faults));

  test.each([
    ['in a heading', '## What it does\n\nIt works.\n'],
    ['in code', '```text\nWhat it does\n```\n'],
    [
      'in the examples of the style page',
      '| not | but |\n|---|---|\n| What it does. | It works. |\n',
    ],
  ])('is not seen %s', (_where, text) => expect(faultsOfPage(text)).toEqual([]));
});
