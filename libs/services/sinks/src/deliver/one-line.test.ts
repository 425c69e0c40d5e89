import type { Decision } from '@dovetail/contracts';
import { expect, test } from 'vitest';

import { oneLine } from './one-line.js';

const decision: Decision = {
  id: 'unschedulable/1',
  kind: 'unschedulable',
  atMs: 0,
  source: 'launcher',
  summary: '',
  objects: [],
  reasons: [],
  alternatives: [],
  facts: {},
};

test.each([
  ['a line break', 'claim a\ninterrupt (lab): ended by admin', 'claim a\\u000ainterrupt (lab)'],
  ['an escape sequence', 'claim \u001b[2Ja', 'claim \\u001b[2Ja'],
  ['a megabyte', `claim ${'x'.repeat(1_400_000)}`, 'claim xxx'],
])('a decision with %s is one short line', (_what, summary, shown) => {
  const line = oneLine({ ...decision, summary }, 'lab');
  expect(line).toContain(shown);
  expect(line.length).toBeLessThan(2_000);
  expect(line).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
});
