import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { plainLines, plainText } from './plain-text.js';

describe('text of others', () => {
  test.each([
    ['claim web/data does not exist; create it', 'claim web/data does not exist; create it'],
    ['größer als 4 GiB: 日本', 'größer als 4 GiB: 日本'],
    ['a\nb\r\tc', 'a\\u000ab\\u000d\\u0009c'],
    ['\u001b[2J\u001b]0;title\u0007', '\\u001b[2J\\u001b]0;title\\u0007'],
    [
      '\u009b31m\u0085\u2028\u202eabc\u200b\ufeff',
      '\\u009b31m\\u0085\\u2028\\u202eabc\\u200b\\ufeff',
    ],
    [`claim ${'x'.repeat(300)} is gone`, `claim ${'x'.repeat(255)}… is gone`],
    ['x'.repeat(256), 'x'.repeat(256)],
    ['𝕏'.repeat(300), `${'𝕏'.repeat(255)}…`],
    ['half \ud835', 'half \\ud835'],
  ])('%j is shown as %j', (text, plain) => expect(plainText(text)).toBe(plain));

  test('is one line of bounded length, whatever it holds, and cleaning it again changes nothing', () => {
    const hostile = fc.array(
      fc.constantFrom('\n', '\u001b[', 'a ', 'b'.repeat(300), '\u202e', '𝕏'),
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: 'binary' }),
          hostile.map((parts) => parts.join('')),
        ),
        (text) => {
          const plain = plainText(text);
          expect(plain).toMatch(/^[^\p{Cc}\p{Cs}]*$/u);
          expect(plain.length).toBeLessThanOrEqual(6 * text.length);
          expect(plainText(plain)).toBe(plain);
        },
      ),
    );
  });

  test('of a megabyte is cut', () => expect(plainText('ab '.repeat(500_000)).length).toBe(16_384));
});

test('lines of our own stay lines, and the terminal obeys nothing else in them', () =>
  expect(plainLines('a\tb\n\u001b[2Jc\r\n')).toBe('a\tb\n\\u001b[2Jc\\u000d\n'));
