import { expect, test } from 'vitest';

import { BusError } from './bus.js';
import { messageOf, stackOf } from './errors.js';

test.each<[unknown, string]>([
  [new Error('boom'), 'boom'],
  [new BusError('timeout', 'no answer'), 'no answer'],
  [new Error(''), ''],
  ['boom', 'boom'],
  [undefined, 'undefined'],
  [null, 'null'],
  [7, '7'],
  [{ message: 'of another realm' }, 'of another realm'],
])('the message of %p is %j', (thrown, message) => expect(messageOf(thrown)).toBe(message));

test.each<[string, unknown, RegExp]>([
  ['of an error is where it was made', new Error('boom'), /^Error: boom\n\s+at /],
  [
    'of an error without one is its message',
    Object.assign(new Error('boom'), { stack: undefined }),
    /^boom$/,
  ],
  ['of a text is the text', 'boom', /^boom$/],
])('the stack %s', (_what, thrown, stack) => expect(stackOf(thrown)).toMatch(stack));
