import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';

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

const ours = (ageMs = 600_000): InterruptionFacts['instance'] => ({ kind: 'ours', ageMs });
const facts: InterruptionFacts = {
  instance: ours(),
  hasClaim: true,
  ending: false,
  isOwnAccount: true,
  receives: 1,
};
const missing = { instance: { kind: 'missing' } } as const;
const unclaimed = { hasClaim: false } as const;
const ending = { ending: true } as const;

describe('a message about an instance', () => {
  test.each<[string, Partial<InterruptionFacts>, string]>([
    ['of ours with a claim is applied', {}, 'apply'],
    ['with others’ tags is foreign', { instance: { kind: 'foreign' } }, 'foreign'],
    ['that ends and that EC2 has forgotten is applied', { ...missing, ...ending }, 'apply'],
    [
      'that ends, forgotten, without our account known, waits',
      { ...missing, ...ending, isOwnAccount: false },
      'later',
    ],
    ['with a claim that EC2 does not show yet waits', missing, 'later'],
    ['of ours that is not paired yet waits', unclaimed, 'later'],
    ['of ours that is not paired for long is dropped', { ...unclaimed, receives: 5 }, 'drop'],
    ['that EC2 never shows is dropped', { ...missing, receives: 5 }, 'drop'],
    ['that ends as we ended it is foreign', { ...unclaimed, ...ending }, 'foreign'],
    [
      'that ends young asks for its claim',
      { ...unclaimed, ...ending, instance: ours(1_000) },
      'ask-claims',
    ],
    [
      'that ends young with a claim waits for our mirror',
      { ...unclaimed, ...ending, instance: ours(1_000), isClaimedLive: true },
      'later',
    ],
    [
      'that ends young without a claim is foreign',
      { ...unclaimed, ...ending, instance: ours(1_000), isClaimedLive: false },
      'foreign',
    ],
    ['that nobody shows asks for its claim', { ...missing, ...unclaimed }, 'ask-claims'],
    [
      'that nobody shows or claims is foreign',
      { ...missing, ...unclaimed, isClaimedLive: false },
      'foreign',
    ],
  ])('%s', (_what, change, step) => {
    expect(interruptionStep({ ...facts, ...change }, patience)).toBe(step);
  });

  const arbitrary: fc.Arbitrary<InterruptionFacts> = fc.record({
    instance: fc.oneof(
      fc.record({ kind: fc.constant('ours' as const), ageMs: fc.nat({ max: 300_000 }) }),
      fc.constantFrom({ kind: 'foreign' as const }, { kind: 'missing' as const }),
    ),
    hasClaim: fc.boolean(),
    ending: fc.boolean(),
    isOwnAccount: fc.boolean(),
    receives: fc.integer({ min: 1, max: 8 }),
  });

  test('is never applied without a claim, or to an instance of others', () => {
    fc.assert(
      fc.property(arbitrary, (some) => {
        if (some.hasClaim && some.instance.kind !== 'foreign') return;
        expect(interruptionStep(some, patience)).not.toBe('apply');
      }),
    );
  });

  test('is decided once the claims were asked for, and for good at the last receive', () => {
    fc.assert(
      fc.property(arbitrary, fc.boolean(), (some, isClaimedLive) => {
        expect(interruptionStep({ ...some, isClaimedLive }, patience)).not.toBe('ask-claims');
        const last = { ...some, isClaimedLive, receives: patience.receivesMax };
        expect(interruptionStep(last, patience)).not.toBe('later');
      }),
    );
  });
});
