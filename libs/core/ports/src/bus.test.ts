import { describe, expect, test } from 'vitest';

import { BusError } from './bus.js';

const cause = new Error('socket hang up');

describe('an error of the bus', () => {
  test('keeps its code, message and cause', () =>
    expect(new BusError('timeout', 'no answer', { cause })).toMatchObject({
      name: 'BusError',
      code: 'timeout',
      message: 'no answer',
      cause,
    }));

  test('without a cause has none', () =>
    expect(new BusError('denied', 'no rights').cause).toBeUndefined());
});
