import { annotations, type NodeClaim } from '@dovetail/core-api';
import { claimValue } from '@dovetail/core-api/testing';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { type LaunchedInstance, pair } from './pairing.js';

const instance = (id: string): LaunchedInstance => ({
  id,
  instanceType: 'm5.large',
  zone: 'a',
  capacityType: 'spot',
});
const paired = (name: string, id: string): NodeClaim =>
  claimValue(name, { annotations: { [annotations.instanceId]: id } });

describe('pairing', () => {
  test.each([
    [
      'a claim keeps the instance that it has',
      [paired('a', 'i-2'), claimValue('b')],
      ['b=i-1'],
      [],
    ],
    [
      'of too few instances the oldest claims get theirs',
      [claimValue('a', { createdMs: 2 }), claimValue('b', { createdMs: 1 })],
      ['b=i-1', 'a=i-2'],
      [],
    ],
    [
      'a claim that is being deleted comes last',
      [
        claimValue('a', { deletionMs: 1 }),
        claimValue('b', { createdMs: 9 }),
        claimValue('c', { createdMs: 9 }),
      ],
      ['b=i-1', 'c=i-2'],
      ['a'],
    ],
  ])('%s', (_sentence, claims, pairs, left) => {
    const done = pair(claims, [instance('i-2'), instance('i-1')]);
    expect(done.pairs.map((each) => `${each.claim.name}=${each.instance.id}`)).toEqual(pairs);
    expect(done.left.map((claim) => claim.name)).toEqual(left);
  });
  test('does not depend on the order in which claims and instances come', () =>
    fc.assert(
      fc.property(
        fc.shuffledSubarray(['a', 'b', 'c', 'd']),
        fc.shuffledSubarray(['i-1', 'i-2', 'i-3', 'i-4']),
        (names, ids) => {
          const result = (claims: readonly string[], instances: readonly string[]) =>
            pair(
              claims.map((name) => claimValue(name)),
              instances.map(instance),
            );
          expect(result(names, ids)).toEqual(result([...names].sort(), [...ids].sort()));
        },
      ),
    ));
  test.each([
    [
      'sorted instances go to sorted claims',
      ['a', 'b'],
      ['i-2', 'i-1'],
      ['a=i-1', 'b=i-2'],
      [],
      [],
    ],
    ['a shortage leaves the youngest', ['a', 'b', 'c'], ['i-1'], ['a=i-1'], ['c', 'b'], []],
    ['an instance too many is left over', ['a'], ['i-1', 'i-2'], ['a=i-1'], [], ['i-2']],
  ])('%s', (_sentence, names, ids, pairs, left, over) => {
    const done = pair(
      names.map((name) => claimValue(name)),
      ids.map(instance),
    );
    expect(done.pairs.map((each) => `${each.claim.name}=${each.instance.id}`)).toEqual(pairs);
    expect(done.left.map((claim) => claim.name)).toEqual(left);
    expect(done.over.map((each) => each.id)).toEqual(over);
  });
  test('interrupted anywhere and done again, it comes to distinct instances and every claim keeps its own', () =>
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 6 }),
        fc.integer({ min: 1, max: 6 }),
        fc.integer({ min: 0, max: 6 }),
        (instances, claims, done) => {
          const ids = Array.from({ length: instances }, (_each, index) => instance(`i-${index}`));
          const all = Array.from({ length: claims }, (_each, index) => claimValue(`c${index}`));
          const first = pair(all, ids).pairs;
          const written = new Map(
            first.slice(0, done).map((each) => [each.claim.name, each.instance.id]),
          );
          const again = pair(
            all.map((claim) =>
              written.has(claim.name)
                ? {
                    ...claim,
                    annotations: { [annotations.instanceId]: written.get(claim.name) ?? '' },
                  }
                : claim,
            ),
            ids,
          ).pairs;
          const total = [...written.values(), ...again.map((each) => each.instance.id)];
          expect(new Set(total).size).toBe(total.length);
          expect(total).toHaveLength(Math.min(instances, claims));
        },
      ),
    ));
});
