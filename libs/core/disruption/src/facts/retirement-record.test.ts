import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { parseRetirement, renderRetirement, type Retirement } from './retirement-record.js';

fc.configureGlobal({ seed: 1 });

test('the plan of a command is read back', () => {
  const bought: Retirement = { cause: 'underutilized', atMs: 1, detail: 'c', planId: 'p' };
  expect(parseRetirement(renderRetirement(bought))).toEqual(bought);
});

describe('a retirement', () => {
  test('is the same after it was written and read', () =>
    fc.assert(
      fc.property(
        fc.record({
          cause: fc.constantFrom('empty' as const, 'expired' as const, 'interrupted' as const),
          atMs: fc.nat(),
        }),
        fc.record(
          {
            deadlineMs: fc.nat(),
            askedMs: fc.nat(),
            unplaced: fc.nat(),
            answeredMs: fc.nat(),
            detail: fc.string(),
            planId: fc.string(),
            disruption: fc.string(),
          },
          { requiredKeys: [] },
        ),
        (must, may) => {
          const retirement = { ...must, ...may };
          expect(parseRetirement(renderRetirement(retirement))).toEqual(retirement);
        },
      ),
    ));

  test.each([
    undefined,
    '',
    'x',
    '{}',
    '{"cause":"bored","atMs":1}',
    '{"cause":"empty"}',
    'null',
    '[]',
  ])('%j is no retirement', (text) => expect(parseRetirement(text)).toBeUndefined());
});
