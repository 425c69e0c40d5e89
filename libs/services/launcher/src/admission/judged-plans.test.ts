import type { Verdict } from '@dovetail/contracts';
import { describe, expect, test } from 'vitest';

import { bytesOf, JudgedPlans } from './judged-plans.js';
import { reason } from './reason.js';

const second = 1_000;
const options = { planAgeMaxMs: 60 * second, verdictBytesMax: 4 * 1024 * 1024 };

/** The verdicts of a plan whose pods fit nowhere, with three reasons of their own each. */
const unplaced = (planId: string, pods: number): readonly Verdict[] =>
  Array.from({ length: pods }, (_, index) => ({
    podUid: `0b2f7d5e-5d7c-4a0e-9d0e-${String(index).padStart(12, '0')}`,
    outcome: 'unplaced' as const,
    planId,
    binId: '',
    admission: { epoch: 1, number: 1 },
    atMs: 0,
    reasons: ['default', 'gpu', 'spot'].map((pool) =>
      reason('resources-too-large', `no instance type of NodePool/${pool} holds 512 cpu`, { pool }),
    ),
  }));

describe('the memory of judged plans', () => {
  test('answers a plan that comes again with the verdicts that it had', () => {
    const judged = new JudgedPlans(options);
    const verdicts = unplaced('a', 2);
    judged.remember('a', verdicts, 0);
    expect([judged.has('a'), judged.verdictsOf('a')]).toEqual([true, verdicts]);
    expect([judged.has('b'), judged.verdictsOf('b')]).toEqual([false, undefined]);
  });

  test.each([
    ['is known while it may come again', 119 * second, true],
    ['is forgotten once it would be refused as too old', 120 * second, false],
  ])('a plan %s', (_what, nowMs, known) => {
    const judged = new JudgedPlans(options);
    judged.remember('a', unplaced('a', 1), 0);
    judged.remember('b', [], nowMs);
    expect(judged.has('a')).toBe(known);
  });

  test('of a plan a second, with a thousand pods that fit nowhere, stays below its bytes', () => {
    const judged = new JudgedPlans(options);
    const of = unplaced('plan', 1_000);
    const ids = Array.from({ length: 500 }, (_, index) => `plan-${index}`);
    for (const [index, id] of ids.entries()) judged.remember(id, of, index * second);
    const known = ids.filter((id) => judged.has(id));
    const kept = ids.flatMap((id) => judged.verdictsOf(id) ?? []);
    expect(known).toEqual(ids.slice(-120));
    expect(kept.length / of.length).toBe(Math.floor(options.verdictBytesMax / bytesOf(of)));
  });

  test('counts a plan once that is remembered twice', () => {
    const size = bytesOf(unplaced('a', 10));
    const judged = new JudgedPlans({ ...options, verdictBytesMax: 2 * size });
    for (const id of ['a', 'b', 'a', 'a', 'b']) judged.remember(id, unplaced(id, 10), 0);
    expect([judged.verdictsOf('a'), judged.verdictsOf('b')]).not.toContain(undefined);
  });

  test('counts a reason once that verdicts share', () => {
    const [verdict] = unplaced('a', 1) as [Verdict];
    expect(bytesOf([verdict, verdict]) - bytesOf([verdict])).toBe(
      bytesOf([{ ...verdict, reasons: [] }]),
    );
  });
});
