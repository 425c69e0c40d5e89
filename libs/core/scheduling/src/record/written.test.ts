import { expect, test } from 'vitest';

import { listOf, PartWriter } from './parts.js';
import { readWritten, written } from './written.js';

test.each([
  ['numbers that JSON lacks', { a: Infinity, b: -Infinity, c: -0, d: NaN }],
  ['a set in a map in a list', [new Map([['a', new Set(['x', 'y'])]])]],
  ['an object that looks like a mark', { $set: [1], nested: { $object: 'x' }, $number: 3 }],
  ['an object of one key that looks like a mark', { $map: [[1, 2]] }],
  ['keys in an order of their own', { b: 1, a: 2 }],
  ['text of any kind', ['\u0000', '"', 'ä', '\u{1f600}', '$set']],
  ['nothing', [null, {}, [], '']],
  ['an object beside marks of its like', { $ref: 1, $set: [2] }],
])('%s is read as it was written', (_what, value) => {
  const again = readWritten(written(value));
  expect(again).toEqual(value);
  expect(written(again)).toBe(written(value));
});

test('an object that comes again is written once, and is one object when it is read', () => {
  const labels = { app: 'web', tier: new Set(['front']) };
  const value = [{ labels }, [labels, labels], new Map([['a', labels]])];
  const text = written(value);
  expect(text.match(/front/g)).toHaveLength(1);
  const again = readWritten(text) as typeof value;
  expect(again).toEqual(value);
  const [first, second] = again as unknown as [{ labels: object }, readonly object[]];
  expect(second[1]).toBe(first.labels);
});

test('a long item is cut in parts, and no character is cut in two', () => {
  const kept = new Map<string, string>();
  let next = 0;
  const writer = new PartWriter(
    { sha256Hex: () => String((next += 1)).padStart(32, '0') },
    () => false,
  );
  const items = [{ name: 'long', text: '\u{1f600}'.repeat(200_000) }];
  const parts = writer.list(items);
  let step = parts.next();
  for (; step.done !== true; step = parts.next())
    if (step.value !== undefined) kept.set(step.value.id, step.value.text);
  expect(kept.size).toBeGreaterThan(3);
  for (const text of kept.values()) {
    expect(new TextEncoder().encode(text).length).toBeLessThanOrEqual(400_000);
    expect(new TextDecoder().decode(new TextEncoder().encode(text))).toBe(text);
  }
  expect(listOf(step.value, (id) => kept.get(id))).toEqual(items);
});
