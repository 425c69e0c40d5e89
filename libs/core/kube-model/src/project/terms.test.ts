import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { Malformed } from './raw.js';
import {
  readNodeSelector,
  readRequirementSpecs,
  readSelector,
  readTaints,
  readTolerations,
  saysSomething,
} from './terms.js';
import { podWith } from './testing/objects.js';

describe('a label selector', () => {
  test.each([undefined, null])('that is %j stays absent: it selects nothing', (raw) =>
    expect(readSelector(raw, 'selector')).toBeUndefined(),
  );

  test('lists its labels first, by key, whatever their order', () => {
    const key = fc.constantFrom('a', 'b', 'c', 'd');
    fc.assert(
      fc.property(fc.uniqueArray(key), (keys) => {
        const matchLabels = Object.fromEntries(keys.map((one) => [one, 'v']));
        const expression = { key: 'e', operator: 'Exists' };
        const read = readSelector({ matchLabels, matchExpressions: [expression] }, 'selector');
        expect(read?.requirements.map((one) => one.key)).toEqual([...keys.toSorted(), 'e']);
      }),
    );
  });

  test.each<[string, object, string]>([
    ['an operator of node selectors', { key: 'k', operator: 'Gt' }, 'operator'],
    ['no key', { operator: 'Exists' }, 'key'],
    ['values that are no list', { key: 'k', operator: 'In', values: 'a' }, 'values'],
    ['In without values', { key: 'k', operator: 'In' }, 'values'],
    ['NotIn with an empty list', { key: 'k', operator: 'NotIn', values: [] }, 'values'],
    ['Exists with a value', { key: 'k', operator: 'Exists', values: ['a'] }, 'values'],
  ])('with %s is refused by field', (_name, expression, field) =>
    expect(() => readSelector({ matchExpressions: [expression] }, 'selector')).toThrow(
      `selector.matchExpressions[0].${field}: `,
    ),
  );
});

describe('a node selector', () => {
  test('without terms that say something matches no node', () => {
    expect(readNodeSelector({ nodeSelectorTerms: [{}] }, 'required')).toEqual([]);
    expect(saysSomething({ matchExpressions: [], matchFields: [] })).toBe(false);
  });

  test('keeps the fields that it matches, so that they can be refused by name', () =>
    expect(
      readNodeSelector(
        {
          nodeSelectorTerms: [
            { matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n'] }] },
          ],
        },
        'required',
      ),
    ).toEqual([
      {
        matchExpressions: [],
        matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n'] }],
      },
    ]));

  test.each<[string, object, string]>([
    ["a pool's operator Gte", { key: 'k', operator: 'Gte', values: ['1'] }, 'operator'],
    ["a pool's operator Lte", { key: 'k', operator: 'Lte', values: ['1'] }, 'operator'],
    ['Gt and two values', { key: 'k', operator: 'Gt', values: ['1', '2'] }, 'values'],
    ['Lt without a value', { key: 'k', operator: 'Lt' }, 'values'],
    ['In without a value', { key: 'k', operator: 'In', values: [] }, 'values'],
    ['DoesNotExist and a value', { key: 'k', operator: 'DoesNotExist', values: [''] }, 'values'],
  ])('with %s is refused by field, as the API server does', (_name, expression, field) =>
    expect(() =>
      readNodeSelector({ nodeSelectorTerms: [{ matchExpressions: [expression] }] }, 'required'),
    ).toThrow(`required.nodeSelectorTerms[0].matchExpressions[0].${field}: `),
  );

  test.each([0, -1, 1.5, '2'])('with minValues %j is refused', (minValues) =>
    expect(() =>
      readRequirementSpecs([{ key: 'k', operator: 'Exists', minValues }], 'requirements'),
    ).toThrow('requirements[0].minValues: '),
  );
});

describe('taints and tolerations', () => {
  test.each<[string, object, string]>([
    ['a taint without an effect', { key: 'k' }, 'taints[0].effect'],
    ['a taint of an unknown effect', { key: 'k', effect: 'Evict' }, 'taints[0].effect'],
    ['a taint without a key', { effect: 'NoSchedule' }, 'taints[0].key'],
  ])('%s is refused by field', (_name, taint, field) =>
    expect(() => readTaints([taint], 'taints')).toThrow(`${field}: `),
  );

  test('a taint with an empty value is one without', () =>
    expect(readTaints([{ key: 'k', value: '', effect: 'NoExecute' }], 'taints')).toEqual([
      { key: 'k', effect: 'NoExecute' },
    ]));

  test('a toleration without operator is Equal, and without effect matches all', () =>
    expect(podWith({ tolerations: [{ key: 'k', value: 'v', effect: '' }] }).tolerations).toEqual([
      { key: 'k', operator: 'Equal', value: 'v' },
    ]));

  test.each<[string, unknown, string]>([
    ['null, which the API server reads as one without fields,', null, 'tolerations[0].operator'],
    ['one without a key and with a value', { value: 'v' }, 'tolerations[0].operator'],
    [
      'one that exists with a value',
      { key: 'k', operator: 'Exists', value: 'v' },
      'tolerations[0].value',
    ],
  ])('a toleration that is %s is refused by field', (_name, toleration, field) =>
    expect(() => readTolerations([toleration], 'tolerations')).toThrow(`${field}: `),
  );

  test('a toleration may end after some seconds, which must be a number', () => {
    const read = (tolerationSeconds: unknown): unknown =>
      readTolerations([{ key: 'k', operator: 'Exists', tolerationSeconds }], 'tolerations');
    expect(read(300)).toEqual([{ key: 'k', operator: 'Exists', tolerationSeconds: 300 }]);
    expect(() => read('300')).toThrow(Malformed);
  });
});
