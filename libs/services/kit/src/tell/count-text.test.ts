import { expect, test } from 'vitest';

import { countText } from './count-text.js';

test.each([
  [0, 'pod', '0 pods'],
  [1, 'pod', '1 pod'],
  [3, 'new node', '3 new nodes'],
])('%j of %j is written %j', (count, noun, text) => expect(countText(count, noun)).toBe(text));
