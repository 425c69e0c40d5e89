import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { contentHash, hashVersion } from './content-hash.js';

fc.configureGlobal({ seed: 1 });

describe('the content hash', () => {
  test('does not see the order of keys and lists, nor what is empty', () =>
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.oneof(fc.string(), fc.integer(), fc.array(fc.string()))),
        (content) =>
          contentHash(content) ===
          contentHash({
            ...Object.fromEntries(
              Object.entries(content)
                .reverse()
                .map(([key, one]) => [key, Array.isArray(one) ? one.toReversed() : one]),
            ),
            empty: [],
            none: undefined,
          }),
      ),
    ));
  test('differs for content that differs', () => {
    const hashes = new Set(Array.from({ length: 20_000 }, (_, index) => contentHash({ a: index })));
    expect(hashes.size).toBe(20_000);
  });
  test('tells false from absent', () =>
    expect(contentHash({ a: false })).not.toBe(contentHash({})));
  test('is stable: a change of these values needs another hash version', () =>
    expect([contentHash({}), contentHash({ a: 1, b: ['x', 'y'] })]).toMatchInlineSnapshot(`
[
  "30a00dd6c223ada3",
  "5d4473ff1366a4e8",
]
`));
});

describe('the content that people can tell apart has different hashes', () => {
  test.each<[string, unknown, unknown]>([
    ['a text and a number', '1', 1],
    ['a list and its only entry', ['a'], 'a'],
    ['nested keys', { a: { b: 1 } }, { b: { a: 1 } }],
    ['zero and absent', { a: 0 }, {}],
    ['one entry and two', ['a'], ['a', 'a']],
    ['a key and its value', { a: 'b' }, { b: 'a' }],
  ])('%s', (_name, a, b) => expect(contentHash(a)).not.toBe(contentHash(b)));

  test('and every hash is 16 hexadecimal digits', () =>
    fc.assert(
      fc.property(fc.jsonValue(), (content) => {
        expect(contentHash(content)).toMatch(/^[0-9a-f]{16}$/);
      }),
    ));
});

test('the version of the hash stands on nodes: it changes only together with hashes', () =>
  expect(hashVersion).toBe('dovetail-v1'));
