import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import type { LabelSelectorRequirement } from './pod.js';
import { selectorMatches } from './selector.js';
import { inheritedKeys } from './testing/inherited-keys.js';

fc.configureGlobal({ seed: 1 });

describe('a label selector', () => {
  test.each([
    ['In', ['a'], { k: 'a' }, true],
    ['In', ['a'], {}, false],
    ['NotIn', ['a'], {}, true],
    ['NotIn', ['a'], { k: 'a' }, false],
    ['Exists', [], { k: 'x' }, true],
    ['DoesNotExist', [], {}, true],
    ['DoesNotExist', [], { k: '' }, false],
  ] as const)('%s %j on %j: %s', (operator, wanted, labels, does) =>
    expect(
      selectorMatches({ requirements: [{ key: 'k', operator, values: wanted }] }, labels),
    ).toBe(does),
  );
  test('absent selects nothing, empty everything', () =>
    expect([selectorMatches(undefined, {}), selectorMatches({ requirements: [] }, {})]).toEqual([
      false,
      true,
    ]));
});

describe('the laws of a selector', () => {
  const values = fc.subarray(['a', 'b', '']);
  const labels = fc.dictionary(
    fc.constantFrom('k', ...inheritedKeys),
    fc.constantFrom('a', 'b', ''),
  );
  const one = (
    key: string,
    operator: LabelSelectorRequirement['operator'],
    wanted: readonly string[],
  ): { requirements: readonly LabelSelectorRequirement[] } => ({
    requirements: [{ key, operator, values: wanted }],
  });

  test('NotIn selects exactly what In does not', () =>
    fc.assert(
      fc.property(values, labels, (wanted, held) => {
        expect(selectorMatches(one('k', 'NotIn', wanted), held)).toBe(
          !selectorMatches(one('k', 'In', wanted), held),
        );
      }),
    ));

  test('DoesNotExist selects exactly what Exists does not, also for names that objects inherit', () =>
    fc.assert(
      fc.property(fc.constantFrom('k', 'toString'), labels, (key, held) => {
        expect(selectorMatches(one(key, 'DoesNotExist', []), held)).toBe(!Object.hasOwn(held, key));
      }),
    ));
});
