import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LineCounter, parseAllDocuments, stringify } from 'yaml';

import { documentsOf } from './documents.js';
import { jsonErrorOffset } from './json-position.js';
import { Problems } from './problems.js';
import { quickYaml } from './quick-yaml.js';
import { parseAsKubectl } from './yaml.js';

fc.configureGlobal({ seed: 1 });

const slow = (text: string): ReturnType<typeof parseAsKubectl> =>
  parseAsKubectl(text, new LineCounter());

const scalars = fc.oneof(
  fc.string(),
  fc.constantFrom(
    'a',
    '1',
    'true',
    'null',
    '~',
    '1e3',
    '-',
    '- a',
    'a: b',
    '# x',
    ' a ',
    'x #y',
    '100m',
    '',
    '0x10',
    "it's",
    '"q"',
    'a\nb',
    '*',
    '${A}',
    '.5',
    '1.',
    'yes',
    'Off',
    'n',
    '010',
    '08',
    '1_000',
    '0b1',
    '10.0.0.1',
    '._5',
    '1e400',
  ),
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
);
const { tree } = fc.letrec((tie) => ({
  tree: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    scalars,
    fc.array(tie('tree'), { maxLength: 4 }),
    fc.dictionary(
      fc.oneof(fc.string(), fc.constantFrom('a', 'b.c/d', 'aws:x', 'x y')),
      tie('tree'),
      { maxKeys: 4 },
    ),
  ),
}));

describe('the quick reader', () => {
  test('reads what the YAML library writes as the library reads it, or passes it on', () =>
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom('a', 'b', 'c'), tree, { minKeys: 1 }),
        fc.constantFrom(true, false),
        (value, indentSeq) => {
          const text = stringify(value, { indentSeq, lineWidth: 0 });
          const quick = quickYaml(text);
          if (quick !== undefined) expect(quick.value).toEqual(slow(text).toJS());
        },
      ),
      { numRuns: 2000 },
    ));
  test('reads any text as the library reads it, or passes it on', () => {
    const piece = fc.constantFrom(
      'a',
      'b:',
      ' ',
      '  ',
      '\n',
      '- ',
      ': ',
      '#',
      '"',
      "'",
      '[',
      ']',
      '{',
      '}',
      ',',
      '1',
      '|',
      '&x',
      '*x',
      '!t',
      '?',
      '%',
      '\t',
      '-',
      'true',
      '\\',
      '>',
      '~',
      '---',
      '0',
      '_',
      'y',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 14 }), (pieces) => {
        const text = pieces.join('');
        const quick = quickYaml(text);
        if (quick === undefined) return;
        const document = slow(text);
        expect([document.errors.map((error) => error.message), document.toJS()]).toEqual([
          [],
          quick.value,
        ]);
      }),
      { numRuns: 20_000 },
    );
  });
  test.each([
    'a: |\n  x\n',
    'a: &x 1\n',
    'a: *x\n',
    'a: !!str 1\n',
    'a: b\n c\n',
    'a: "x\n  y"\n',
    '? a\n: b\n',
    'a: 1\na: 2\n',
    '<<: {a: 1}\n',
    'a: b: c\n',
    'a:\n\t- b\n',
    'a: [1,\n 2]\n',
    'a: 010\n',
    'a: 1_000\n',
    'a: yes\n',
    'y: 1\n',
  ])('passes %j on', (text) => expect(quickYaml(text)).toBeUndefined());
  test.each<[string, unknown]>([
    ['a:\n- b\n- c: 1\n  d: 2\n', { a: ['b', { c: 1, d: 2 }] }],
    ['a:\n  - - 1\n    - 2\n', { a: [[1, 2]] }],
    [
      '"aws:eks:cluster-name": ${CLUSTER_NAME} # x\n',
      { 'aws:eks:cluster-name': '${CLUSTER_NAME}' },
    ],
    [
      'a: {cpu: 1, memory: "2Gi"}\nb: [x, "y", {}]\n',
      { a: { cpu: 1, memory: '2Gi' }, b: ['x', 'y', {}] },
    ],
    ['# only\n', null],
    ['a:\nb: ~\n', { a: null, b: null }],
    ["a: 'it''s'\n", { a: "it's" }],
    ['a: "\\u0041\\n"\n', { a: 'A\n' }],
  ])('reads %j', (text, value) => expect(quickYaml(text)?.value).toEqual(value));
});

const scenarios = fileURLToPath(new URL('../../../../tests/scenarios/', import.meta.url));
const files = readdirSync(scenarios, { recursive: true, encoding: 'utf8' }).filter((file) =>
  file.endsWith('.yaml'),
);
test.each(files)('documents of %s are those of the library', async (file) => {
  const text = readFileSync(`${scenarios}${file}`, 'utf8');
  expect((await documentsOf(file, text, new Problems())).map((document) => document.value)).toEqual(
    parseAllDocuments(text)
      .map((document) => document.toJS() as unknown)
      .filter((value) => value !== null),
  );
});

describe('a JSON error', () => {
  test.each<[string, number]>([
    ['{"a": }', 6],
    ['[1,]', 3],
    ['{"a" 1}', 5],
    ['[1', 2],
    ['{"a":1}x', 7],
    ['["\\x"]', 1],
    ['', 0],
    ['{,}', 1],
    ['[}', 1],
  ])('in %j is at %i', (text, offset) => expect(jsonErrorOffset(text)).toBe(offset));
  test('of valid JSON is only its end', () =>
    fc.assert(
      fc.property(
        fc.json({ maxDepth: 3 }),
        (text) => jsonErrorOffset(`${text} `) === `${text} `.length,
      ),
    ));
});
