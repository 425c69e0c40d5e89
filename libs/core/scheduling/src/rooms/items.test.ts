import { describe, expect, test } from 'vitest';

import type { PodClass } from '../model/classes.js';
import type { Shape } from '../model/shapes.js';
import { type Item, ItemTable } from './items.js';

const itemOf = (cls: number, level: number, shape: number): Omit<Item, 'id'> => ({
  cls: { index: cls } as unknown as PodClass,
  level,
  shape: { id: shape } as unknown as Shape,
  roles: { onHost: [], onDomain: [], domainKeys: [], needsHostMates: false },
  pins: [],
});

describe('items', () => {
  test('are one for the same class, level and shape', () => {
    const table = new ItemTable();
    const first = table.intern(itemOf(0, 0, 0));
    expect(table.intern(itemOf(0, 0, 0))).toBe(first);
    expect(table.items).toEqual([first]);
  });

  test.each<[string, Omit<Item, 'id'>]>([
    ['class', itemOf(1, 0, 0)],
    ['level', itemOf(0, 1, 0)],
    ['shape', itemOf(0, 0, 1)],
  ])('differ by %s, and are numbered as they come', (_what, other) => {
    const table = new ItemTable();
    table.intern(itemOf(0, 0, 0));
    expect(table.intern(other)).toEqual({ id: 1, ...other });
    expect(table.items.map(({ id }) => id)).toEqual([0, 1]);
  });
});
