import { expect, test } from 'vitest';

import { systemPacking } from './packing.js';

test.each([[''], ['a'], ['ä\u{1f600}'.repeat(1_000)], ['{"name":"web"}'.repeat(10_000)]])(
  'a packed text is unpacked as it was',
  (text) => expect(systemPacking.unpack(systemPacking.pack(text))).toBe(text),
);

test('text that repeats itself becomes a small part of it', () => {
  const text = Array.from(
    { length: 1_000 },
    (_, i) => `{"name":"web-${String(i)}","cpu":500}`,
  ).join();
  expect(systemPacking.pack(text).length).toBeLessThan(text.length / 5);
});

test('other bytes are refused', () => {
  expect(() => systemPacking.unpack(new Uint8Array([1, 2, 3]))).toThrow();
});
