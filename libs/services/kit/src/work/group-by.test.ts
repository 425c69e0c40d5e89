import { expect, test } from 'vitest';

import { groupBy } from './group-by.js';

test('groups keep the order in which keys and items came', () => {
  const groups = groupBy(['b1', 'a1', 'b2'], (item) => item.charAt(0));
  expect([...groups]).toEqual([
    ['b', ['b1', 'b2']],
    ['a', ['a1']],
  ]);
});
