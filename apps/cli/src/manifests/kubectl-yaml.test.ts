import { describe, expect, test } from 'vitest';

import { documentsOf } from './documents.js';
import { Problems } from './problems.js';

const read = async (text: string): Promise<readonly unknown[]> =>
  (await documentsOf('f.yaml', text, new Problems())).map(({ value }) => value);

// The values are those of sigs.k8s.io/yaml 1.6.0, with which kubectl reads manifests.
describe('YAML is read as kubectl reads it', () => {
  test.each<[string, unknown]>([
    ['yes', true],
    ['On', true],
    ['y', true],
    ['NO', false],
    ['off', false],
    ['yES', 'yES'],
    ['010', 8],
    ['-010', -8],
    ['08', 8],
    ['0o17', 15],
    ['0x1F', 31],
    ['0b11', 3],
    ['1_000', 1000],
    ['1_0.5', 10.5],
    ['1e3', 1000],
    ['.5', 0.5],
    ['._5', '._5'],
    ['1e400', '1e400'],
    ['1_000m', '1_000m'],
    ['10.0.0.1', '10.0.0.1'],
    ['1:30', '1:30'],
    ['2001-01-01', '2001-01-01'],
  ])('%s is %j, wherever it stands', async (text, value) =>
    expect(await read(`a: ${text}\nb: [${text}]\nc: {d: ${text}}\n`)).toEqual([
      { a: value, b: [value], c: { d: value } },
    ]),
  );

  test.each<[string, string, unknown]>([
    [
      'a merge key brings in what its alias stands for',
      'x: &x {a: 1, b: 2}\nz:\n  <<: *x\n  b: 3\n',
      { x: { a: 1, b: 2 }, z: { a: 1, b: 3 } },
    ],
    [
      'of several merged maps the first wins',
      'x: &x {a: 1}\nz: &z {a: 2, c: 3}\nw: {<<: [*x, *z]}\n',
      { x: { a: 1 }, z: { a: 2, c: 3 }, w: { a: 1, c: 3 } },
    ],
    ['a key may be such a word', 'on: 1\n', { true: 1 }],
    ['a directive belongs to the document after it', '%YAML 1.1\n---\na: yes\n', { a: true }],
  ])('%s', async (_sentence, text, value) => expect(await read(text)).toEqual([value]));
});
