import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import type { Group } from '../model/groups.js';
import { Ledger } from '../topology/ledger.js';
import type { Role, Roles } from '../topology/roles.js';
import {
  assignDomains,
  crowding,
  type DomainPreference,
  domainRoom,
  evensOut,
  noteDomains,
  type Pin,
} from './domain-room.js';
import type { Engine } from './engine.js';
import type { Item } from './items.js';

fc.configureGlobal({ seed: 1 });

const groupOf = (id: number, kind: Group['kind'], maxSkew = 1): Group => ({
  id,
  kind,
  key: `key-${id}`,
  onHost: false,
  hard: true,
  selector: undefined,
  namespaces: new Set(),
  maxSkew,
  minDomains: 1,
  filter: {},
  text: `group ${id}`,
});
const roleOf = (group: Group): Role => ({ group, carries: true, selected: true });
const zones = ['a', 'b', 'c'] as const;

/** An engine with nothing but a ledger, whose spread is over three zones. */
function engineOf(...groups: readonly Group[]): Engine {
  const ledger = new Ledger(groups);
  for (const group of groups) for (const zone of zones) ledger.of(group).eligible.add(zone);
  return { ledger } as unknown as Engine;
}
const itemsOf = (role: Role): readonly Item[] => {
  const roles: Roles = {
    onHost: [],
    onDomain: [role],
    domainKeys: [role.group.key],
    needsHostMates: false,
  };
  return zones.map((domain, id) => ({ id, roles, pins: [{ role, domain }] }) as unknown as Item);
};
const pinOf = (role: Role, domain = 'a'): Pin => ({ role, domain });

describe('the room in the domains of an item', () => {
  const [loose, tight] = [roleOf(groupOf(0, 'spread', 5)), roleOf(groupOf(1, 'spread', 2))];
  test.each<[string, readonly Pin[], number]>([
    ['is without end without pins', [], Infinity],
    ['is that of its domain', [pinOf(loose)], 5],
    ['is that of the scarcest domain', [pinOf(loose), pinOf(tight)], 2],
  ])('%s', (_what, pins, room) => {
    expect(domainRoom(engineOf(loose.group, tight.group), pins)).toBe(room);
  });

  test('shrinks by the pods noted there, and grows again when they are taken back', () => {
    const engine = engineOf(loose.group, tight.group);
    const pins = [pinOf(loose), pinOf(tight)];
    noteDomains(engine, pins, 2);
    expect([domainRoom(engine, pins), crowding(engine, pins)]).toEqual([0, 4]);
    noteDomains(engine, pins, -2);
    expect([domainRoom(engine, pins), crowding(engine, pins)]).toEqual([2, 0]);
  });

  test('is not crowded by groups other than spreads', () => {
    const affinity = roleOf(groupOf(0, 'affinity'));
    const engine = engineOf(affinity.group);
    noteDomains(engine, [pinOf(affinity)], 3);
    expect(crowding(engine, [pinOf(affinity)])).toBe(0);
  });
});

describe('pods assigned to domains', () => {
  const assigned = (
    kind: Group['kind'],
    count: number,
    before: readonly number[] = [],
    preference: DomainPreference = 'emptiest',
  ) => {
    const role = roleOf(groupOf(0, kind));
    const engine = engineOf(role.group);
    before.forEach((pods, index) => noteDomains(engine, [pinOf(role, zones[index])], pods));
    const found = assignDomains(engine, itemsOf(role), { count, preference });
    return itemsOf(role).map(({ id }) => [...found].find(([item]) => item.id === id)?.[1] ?? 0);
  };
  test.each<[string, Group['kind'], number, readonly number[], readonly number[]]>([
    ['are level for a spread', 'spread', 7, [], [3, 2, 2]],
    ['go where the fewest are', 'spread', 3, [2, 1, 0], [0, 1, 2]],
    ['stay together for affinity', 'affinity', 7, [], [7, 0, 0]],
    ['go where their mates are', 'affinity', 7, [0, 1, 0], [0, 7, 0]],
    ['go one to each domain for anti-affinity', 'anti', 7, [], [1, 1, 1]],
    ['are none, if none is asked for', 'spread', 0, [], [0, 0, 0]],
  ])('%s', (_what, kind, count, before, expected) => {
    expect(assigned(kind, count, before)).toEqual(expected);
  });

  test.each<[DomainPreference, readonly number[]]>([
    ['emptiest', [2, 1, 1]],
    ['cheapest', [3, 1, 0]],
  ])('are given the %s domain of a spread with a skew of 3 first', (preference, expected) => {
    const role = roleOf(groupOf(0, 'spread', 3));
    const engine = engineOf(role.group);
    const found = assignDomains(engine, itemsOf(role), { count: 4, preference });
    expect(
      itemsOf(role).map(({ id }) => [...found].find(([item]) => item.id === id)?.[1] ?? 0),
    ).toEqual(expected);
  });

  test('are none without candidates', () => {
    expect(assignDomains(engineOf(), [], { count: 3, preference: 'emptiest' }).size).toBe(0);
  });

  test('are all assigned, and level to one pod, over empty domains', () =>
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 60 }), (count) => {
        const counts = assigned('spread', count);
        expect(counts.reduce((sum, one) => sum + one, 0)).toBe(count);
        expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
      }),
    ));

  test.each<[Group['kind'], boolean]>([
    ['spread', true],
    ['anti', false],
    ['affinity', false],
  ])('one at a time for %s: %s', (kind, single) => {
    const [item] = itemsOf(roleOf(groupOf(0, kind)));
    expect(item && evensOut(item.roles)).toBe(single);
  });
});
