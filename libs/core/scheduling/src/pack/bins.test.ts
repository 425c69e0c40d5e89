import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { podsOf } from '../testing/objects.js';
import { asking, binWith, packingOf, rules, typesBy } from '../testing/packing.js';
import {
  afterKind,
  ClosedNodes,
  copyOf,
  emptyBin,
  flexibleRoom,
  joinedBin,
  putKind,
  ruleRoom,
  settle,
  totalPrice,
} from './bins.js';
import type { PackBin } from './packing.js';

const packing = packingOf(
  [
    ...podsOf('small', 50, asking(1, 2)),
    ...podsOf('large', 20, asking(3, 4)),
    ...podsOf('apart', 9, { ...asking(1, 1), ...rules.apart('apart') }),
    ...podsOf('spread', 9, { ...asking(1, 3), ...rules.spread('spread') }),
    ...podsOf('port', 9, { ...asking(2, 1), ...rules.port() }),
    ...podsOf('zonal', 9, { ...asking(2, 2), ...rules.zone() }),
    ...podsOf('elsewhere', 9, {
      ...asking(2, 3),
      nodeSelector: { 'topology.kubernetes.io/zone': 'zone-a' },
    }),
  ],
  { types: typesBy([2, 4, 10], [4, 16, 25], [8, 32, 50]) },
);
const { context, kind } = packing;
const names = ['small', 'large', 'apart', 'spread', 'port', 'zonal'] as const;

/**
 * The parts of a bin that return when joined pods leave again. Its state may stay narrower.
 */
const contentsOf = ({ used, contents, pods, ports, hosts }: PackBin): object => ({
  used: [...used],
  contents: [...contents].sort(([a], [b]) => a - b),
  pods,
  ports,
  hosts: [...(hosts ?? [])]
    .filter(([, { selected, carriers }]) => selected + carriers > 0)
    .map(([group, tally]) => [group, { ...tally }]),
});

describe('two nodes joined', () => {
  const joined = (...[into, small]: readonly Readonly<Record<string, number>>[]) => {
    const bin = joinedBin(context, binWith(packing, into ?? {}), binWith(packing, small ?? {}, 1));
    return bin === undefined ? undefined : [bin.pods, bin.price];
  };
  test.each<[string, Record<string, number>, Record<string, number>, number[] | undefined]>([
    ['cost what a type for both costs', { small: 2 }, { small: 3 }, [5, 50]],
    ['may cost more than both did', { small: 2 }, { small: 1 }, [3, 25]],
    ['do not exist without a type for both', { large: 2 }, { large: 1 }, undefined],
    ['do not exist where pods keep apart', { apart: 1 }, { apart: 1 }, undefined],
  ])('%s', (_, into, small, expected) => expect(joined(into, small)).toEqual(expected));
});

describe('room in a node', () => {
  test.each<[string, Readonly<Record<string, number>>, string, number]>([
    ['beside nothing is that of the largest type', { small: 0 }, 'small', 8],
    ['is what the scarcest resource leaves', { small: 2 }, 'large', 2],
    ['of a full node is none', { small: 8 }, 'small', 0],
    ['is for one of pods that keep apart', { small: 1 }, 'apart', 1],
    ['is for none beside another that keeps apart', { apart: 1 }, 'apart', 0],
    ['is for maxSkew pods of a spread that has none elsewhere', { small: 1 }, 'spread', 1],
    ['is for none beyond maxSkew', { spread: 1 }, 'spread', 0],
    ['is for one pod with a host port', { small: 1 }, 'port', 1],
    ['is for none whose host port is taken', { port: 1 }, 'port', 0],
    ['beside a host port is there for other pods', { port: 1 }, 'small', 6],
    ['in the zone of its pods is there for more of them', { zonal: 1 }, 'zonal', 3],
    ['in one zone is not for pods of another', { zonal: 1 }, 'elsewhere', 0],
    ['open to every zone is for pods of any', { small: 1 }, 'elsewhere', 3],
  ])('%s', (_sentence, contents, prefix, room) => {
    const bin = binWith(packing, contents);
    expect(flexibleRoom(context, bin, kind(prefix))).toBe(room);
    expect(new ClosedNodes().takes(context, bin, kind(prefix))).toBe(room > 0);
    expect(new ClosedNodes().room(context, bin, kind(prefix))).toBe(room);
  });

  test('by rules alone is unlimited for pods that follow none, however full the node', () => {
    expect(ruleRoom(context, binWith(packing, { small: 8 }), kind('large'))).toBe(Infinity);
  });

  test('grows with what every other node is sure to hold of a spread', () => {
    const floors = context.hostFloors.map(() => 2);
    const bin = binWith(packing, { spread: 1 });
    expect(ruleRoom({ ...context, hostFloors: floors }, bin, kind('spread'))).toBe(2);
  });
});

describe('the state after a pod joins', () => {
  test('stays as it is when the pod asks for nothing of the node', () => {
    const { state } = binWith(packing, { small: 1 });
    expect(afterKind(context, state, kind('large'))).toBe(state);
  });

  test('keeps the offers of the zone that a pod asks for', () => {
    const after = afterKind(context, binWith(packing, { small: 1 }).state, kind('zonal'));
    expect(new Set(after?.offers.map(({ offering }) => offering.zone))).toEqual(
      new Set(['zone-b']),
    );
  });

  test('is none where zones disagree, also when asked again', () => {
    const { state } = binWith(packing, { zonal: 1 });
    for (let again = 0; again < 2; again += 1)
      expect(afterKind(context, state, kind('elsewhere'))).toBeUndefined();
  });
});

describe('the price of a node', () => {
  test.each<[string, Readonly<Record<string, number>>, number]>([
    ['is that of the smallest type that holds it', { small: 2 }, 10],
    ['is that of the next type, one pod later', { small: 3 }, 25],
    ['is that of the largest type when it is full', { small: 8 }, 50],
    ['is infinite when no type holds it', { small: 9 }, Infinity],
  ])('%s', (_sentence, contents, price) => {
    const bin = binWith(packing, contents);
    expect(settle(bin)).toBe(Number.isFinite(price));
    expect(bin.price).toBe(price);
  });

  test('is summed over nodes, and nothing for none', () => {
    expect(totalPrice([binWith(packing, { small: 2 }), binWith(packing, { small: 3 })])).toBe(35);
    expect(totalPrice([])).toBe(0);
  });
});

describe('closed nodes', () => {
  test('close for all kinds under the same rule, and for that node only', () => {
    const closed = new ClosedNodes();
    closed.close(kind('apart'), emptyBin(context, 300, binWith(packing, { small: 1 }).state));
    const { state } = binWith(packing, { small: 1 });
    expect(closed.has(kind('apart'), emptyBin(context, 300, state))).toBe(true);
    expect(closed.has(kind('apart'), emptyBin(context, 299, state))).toBe(false);
    expect(closed.has(kind('port'), emptyBin(context, 300, state))).toBe(false);
  });

  test('stay closed when later nodes close', () => {
    const closed = new ClosedNodes();
    const { state } = binWith(packing, { small: 1 });
    for (const id of [3, 255, 256, 5_000])
      closed.close(kind('apart'), emptyBin(context, id, state));
    expect(
      [3, 4, 255, 256, 257, 5_000].map((id) =>
        closed.has(kind('apart'), emptyBin(context, id, state)),
      ),
    ).toEqual([true, false, true, true, false, true]);
  });

  test('close when rules leave no room, and not when only resources do', () => {
    const closed = new ClosedNodes();
    const ruled = binWith(packing, { apart: 1 }, 1);
    const full = binWith(packing, { small: 8 }, 2);
    expect([
      closed.room(context, ruled, kind('apart')),
      closed.room(context, full, kind('apart')),
    ]).toEqual([0, 0]);
    expect([closed.has(kind('apart'), ruled), closed.has(kind('apart'), full)]).toEqual([
      true,
      false,
    ]);
  });
});

const moves = fc.array(fc.constantFrom(...names), { maxLength: 12 });

describe('in any node', () => {
  test('pods that join and leave again leave it as it was', () => {
    fc.assert(
      fc.property(moves, fc.constantFrom(...names), (before, name) => {
        const bin = binWith(packing, { small: 0 });
        for (const one of before)
          if (flexibleRoom(context, bin, kind(one)) > 0) putKind(context, bin, kind(one), 1);
        fc.pre(flexibleRoom(context, bin, kind(name)) > 0);
        const was = contentsOf(bin);
        putKind(context, bin, kind(name), 1);
        expect(contentsOf(bin)).not.toEqual(was);
        putKind(context, bin, kind(name), -1);
        expect(contentsOf(bin)).toEqual(was);
      }),
      { seed: 1 },
    );
  });

  test('there is room for one more exactly if the node with it can be bought and no rule is broken', () => {
    fc.assert(
      fc.property(moves, fc.constantFrom(...names), (before, name) => {
        const bin = binWith(packing, { small: 0 });
        for (const one of before)
          if (flexibleRoom(context, bin, kind(one)) > 0) putKind(context, bin, kind(one), 1);
        const more = copyOf(bin);
        putKind(context, more, kind(name), 1);
        const allowed = ruleRoom(context, bin, kind(name)) > 0;
        expect(flexibleRoom(context, bin, kind(name)) > 0).toBe(allowed && settle(more));
      }),
      { seed: 2 },
    );
  });

  test('what is done to a copy does not show in it', () => {
    fc.assert(
      fc.property(moves, (joining) => {
        const bin = binWith(packing, { apart: 1, small: 1 });
        const was = structuredClone(contentsOf(bin));
        const copy = copyOf(bin);
        for (const one of joining) putKind(context, copy, kind(one), 1);
        expect(contentsOf(bin)).toEqual(was);
      }),
      { seed: 3 },
    );
  });
});
