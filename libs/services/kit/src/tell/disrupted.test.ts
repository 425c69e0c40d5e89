import { claimValue } from '@dovetail/core-api/testing';
import { describe, expect, test } from 'vitest';

import { countDisrupted, type DisruptedFor } from './disrupted.js';

type Counted = Readonly<Record<string, string>>;

/** The labels under which the end of a claim is counted. */
function counted(why: DisruptedFor, more: Parameters<typeof claimValue>[1] = {}): Counted {
  const counts: [string, Counted][] = [];
  const quiet = (): void => undefined;
  const count = (name: string, labels: Counted = {}) => void counts.push([name, labels]);
  const labels = countDisrupted(
    { count, set: quiet, remove: quiet, observe: quiet },
    claimValue('c', more),
    why,
  );
  expect(counts).toEqual([['karpenter_nodeclaims_disrupted_total', labels]]);
  return labels;
}

describe('a claim that ends is counted', () => {
  test('by its reason, pool and capacity type', () =>
    expect(
      counted({ reason: 'expired' }, { labels: { 'karpenter.sh/capacity-type': 'spot' } }),
    ).toMatchObject({ reason: 'expired', nodepool: 'default', capacity_type: 'spot' }));

  test.each([
    ['WhenEmpty', 'when_empty'],
    ['WhenEmptyOrUnderutilized', 'when_empty_or_underutilized'],
    ['Balanced', 'balanced'],
    [undefined, ''],
  ] as const)('by the policy %s of its consolidation as %j', (policy, label) =>
    expect(counted({ reason: 'empty', policy })['consolidation_policy']).toBe(label),
  );

  test.each([
    ['without a limit of its drain', undefined, 'graceful'],
    ['with a limit', 60_000, 'eventual'],
    ['without a drain', 0, 'forceful'],
  ])('%s: %j ms are %s', (_how, terminationGracePeriodMs, mode) =>
    expect(
      counted(
        { reason: 'drifted' },
        terminationGracePeriodMs === undefined ? {} : { terminationGracePeriodMs },
      )['termination_mode'],
    ).toBe(mode),
  );
});
