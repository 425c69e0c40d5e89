import { requirementsFromLabels, type Taint } from '@dovetail/core-kube-model';
import { describe, expect, test } from 'vitest';

import { type Shape, ShapeTable, taintAgainst } from './shapes.js';

const made = (over: Partial<Omit<Shape, 'id'>> = {}): Omit<Shape, 'id'> => ({
  requirements: new Map(),
  tolerations: [],
  toleratesPreferred: true,
  ...over,
});
const inZone = (zone: string) => ({
  text: `zone=${zone}`,
  requirements: requirementsFromLabels({ zone }),
});

describe('shapes', () => {
  test('are one for the same text, and made only once', () => {
    const table = new ShapeTable();
    const first = table.intern('a', () => made());
    const again = table.intern('a', () => {
      throw new Error('made twice');
    });
    expect(again).toBe(first);
    expect(table.intern('b', () => made())).not.toBe(first);
    expect(table.shapes.map(({ id }) => id)).toEqual([0, 1]);
  });

  test('are found by their id; an id of another plan is an error', () => {
    const table = new ShapeTable();
    const shape = table.intern('a', () => made());
    expect(table.at(shape.id)).toBe(shape);
    expect(() => table.at(1)).toThrow('shape 1 is unknown to this plan');
  });

  test('narrowed by nothing are the same shape', () => {
    const table = new ShapeTable();
    const shape = table.intern('a', () => made());
    expect(table.narrowed(shape, { text: '', requirements: new Map() })).toBe(shape);
  });

  test('narrowed by a label demand it as well, and tolerate what they did', () => {
    const table = new ShapeTable();
    const shape = table.intern('a', () =>
      made({
        requirements: requirementsFromLabels({ disk: 'ssd' }),
        tolerations: [{ operator: 'Exists' }],
        toleratesPreferred: false,
      }),
    );
    const narrowed = table.narrowed(shape, inZone('a'));
    expect(narrowed).toEqual({
      id: 1,
      requirements: requirementsFromLabels({ disk: 'ssd', zone: 'a' }),
      tolerations: [{ operator: 'Exists' }],
      toleratesPreferred: false,
    });
    expect(table.narrowed(shape, inZone('a'))).toBe(narrowed);
    expect(table.narrowed(shape, inZone('b'))).not.toBe(narrowed);
  });

  test('narrowed by the same label stay apart if they were apart', () => {
    const table = new ShapeTable();
    const [a, b] = ['a', 'b'].map((text) => table.intern(text, () => made())) as [Shape, Shape];
    expect(table.narrowed(a, inZone('a'))).not.toBe(table.narrowed(b, inZone('a')));
  });
});

describe('the taint that keeps a shape away', () => {
  const hard: Taint = { key: 'gpu', effect: 'NoSchedule' };
  const soft: Taint = { key: 'old', effect: 'PreferNoSchedule' };
  const shapeOf = (toleratesPreferred: boolean, ...keys: readonly string[]): Shape => ({
    id: 0,
    ...made({ toleratesPreferred, tolerations: keys.map((key) => ({ key, operator: 'Exists' })) }),
  });
  test.each<[string, Shape, readonly Taint[], Taint | undefined]>([
    ['none, without taints', shapeOf(false), [], undefined],
    ['one that is not tolerated', shapeOf(true), [hard], hard],
    ['none, if it is tolerated', shapeOf(true, 'gpu'), [hard], undefined],
    ['a preference, while that is insisted on', shapeOf(false), [soft], soft],
    ['no preference once it is relaxed', shapeOf(true), [soft], undefined],
    ['no preference that is tolerated by name', shapeOf(false, 'old'), [soft], undefined],
    ['the first of two', shapeOf(false), [soft, hard], soft],
  ])('is %s', (_what, shape, taints, expected) => {
    expect(taintAgainst(shape, taints)).toEqual(expected);
  });
});
