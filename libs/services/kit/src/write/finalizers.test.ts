import { describe, expect, test } from 'vitest';

import { withFinalizer, withoutFinalizer } from './finalizers.js';

const on = (...finalizers: string[]) => ({ metadata: { finalizers } });

describe('a finalizer', () => {
  test.each([
    ['put on an object without any', withFinalizer({}, 'f'), on('f')],
    ['put on beside others', withFinalizer({ finalizers: ['g'] }, 'f'), on('g', 'f')],
    ['on already', withFinalizer({ finalizers: ['f', 'g'] }, 'f'), undefined],
    ['taken off', withoutFinalizer({ finalizers: ['f', 'g'] }, 'f'), on('g')],
    ['taken off as the last one', withoutFinalizer({ finalizers: ['f'] }, 'f'), on()],
    ['not on', withoutFinalizer({ finalizers: ['g'] }, 'f'), undefined],
    ['not on an object without any', withoutFinalizer({}, 'f'), undefined],
  ])('%s', (_what, change, expected) => {
    expect(change).toEqual(expected);
  });
});
