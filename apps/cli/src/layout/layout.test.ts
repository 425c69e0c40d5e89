import { expect, test } from 'vitest';

import { columns } from './columns.js';

test('on a narrow terminal the last column shortens, and no line is longer than the terminal', () => {
  const text = columns(['POD', 'WHY'], [['default/web', 'no pool has a type with 64 GPUs']], {
    width: 30,
  });
  expect(text).toBe('POD          WHY\ndefault/web  no pool has a ty…\n');
});

test('a terminal narrower than the first columns cuts the line itself', () => {
  const text = columns(['POD', 'WHY'], [['default/a-long-name', 'too large']], { width: 12 });
  for (const line of text.trimEnd().split('\n')) expect(line.length).toBeLessThanOrEqual(12);
});

test('a pipe gets every word', () => {
  expect(columns(['POD', 'WHY'], [['a', 'x'.repeat(500)]])).toContain('x'.repeat(500));
});
