import { expect, test } from 'vitest';

import { untriedWords, withBinder } from './waiting-words.js';

test.each([
  ['default-scheduler', 'kube-scheduler has not tried it yet', 'waits for a plan'],
  [
    'their-own',
    'scheduler their-own has not said yet that it finds no room; a node is planned for once it does',
    'waits for a plan (left to scheduler their-own, which alone binds it)',
  ],
])('a pod of %s that was not tried: %s, and once it was: %s', (scheduler, untried, waits) => {
  expect(untriedWords(scheduler)).toBe(untried);
  expect(withBinder('waits for a plan', scheduler)).toBe(waits);
});
