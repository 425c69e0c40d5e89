import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { type InterruptionFacts, interruptionStep, policyOf } from './interruption.js';

const times = { noticeMs: 120_000, marginMs: 10_000 };
const patience = { claimAgeMinMs: 120_000, receivesMax: 5 };

describe('the policy for a notice', () => {
  test.each([
    ['spot-interrupted', { deadlineMs: 111_000 }, true, false],
    ['reservation-interrupted', { deadlineMs: 111_000 }, false, false],
    ['rebalance-recommended', undefined, false, false],
    ['scheduled-change', {}, false, false],
    ['instance-stopping', { deadlineMs: 5_000 }, false, true],
    ['instance-terminating', { deadlineMs: 5_000 }, false, true],
  ] as const)('%s', (kind, retire, avoidSpot, ending) => {
    const policy = policyOf({ kind, timeMs: 1_000 }, 5_000, times);
    expect([policy.retire, policy.avoidSpot, policy.ending]).toEqual([retire, avoidSpot, ending]);
  });
});

describe('the deadline of a notice', () => {
  const spot = 'spot-interrupted';
  const change = 'scheduled-change';
  test.each<[string, Parameters<typeof policyOf>[0], object]>([
    ['counts from the notice', { kind: spot, timeMs: 990_000 }, { deadlineMs: 1_100_000 }],
    [
      'counts from now if it is dated later',
      { kind: spot, timeMs: 8.64e15 },
      { deadlineMs: 1_110_000 },
    ],
    [
      'is the begin of a change',
      { kind: change, timeMs: 0, startMs: 1_300_000 },
      { deadlineMs: 1_290_000 },
    ],
    [
      'is now if that is close',
      { kind: change, timeMs: 0, startMs: 1_005_000 },
      { deadlineMs: 1_000_000 },
    ],
    ['is none for a change that is far', { kind: change, timeMs: 0, startMs: 9e9 }, {}],
    ['is none for a change that has begun', { kind: change, timeMs: 0, startMs: 999_999 }, {}],
    ['is none for a change without a begin', { kind: change, timeMs: 0 }, {}],
  ])('%s', (_what, notice, retire) =>
    expect(policyOf(notice, 1_000_000, times).retire).toEqual(retire),
  );
});

type Asked = NonNullable<InterruptionFacts['instance']>;
const ours = (ageMs = 600_000): Asked => ({ kind: 'ours', ageMs });
const facts: InterruptionFacts = { instance: ours(), hasClaim: false, ending: false, receives: 1 };
const unasked: InterruptionFacts = { hasClaim: false, ending: false, receives: 1 };
const missing = { instance: { kind: 'missing' } } as const;
const ending = { ending: true } as const;

describe('a message about an instance', () => {
  test.each<[string, InterruptionFacts, string]>([
    ['of a claim is applied without asking EC2', { ...unasked, hasClaim: true }, 'apply'],
    ['without a claim asks EC2', unasked, 'ask-cloud'],
    ['with others’ tags is foreign', { ...facts, instance: { kind: 'foreign' } }, 'foreign'],
    ['of ours that is not paired yet waits', facts, 'later'],
    ['of ours that is not paired for long is dropped', { ...facts, receives: 5 }, 'drop'],
    ['that ends as we ended it is foreign', { ...facts, ...ending }, 'foreign'],
    [
      'that ends young asks for its claim',
      { ...facts, ...ending, instance: ours(1_000) },
      'ask-claims',
    ],
    [
      'that ends young with a claim waits for our mirror',
      { ...facts, ...ending, instance: ours(1_000), isClaimedLive: true },
      'later',
    ],
    [
      'that ends young without a claim is foreign',
      { ...facts, ...ending, instance: ours(1_000), isClaimedLive: false },
      'foreign',
    ],
    ['that nobody shows asks for its claim', { ...facts, ...missing }, 'ask-claims'],
    [
      'that nobody shows or claims is foreign',
      { ...facts, ...missing, isClaimedLive: false },
      'foreign',
    ],
  ])('%s', (_what, some, step) => expect(interruptionStep(some, patience)).toBe(step));

  const arbitrary: fc.Arbitrary<InterruptionFacts> = fc.record({
    instance: fc.oneof(
      fc.record({ kind: fc.constant('ours' as const), ageMs: fc.nat({ max: 300_000 }) }),
      fc.constantFrom({ kind: 'foreign' as const }, { kind: 'missing' as const }),
    ),
    hasClaim: fc.boolean(),
    ending: fc.boolean(),
    receives: fc.integer({ min: 1, max: 8 }),
  });

  test('is applied exactly when a claim has the instance', () => {
    fc.assert(
      fc.property(arbitrary, (some) => {
        expect(interruptionStep(some, patience) === 'apply').toBe(some.hasClaim);
      }),
    );
  });

  test('is decided once both were asked for, and for good at the last receive', () => {
    fc.assert(
      fc.property(arbitrary, fc.boolean(), (some, isClaimedLive) => {
        const step = interruptionStep({ ...some, isClaimedLive }, patience);
        expect(['ask-claims', 'ask-cloud']).not.toContain(step);
        const last = { ...some, isClaimedLive, receives: patience.receivesMax };
        expect(interruptionStep(last, patience)).not.toBe('later');
      }),
    );
  });
});
