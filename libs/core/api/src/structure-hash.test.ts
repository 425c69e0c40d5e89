import { describe, expect, test } from 'vitest';

import { mapHash, numberHash, setHash, structHash, textHash } from './structure-hash.js';

describe('a text', () => {
  // The vectors of 64-bit FNV-1 by its authors, and texts of two, three and four bytes a letter.
  test.each([
    ['', 0xcbf2_9ce4_8422_2325n],
    ['a', 0xaf63_bd4c_8601_b7ben],
    ['foobar', 0x340d_8765_a4dd_a9c2n],
  ])('%j has the hash that FNV-1 gives it', (text, hash) => expect(textHash(text)).toBe(hash));

  test.each(['é', '€', '😀', 'aé€😀'])('%j is hashed by its bytes in UTF-8', (text) => {
    const bytes = Array.from(unescape(encodeURIComponent(text)), (one) => one.charCodeAt(0));
    const expected = bytes.reduce(
      (hash, byte) => BigInt.asUintN(64, hash * 0x100_0000_01b3n) ^ BigInt(byte),
      0xcbf2_9ce4_8422_2325n,
    );
    expect(textHash(text)).toBe(expected);
  });
});

describe('a number', () => {
  test('is hashed by its bytes, the lowest first', () =>
    expect(numberHash(0x62_61n, 8)).toBe(textHash('ab\0\0\0\0\0\0')));
  test('below zero is hashed as Go holds it', () =>
    expect(numberHash(-1n, 4)).toBe(numberHash(0xffff_ffffn, 4)));
  test.each([1, 4, 8] as const)('of %d bytes is another than of other widths', (width) => {
    const others = ([1, 4, 8] as const).filter((other) => other !== width);
    expect(others.map((other) => numberHash(1n, other))).not.toContain(numberHash(1n, width));
  });
});

describe('a set', () => {
  const [a, b] = [textHash('a'), textHash('b')];
  test('has the same hash in any order', () => expect(setHash([a, b])).toBe(setHash([b, a])));
  test('loses items that are equal, as in Karpenter', () =>
    expect(setHash([a, b, b])).toBe(setHash([a])));
});

describe('a map', () => {
  const one = ['one', textHash('1')] as const;
  const two = ['two', textHash('2')] as const;
  test('has the same hash in any order', () =>
    expect(mapHash([one, two])).toBe(mapHash([two, one])));
  test('has another hash when its values change places', () =>
    expect(mapHash([one, two])).not.toBe(
      mapHash([
        ['one', two[1]],
        ['two', one[1]],
      ]),
    ));
});

describe('a struct', () => {
  const fields = [
    ['A', textHash('1')],
    ['B', textHash('2')],
  ] as const;
  test('without fields is its name', () => expect(structHash('Taint', [])).toBe(textHash('Taint')));
  test('has another hash under another name, or with its fields in another order', () => {
    const hash = structHash('Taint', fields);
    expect(structHash('Toleration', fields)).not.toBe(hash);
    expect(structHash('Taint', fields.toReversed())).not.toBe(hash);
  });
});
