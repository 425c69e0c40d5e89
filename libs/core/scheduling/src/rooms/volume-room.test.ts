import { expect, test } from 'vitest';

import type { Bin } from './bin.js';
import type { Item } from './items.js';
import { volumeRoomOn } from './volume-room.js';

/** An item whose pods attach these volumes; an empty name is a volume of each pod's own. */
const itemWith = (...names: readonly string[]): Item =>
  ({
    cls: {
      attachments: names.map((name) => ({ driver: 'ebs', ...(name === '' ? {} : { id: name }) })),
    },
  }) as unknown as Item;

type Content = readonly (readonly [Item, number])[];
const nodeWith = (limit: number, attached: readonly string[], contents: Content = []): Bin =>
  ({
    room: { volumeRoom: new Map([['ebs', { limit, attached: new Set(attached) }]]) },
    contents: new Map(contents),
  }) as unknown as Bin;

test.each<[string, Bin, Item, number]>([
  ['is endless for pods without volumes', nodeWith(2, []), itemWith(), Infinity],
  ['is none where the limit is reached', nodeWith(1, ['a']), itemWith('b'), 0],
  ['is none where the limit is passed already', nodeWith(1, ['a', 'b']), itemWith(''), 0],
  ['is endless for a volume that is attached there', nodeWith(1, ['a']), itemWith('a'), Infinity],
  ['is endless for a shared volume that still fits', nodeWith(1, []), itemWith('a'), Infinity],
  ['counts each pod with a volume of its own', nodeWith(5, ['a']), itemWith('', ''), 2],
  ['counts what the plan placed there', nodeWith(5, [], [[itemWith(''), 3]]), itemWith(''), 2],
])('the room for volumes on a node %s', (_sentence, bin, item, room) =>
  expect(volumeRoomOn(bin, item)).toBe(room),
);

test('a new node has no limit yet', () =>
  expect(volumeRoomOn({ contents: new Map() } as unknown as Bin, itemWith(''))).toBe(Infinity));
