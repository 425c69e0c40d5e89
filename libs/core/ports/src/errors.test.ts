import { expect, test } from '@jest/globals';

import { BusError } from './bus.js';
import { messageOf } from './errors.js';

test.each<[unknown, string]>([
  [new Error('boom'), 'boom'],
  [new BusError('timeout', 'no answer'), 'no answer'],
  [new Error(''), ''],
  ['boom', 'boom'],
  [undefined, 'undefined'],
  [null, 'null'],
  [7, '7'],
])('the message of %p is %j', (thrown, message) => expect(messageOf(thrown)).toBe(message));
