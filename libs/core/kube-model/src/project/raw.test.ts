import { lookUp } from '@dovetail/core-invariant';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { inheritedKeys } from '../testing/inherited-keys.js';
import {
  isRecord,
  Malformed,
  optional,
  parsed,
  readEach,
  readFlag,
  readInteger,
  readList,
  readOneOf,
  readRecord,
  readRequiredText,
  readText,
  readTextMap,
  readTexts,
  readTimeMs,
} from './raw.js';

fc.configureGlobal({ seed: 1 });

type Read = (raw: unknown) => unknown;
const readers: Readonly<Record<string, Read>> = {
  readRecord: (raw) => readRecord(raw, 'f'),
  readList: (raw) => readList(raw, 'f'),
  readText: (raw) => readText(raw, 'f'),
  readRequiredText: (raw) => readRequiredText(raw, 'f'),
  readTexts: (raw) => readTexts(raw, 'f'),
  readTextMap: (raw) => readTextMap(raw, 'f'),
  readInteger: (raw) => readInteger(raw, 'f'),
  readFlag: (raw) => readFlag(raw, 'f'),
  readOneOf: (raw) => readOneOf(raw, 'f', ['a', 'b']),
  readTimeMs: (raw) => readTimeMs(raw, 'f'),
};

describe('a reader', () => {
  test.each<[string, unknown, string]>([
    ['readRecord', [], 'write an object here'],
    ['readRecord', 'x', 'write an object here'],
    ['readList', {}, 'write a list here'],
    ['readText', 7, 'write a text'],
    ['readText', {}, 'write a text'],
    ['readRequiredText', '', 'this field is required'],
    ['readRequiredText', undefined, 'this field is required'],
    ['readTexts', ['a', 7], 'write a text'],
    ['readTextMap', { k: true }, 'write a text'],
    ['readInteger', 1.5, 'write an integer'],
    ['readInteger', '1', 'write an integer'],
    ['readInteger', Infinity, 'write an integer'],
    ['readInteger', 1e300, 'write an integer'],
    ['readInteger', 2 ** 53, 'write an integer'],
    ['readFlag', 'true', 'write true or false, without quotes'],
    ['readOneOf', 'c', 'write one of a, b'],
    ['readOneOf', undefined, 'write one of a, b'],
    ['readTimeMs', 'soon', 'write a time like'],
    ['readTimeMs', 7, 'write a time like'],
  ])('%s refuses %j', (name, raw, remedy) => expect(() => readers[name]?.(raw)).toThrow(remedy));

  test.each<[string, unknown]>([
    ['readRecord', {}],
    ['readList', []],
    ['readText', undefined],
    ['readTexts', []],
    ['readTextMap', {}],
    ['readInteger', undefined],
    ['readFlag', undefined],
    ['readTimeMs', undefined],
  ])('%s answers %j where nothing stands, be it null or absent', (name, value) => {
    expect(readers[name]?.(undefined)).toEqual(value);
    expect(readers[name]?.(null)).toEqual(value);
  });

  test.each(Object.keys(readers))('%s answers or refuses by field, for any JSON', (name) =>
    fc.assert(
      fc.property(fc.jsonValue(), (raw) => {
        const answer = parsed(() => readers[name]?.(raw));
        expect(answer.ok || answer.field.startsWith('f')).toBe(true);
      }),
    ),
  );
});

describe('the range of an integer', () => {
  test.each<[number, object, string]>([
    [0, { min: 1 }, 'write an integer, at least 1'],
    [101, { max: 100 }, 'write an integer, at most 100'],
    [0, { min: 1, max: 100 }, 'write an integer, at least 1, at most 100'],
  ])('%d within %j is refused', (raw, range, remedy) =>
    expect(() => readInteger(raw, 'f', range)).toThrow(remedy),
  );

  test.each([1, 50, 100])('includes %d, its ends and all between', (raw) =>
    expect(readInteger(raw, 'f', { min: 1, max: 100 })).toBe(raw),
  );
});

describe('a failure', () => {
  test('names field, value and remedy', () =>
    expect(parsed(() => readFlag('yes', 'spec.on'))).toEqual({
      ok: false,
      field: 'spec.on',
      value: '"yes"',
      remedy: 'write true or false, without quotes',
    }));

  test('says that a value is absent', () =>
    expect(parsed(() => readRequiredText(undefined, 'f'))).toMatchObject({ value: '(absent)' }));

  test('cuts a long value at 120 characters', () => {
    const failure = parsed(() => readFlag('x'.repeat(500), 'f'));
    expect(failure.ok ? '' : failure.value).toHaveLength(120);
  });

  test('of a list names the entry', () =>
    expect(
      parsed(() =>
        readEach([{ on: true }, { on: 1 }], 'l', (item, at) => readFlag(item['on'], at)),
      ),
    ).toMatchObject({ ok: false, field: 'l[1]' }));

  test('is the only error that becomes a value', () =>
    expect(() =>
      parsed(() => {
        throw new TypeError('a bug');
      }),
    ).toThrow(TypeError));

  test('is a Malformed error while it is thrown', () =>
    expect(new Malformed('f', 1, 'write 2')).toMatchObject({ message: 'f: write 2' }));
});

test.each<[unknown, boolean]>([
  [{}, true],
  [{ a: 1 }, true],
  [[], false],
  [null, false],
  [undefined, false],
  ['{}', false],
])('%j is a JSON object: %s', (value, is) => expect(isRecord(value)).toBe(is));

test('an optional property is left out when it has no value', () => {
  expect(optional('a', undefined)).toEqual({});
  expect(optional('a', 0)).toEqual({ a: 0 });
});

test.each(inheritedKeys)('a map of texts has the key %s only if the object has it', (key) => {
  expect(lookUp(readTextMap({}, 'f'), key)).toBeUndefined();
  const given: unknown = JSON.parse(`{"${key}":"a"}`);
  expect(Object.entries(readTextMap(given, 'f'))).toEqual([[key, 'a']]);
});
