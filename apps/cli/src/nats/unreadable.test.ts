import { expect, test } from 'vitest';

import { Unreadable } from './unreadable.js';

const message = (sequence: number) => ({
  kind: 'malformed' as const,
  subject: 's',
  sequence,
  field: 'kind',
  reason: 'unknown value 99',
});

test.each([
  [[], ''],
  [[7], 'decision 7 cannot be read: kind: unknown value 99 (made by a newer version?)\n'],
  [
    [7, 8, 9],
    'decision 7 cannot be read: kind: unknown value 99 (made by a newer version?), nor can 2 more\n',
  ],
])('of the decisions %j, which cannot be read, people read: %s', (sequences, line) => {
  const unreadable = new Unreadable();
  for (const sequence of sequences) unreadable.take(message(sequence));
  expect(unreadable.line()).toBe(line);
});
