import { createHash } from 'node:crypto';

import { annotations } from '@dovetail/core-api';
import { claimValue } from '@dovetail/core-api/testing';
import { Cluster } from '@dovetail/core-cluster';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { spotRequest } from '../testing/values.js';
import { intentOf, renderIntent } from './intent.js';
import { launchUnits, type UnitsInput } from './units.js';
import { UnpairedClaims } from './unpaired-claims.js';

const sha256Hex = (text: string): string => createHash('sha256').update(text).digest('hex');
const intent = intentOf(
  { attempt: 1, createdMs: 5, members: ['b', 'a'], request: spotRequest },
  sha256Hex,
);
const carrying = (name: string, change = {}) =>
  claimValue(name, {
    annotations: { [annotations.launchIntent]: renderIntent(intent), ...change },
  });

describe('units of launch work', () => {
  const unitsOf = (
    claims: readonly ReturnType<typeof claimValue>[],
    change: Partial<UnitsInput> = {},
  ) => {
    const byName = new Map(claims.map((claim) => [claim.name, claim]));
    const cluster = new Cluster();
    for (const claim of claims) cluster.set('claim', claim);
    return launchUnits({
      unpaired: new UnpairedClaims(cluster, sha256Hex),
      claimByName: (name) => byName.get(name),
      isSettled: () => false,
      isHeldBack: () => false,
      isVoid: () => false,
      membersMax: 50,
      ...change,
    });
  };
  const units = (...input: Parameters<typeof unitsOf>) =>
    unitsOf(...input).map(
      (unit) =>
        `${unit.kind} ${unit.claims.map((claim) => claim.name).join('+')}${unit.kind === 'launch' ? ` attempt ${unit.attempt}` : ''}`,
    );
  test.each([
    [
      'equal claims are launched together',
      [claimValue('a'), claimValue('b')],
      {},
      ['launch a+b attempt 1'],
    ],
    [
      'fifty at most',
      [claimValue('a'), claimValue('b'), claimValue('c')],
      { membersMax: 2 },
      ['launch a+b attempt 1', 'launch c attempt 1'],
    ],
    [
      'different ones are not',
      [claimValue('a'), claimValue('b', { taints: [{ key: 'x', effect: 'NoSchedule' as const }] })],
      {},
      ['launch a attempt 1', 'launch b attempt 1'],
    ],
    [
      'an intent that all members carry is resolved',
      [carrying('a'), carrying('b')],
      {},
      ['resolve a+b'],
    ],
    [
      'one that a member lacks may be replaced',
      [carrying('a'), claimValue('b')],
      {},
      ['launch b attempt 1', 'launch a attempt 2'],
    ],
    ['one whose member is gone was never in force', [carrying('a')], {}, ['launch a attempt 2']],
    [
      'claims that have their instance need nothing',
      [carrying('a', { [annotations.instanceId]: 'i-1' }), carrying('b')],
      {},
      ['resolve b'],
    ],
    [
      'a settled intent leaves its claims to the next attempt',
      [carrying('a'), carrying('b')],
      { isSettled: () => true },
      ['launch a+b attempt 2'],
    ],
    ['a claim that is being deleted is not launched', [claimValue('a', { deletionMs: 1 })], {}, []],
    [
      'but what was bought for it is learnt',
      [carrying('a'), { ...carrying('b'), deletionMs: 1 }],
      {},
      ['resolve a+b'],
    ],
    ['a void claim is not launched', [claimValue('a')], { isVoid: () => true }, []],
    ['a claim that waits is left alone', [claimValue('a')], { isHeldBack: () => true }, []],
  ])('%s', (_sentence, claims, change, expected) =>
    expect(units(claims, change).sort()).toEqual([...expected].sort()),
  );
  test('an unsettled intent that a launch replaces is looked up first', () =>
    expect(unitsOf([carrying('a')])).toMatchObject([{ kind: 'launch', superseded: [intent.id] }]));
  test('every claim without an instance is in exactly one unit, and units keep to their size', () =>
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            name: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
            taint: fc.constantFrom('x', 'y'),
            carries: fc.boolean(),
          }),
        ),
        fc.integer({ min: 1, max: 3 }),
        (drawn, membersMax) => {
          const claims = [...new Map(drawn.map((each) => [each.name, each])).values()].map(
            ({ name, taint, carries }) => ({
              ...(carries ? carrying(name) : claimValue(name)),
              taints: [{ key: taint, effect: 'NoSchedule' as const }],
            }),
          );
          const made = unitsOf(claims, { membersMax });
          const names = made.flatMap((unit) => unit.claims.map((claim) => claim.name));
          expect([...names].sort()).toEqual(claims.map((claim) => claim.name).sort());
          for (const unit of made)
            if (unit.kind === 'launch') expect(unit.claims.length).toBeLessThanOrEqual(membersMax);
        },
      ),
    ));
});
