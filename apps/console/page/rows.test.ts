import type { FleetNode } from '@dovetail/core-fleet';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { nodeOrders, rowWindow, type TableChoice, tableRows } from './rows.js';

const nodeOf = (name: string, over: Partial<FleetNode> = {}): FleetNode => ({
  uid: name,
  node: name,
  claim: name,
  pool: 'NodePool/default',
  instanceType: 'c5.large',
  capacityType: 'spot',
  zone: 'us-east-1a',
  state: 'ready',
  cpu: { requested: 1_000, allocatable: 2_000 },
  memory: { requested: 0, allocatable: 1_000 },
  pods: 1,
  podsMax: 29,
  priceMicrosPerHour: 50_000,
  priceEstimated: false,
  createdMs: 0,
  next: { what: 'stays' },
  ...over,
});

const all: TableChoice = { filter: '', order: 'name', closed: new Set() };
const namesOf = (nodes: readonly FleetNode[], choice: Partial<TableChoice> = {}) =>
  tableRows(nodes, { ...all, ...choice }).map((row) =>
    row.kind === 'group' ? `${row.pool} ${row.zone}` : row.node.node,
  );

describe('the rows of the table', () => {
  const nodes = [
    nodeOf('b', { zone: 'us-east-1b', state: 'ending', cause: 'drifted' }),
    nodeOf('c', { createdMs: 5, cpu: { requested: 1_900, allocatable: 2_000 } }),
    nodeOf('a', { createdMs: 9, priceMicrosPerHour: 90_000, next: { what: 'expires', atMs: 5 } }),
    nodeOf('g', { pool: 'NodePool/gpu', instanceType: 'p3.2xlarge', capacityType: 'on-demand' }),
  ];
  const [first, second, third] = [
    'NodePool/default us-east-1a',
    'NodePool/default us-east-1b',
    'NodePool/gpu us-east-1a',
  ] as const;

  test('stand in groups of a pool and a zone', () =>
    expect(namesOf(nodes)).toEqual([first, 'a', 'c', second, 'b', third, 'g']));

  test.each<[Partial<TableChoice>, readonly string[]]>([
    [{ filter: 'p3' }, [third, 'g']],
    [{ filter: 'DRIFTED' }, [second, 'b']],
    [{ filter: 'spot us-east-1a' }, [first, 'a', 'c']],
    [{ filter: 'nothing' }, []],
    [{ filter: '   ' }, [first, 'a', 'c', second, 'b', third, 'g']],
    [{ closed: new Set([first]) }, [first, second, 'b', third, 'g']],
    [{ order: 'fullest', filter: 'default 1a' }, [first, 'c', 'a']],
    [{ order: 'emptiest', filter: 'default 1a' }, [first, 'a', 'c']],
    [{ order: 'dearest', filter: 'default 1a' }, [first, 'a', 'c']],
    [{ order: 'oldest', filter: 'default 1a' }, [first, 'c', 'a']],
    [{ order: 'next', filter: 'default 1a' }, [first, 'a', 'c']],
  ])('%j shows %j', (choice, wanted) => expect(namesOf(nodes, choice)).toEqual(wanted));

  test('of a group sum up its nodes, those that are hidden too', () =>
    expect(tableRows(nodes, { ...all, closed: new Set([first]) })[0]).toMatchObject({
      nodes: 2,
      cpu: { requested: 2_900, allocatable: 4_000 },
      priceMicrosPerHour: 140_000,
      isOpen: false,
    }));

  test.each(nodeOrders)('are the same in the order %s, however the nodes came', (order) =>
    expect(namesOf(nodes.toReversed(), { order })).toEqual(namesOf(nodes, { order })),
  );
});

describe('the rows that are drawn', () => {
  test('of 5,000 are no more than fit on the screen and a few', () => {
    const { first, end } = rowWindow({
      count: 5_000,
      rowHeight: 34,
      scrollTop: 85_000,
      height: 544,
    });
    expect([first, end]).toEqual([2_494, 2_522]);
  });

  test('are within the table and cover what is in sight', () =>
    fc.assert(
      fc.property(fc.nat(6_000), fc.nat(300_000), fc.nat(2_000), (count, scrollTop, height) => {
        const { first, end } = rowWindow({ count, rowHeight: 34, scrollTop, height });
        expect(first).toBeGreaterThanOrEqual(0);
        expect(end).toBeLessThanOrEqual(count);
        expect(first).toBeLessThanOrEqual(end);
        expect(end - first).toBeLessThanOrEqual(Math.ceil(height / 34) + 12);
        const lastTop = Math.min(scrollTop, Math.max(0, count * 34 - height));
        expect(first * 34).toBeLessThanOrEqual(lastTop + 34);
        expect(end * 34).toBeGreaterThanOrEqual(Math.min(count * 34, lastTop + height) - 34);
      }),
    ));
});
