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
])('%s is read as it was written', (_what, value) => {
  const again = readWritten(written(value));
  expect(again).toEqual(value);
  expect(written(again)).toBe(written(value));
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
