import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import type { Group } from '../model/groups.js';
import { Ledger, roomIn, type Tally } from './ledger.js';
import type { Role } from './roles.js';

fc.configureGlobal({ seed: 1 });

const groupOf = (over: Partial<Group> = {}): Group => ({
  id: 0,
  kind: 'spread',
  key: 'zone',
  onHost: false,
  hard: true,
  selector: undefined,
  namespaces: new Set(),
  maxSkew: 1,
  minDomains: 1,
  filter: {},
  text: 'group',
  ...over,
});
const spread = groupOf();
const soft = groupOf({ hard: false });
const anti = groupOf({ kind: 'anti' });
const softAnti = groupOf({ kind: 'anti', hard: false });
const affinity = groupOf({ kind: 'affinity' });

const both = { carries: true, selected: true };
const carrier = { carries: true, selected: false };
const counted = { carries: false, selected: true };
const tally = (selected: number, carriers = 0): Tally => ({ selected, carriers, sure: selected });

describe('the room that a domain has', () => {
  test.each<[string, Role, Tally | undefined, number, number, number]>([
    // A spread, over a least count.
    ['a spread: up to the skew in an empty domain', { group: spread, ...both }, undefined, 0, 0, 1],
    ['a spread: up to the skew above the least', { group: spread, ...both }, tally(2), 3, 9, 2],
    ['a spread: none above the skew', { group: spread, ...both }, tally(4, 4), 2, 9, 0],
    [
      'a spread: without end for carriers that it does not count',
      { group: spread, ...carrier },
      tally(1),
      0,
      1,
      Infinity,
    ],
    [
      'a spread: not even for those above the skew',
      { group: spread, ...carrier },
      tally(2),
      0,
      2,
      0,
    ],
    [
      'a spread: without end for counted pods where no carrier is',
      { group: spread, ...counted },
      tally(9),
      0,
      9,
      Infinity,
    ],
    [
      'a spread: up to the skew where carriers are',
      { group: spread, ...counted },
      tally(1, 1),
      1,
      1,
      1,
    ],
    [
      'a preferred spread: without end for counted pods',
      { group: soft, ...counted },
      tally(9, 9),
      0,
      9,
      Infinity,
    ],
    // Anti-affinity.
    ['anti-affinity: one that excludes its own kind', { group: anti, ...both }, undefined, 0, 0, 1],
    ['anti-affinity: none beside a selected pod', { group: anti, ...carrier }, tally(1), 0, 1, 0],
    [
      'anti-affinity: none for those beside a carrier',
      { group: anti, ...counted },
      tally(0, 1),
      0,
      0,
      0,
    ],
    [
      'anti-affinity: carriers beside carriers that it does not select',
      { group: anti, ...carrier },
      tally(0, 3),
      0,
      0,
      Infinity,
    ],
    [
      'anti-affinity: selected pods beside each other',
      { group: anti, ...counted },
      tally(3),
      0,
      3,
      Infinity,
    ],
    [
      'preferred anti-affinity: selected pods beside a carrier',
      { group: softAnti, ...counted },
      tally(0, 1),
      0,
      0,
      Infinity,
    ],
    // Affinity.
    ['affinity: beside a selected pod', { group: affinity, ...carrier }, tally(1), 0, 1, Infinity],
    [
      'affinity: the first of a group that selects itself',
      { group: affinity, ...both },
      undefined,
      0,
      0,
      Infinity,
    ],
    ['affinity: not once the group is elsewhere', { group: affinity, ...both }, undefined, 0, 1, 0],
    [
      'affinity: never the first, if it does not select itself',
      { group: affinity, ...carrier },
      undefined,
      0,
      0,
      0,
    ],
    [
      'affinity: anywhere for pods without the rule',
      { group: affinity, ...counted },
      undefined,
      0,
      0,
      Infinity,
    ],
  ])('for %s', (_what, role, standing, least, total, room) => {
    expect(roomIn(role, standing, least, total)).toBe(room);
  });

  test('is without end for counted pods where the ledger is lenient, and the same for carriers', () => {
    expect(roomIn({ group: spread, ...counted }, tally(9, 9), 0, 9, true)).toBe(Infinity);
    expect(roomIn({ group: spread, ...both }, tally(9, 9), 0, 9, true)).toBe(0);
  });
});

describe('a ledger', () => {
  const groups = [spread, groupOf({ id: 1, kind: 'anti' })];
  const role: Role = { group: spread, ...both };

  test('takes the least count over eligible domains only', () => {
    const ledger = new Ledger(groups);
    const tallies = ledger.of(spread);
    for (const domain of ['a', 'b']) tallies.eligible.add(domain);
    ledger.note(role, 'a', 3, true);
    ledger.note(role, 'b', 2, true);
    expect(tallies.least(spread)).toBe(2);
    expect(ledger.roomInDomain(role, 'a')).toBe(0);
    expect(ledger.roomInDomain(role, 'b')).toBe(1);
    tallies.eligible.add('c');
    expect(tallies.least(spread)).toBe(0);
  });

  test('takes zero as the least while too few domains are eligible, or none is', () => {
    const filled = new Ledger(groups);
    const least = (group: Group): number => filled.of(spread).least(group);
    expect(least(spread)).toBe(0);
    filled.of(spread).eligible.add('a');
    filled.note(role, 'a', 5, true);
    expect(least(spread)).toBe(5);
    expect(least(groupOf({ minDomains: 2 }))).toBe(0);
  });

  test('counts pods that may not be counted in the end as selected, not as sure', () => {
    const ledger = new Ledger(groups);
    ledger.of(spread).eligible.add('a');
    ledger.note(role, 'a', 2, false);
    expect(ledger.of(spread).tallies.get('a')).toEqual({ selected: 2, carriers: 2, sure: 0 });
    expect(ledger.of(spread).least(spread)).toBe(0);
  });

  test('counts hosts by group, and the total over all hosts', () => {
    const mates: Role = { group: groupOf({ kind: 'affinity', onHost: true }), ...both };
    const ledger = new Ledger(groups);
    const [one, other] = [new Map<number, Tally>(), new Map<number, Tally>()];
    expect(ledger.roomOnHost(mates, other)).toBe(Infinity);
    ledger.noteOnHost(mates, one, 1);
    expect(ledger.roomOnHost(mates, one)).toBe(Infinity);
    expect(ledger.roomOnHost(mates, other)).toBe(0);
    expect(ledger.roomOnHost(mates, undefined)).toBe(0);
  });

  test('measures a spread over hosts from the floor', () => {
    const ledger = new Ledger(groups);
    const hosts = new Map<number, Tally>([[0, tally(2, 2)]]);
    expect(ledger.roomOnHost(role, hosts)).toBe(0);
    ledger.hostFloors[0] = 2;
    expect(ledger.roomOnHost(role, hosts)).toBe(1);
  });

  test('copied, is changed without changing the first', () => {
    const ledger = new Ledger(groups);
    ledger.of(spread).eligible.add('a');
    ledger.note(role, 'a', 1, true);
    const copy = ledger.clone();
    expect(copy.of(spread)).toEqual(ledger.of(spread));
    copy.note(role, 'a', 1, true);
    copy.of(spread).eligible.add('b');
    expect(ledger.of(spread).tallies.get('a')).toEqual({ selected: 1, carriers: 1, sure: 1 });
    expect([...ledger.of(spread).eligible]).toEqual(['a']);
  });

  test('stands as before when everything noted is taken back, and is never negative on the way', () => {
    const anyNote = fc.record({
      kind: fc.constantFrom(0, 1),
      carries: fc.boolean(),
      selected: fc.boolean(),
      domain: fc.constantFrom('a', 'b', 'c'),
      count: fc.integer({ min: 1, max: 9 }),
      sure: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(anyNote, { minLength: 1 }), (notes) => {
        const ledger = new Ledger(groups);
        const apply = (sign: 1 | -1): void => {
          for (const { kind, domain, count, sure, ...rest } of notes)
            ledger.note({ group: groups[kind]!, ...rest }, domain, sign * count, sure);
        };
        apply(1);
        expect(ledger.neverNegative()).toBe(true);
        apply(-1);
        expect(ledger.neverNegative()).toBe(true);
        for (const { total, tallies } of ledger.domains) {
          expect(total).toBe(0);
          for (const left of tallies.values())
            expect(left).toEqual({ selected: 0, carriers: 0, sure: 0 });
        }
      }),
    );
  });

  test('knows when more was taken away than was noted', () => {
    const ledger = new Ledger(groups);
    ledger.note(role, 'a', -1, false);
    expect(ledger.neverNegative()).toBe(false);
    const onHosts = new Ledger(groups);
    onHosts.noteOnHost(role, new Map(), -1);
    expect(onHosts.neverNegative()).toBe(false);
  });
});
