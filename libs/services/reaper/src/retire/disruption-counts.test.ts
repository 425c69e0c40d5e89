import { labels } from '@dovetail/core-api';
import { claimValue, poolValue } from '@dovetail/core-api/testing';
import type { NodeView, Retirement } from '@dovetail/core-disruption';
import { podValue } from '@dovetail/core-kube-model/testing';
import type { Metrics } from '@dovetail/core-ports';
import { describe, expect, test } from 'vitest';

import {
  countAbandoned,
  countCommand,
  countEnded,
  countRetired,
  countScores,
  countTakenBack,
} from './disruption-counts.js';

const ended = 'karpenter_nodeclaims_disrupted_total';
const repaired = 'karpenter_nodeclaims_unhealthy_disrupted_total';
const moved = 'karpenter_pods_disruption_initiated_total';
const decided = 'karpenter_voluntary_disruption_decisions_total';
const byPool = 'karpenter_voluntary_disruption_decisions_by_nodepool_total';
const failed = 'karpenter_voluntary_disruption_queue_failures_total';

const daemon = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'ds', uid: 'ds' };
/** A Spot node of a pool of this policy, with two pods that need another place, and a daemon. */
const viewOf = (graceMs?: number, policy: 'WhenEmpty' | 'Balanced' = 'Balanced'): NodeView => ({
  claim: claimValue('c', {
    labels: { [labels.capacityType]: 'spot' },
    imageId: 'ami-1',
    ...(graceMs === undefined ? {} : { terminationGracePeriodMs: graceMs }),
  }),
  pool: poolValue('default', { disruption: { policy, budgets: [] } }),
  pods: [podValue('a'), podValue('b'), podValue('d', { owner: daemon })],
});
const retired = (more: Partial<Retirement>): Retirement => ({ cause: 'empty', atMs: 1, ...more });

/** All that was counted, by metric: the value and the labels. */
function counted(act: (metrics: Metrics) => void) {
  const counts: (readonly [string, number, object])[] = [];
  const quiet = (): void => undefined;
  const count: Metrics['count'] = (name, labels = {}, by = 1) =>
    void counts.push([name, by, labels]);
  act({
    count,
    set: quiet,
    remove: quiet,
    observe: (name, value, labels) => count(name, labels, value),
  });
  return (metric: string) =>
    counts.flatMap(([name, by, labels]) => (name === metric ? [[by, labels] as const] : []));
}

const held = { nodepool: 'default', capacity_type: 'spot' };

describe('the end of a node is counted as Karpenter 1.15 does', () => {
  test.each<[string, Partial<Retirement>, NodeView, object]>([
    [
      'an empty one with the policy of its pool',
      { cause: 'empty' },
      viewOf(undefined, 'WhenEmpty'),
      { reason: 'empty', consolidation_policy: 'when_empty', termination_mode: 'graceful' },
    ],
    [
      'an under-used one with the policy of its pool',
      { cause: 'underutilized' },
      viewOf(60_000),
      { reason: 'underutilized', consolidation_policy: 'balanced', termination_mode: 'eventual' },
    ],
    [
      'a drifted one without a policy',
      { cause: 'drifted' },
      viewOf(0),
      { reason: 'drifted', consolidation_policy: '', termination_mode: 'forceful' },
    ],
    [
      'an expired one without a policy',
      { cause: 'expired' },
      viewOf(),
      { reason: 'expired', consolidation_policy: '', termination_mode: 'graceful' },
    ],
    [
      'an unhealthy one with the limit of its claim, not of its repair',
      { cause: 'unhealthy', detail: 'StorageReady', drainMs: 0 },
      viewOf(),
      { reason: 'unhealthy', consolidation_policy: '', termination_mode: 'graceful' },
    ],
  ])('%s, and so are its pods', (_what, more, view, expected) => {
    const counts = counted((metrics) => countRetired(metrics, view, retired(more), 0));
    expect(counts(ended)).toEqual([[1, { ...held, ...expected }]]);
    expect(counts(moved)).toEqual([[2, { ...held, ...expected }]]);
  });

  test('an interrupted one by the kind of the notice, and without its pods', () => {
    const retirement = retired({ cause: 'interrupted', detail: 'spot_interrupted' });
    const counts = counted((metrics) => countRetired(metrics, viewOf(), retirement, 1));
    const expected = { consolidation_policy: '', termination_mode: 'graceful' };
    expect(counts(ended)).toEqual([[1, { ...held, ...expected, reason: 'spot_interrupted' }]]);
    expect([counts(moved), counts(decided)]).toEqual([[], []]);
  });

  test('a collected claim with the pods of its node', () => {
    const counts = counted((metrics) =>
      countEnded(metrics, viewOf(), { reason: 'garbage_collected' }),
    );
    expect(counts(moved)).toMatchObject([[2, { reason: 'garbage_collected' }]]);
  });

  test.each([
    ['by the limit of the repair', 300_000, undefined, 'eventual'],
    ['by that of its claim if it is shorter', 300_000, 0, 'forceful'],
    ['by force without time', 0, undefined, 'forceful'],
    ['by the claim if the repair has no limit', undefined, undefined, 'graceful'],
  ])('a repair is counted %s', (_how, drainMs, graceMs, mode) => {
    const drain = drainMs === undefined ? {} : { drainMs };
    const retirement = retired({ cause: 'unhealthy', detail: 'StorageReady', ...drain });
    const counts = counted((metrics) => countRetired(metrics, viewOf(graceMs), retirement, 0));
    const what = { condition: 'storage_ready', image_id: 'ami-1', termination_mode: mode };
    expect(counts(repaired)).toEqual([[1, { ...held, ...what }]]);
  });
});

describe('a decision is counted', () => {
  const type = (consolidation_type: string) => ({ consolidation_type });
  test.each<[string, Partial<Retirement>, number, object]>([
    ['of an empty node', { cause: 'empty' }, 0, { decision: 'delete', ...type('empty') }],
    ['of one node', { cause: 'underutilized' }, 0, { decision: 'delete', ...type('single') }],
    ['of a drifted node', { cause: 'drifted' }, 2, { decision: 'replace', ...type('') }],
  ])('by its kind and by the pool: that %s', (_what, more, newNodes, expected) => {
    const counts = counted((metrics) => countRetired(metrics, viewOf(), retired(more), newNodes));
    const whole = { reason: more.cause, ...expected };
    expect(counts(decided)).toEqual([[1, whole]]);
    expect(counts(byPool)).toEqual([[1, { nodepool: 'default', ...whole }]]);
  });

  const out = (name: string) => ({
    nodeName: name,
    nodeUid: name,
    claimName: name,
    claimUid: name,
  });
  const record = { uid: 'u', name: 'underutilized-1', nodesOut: ['a', 'b', 'c'].map(out) };
  const pools: Readonly<Record<string, string>> = { a: 'one', b: 'two', c: 'two' };
  const claims = {
    one: (_index: string, name: string) =>
      claimValue(name, { pool: { kind: 'NodePool', name: pools[name] ?? '' } }),
  } as never;

  test('once for a command of several nodes, and once for each of their pools', () => {
    const counts = counted((metrics) => countCommand(metrics, { claims }, record));
    const whole = { decision: 'delete', reason: 'underutilized', ...type('multi') };
    expect(counts(decided)).toEqual([[1, whole]]);
    expect(counts(byPool)).toEqual([
      [1, { nodepool: 'one', ...whole }],
      [1, { nodepool: 'two', ...whole }],
    ]);
  });

  test('with its command, and not again with each of its nodes', () => {
    const retirement = retired({ cause: 'underutilized', disruption: record.name });
    const counts = counted((metrics) => {
      countRetired(metrics, viewOf(), retirement, 1);
      countAbandoned(metrics, viewOf(), retirement);
    });
    expect([counts(decided), counts(byPool), counts(failed)]).toEqual([[], [], []]);
    expect(counts(ended)).toHaveLength(1);
  });

  test.each<[string, (metrics: Metrics) => void, object]>([
    [
      'a command that is taken back, once for all of its nodes',
      (metrics) => countTakenBack(metrics, { ...record, planId: 'p' }),
      { decision: 'replace', reason: 'underutilized', ...type('multi') },
    ],
    [
      'a command of one node',
      (metrics) => countTakenBack(metrics, { ...record, planId: 'p', nodesOut: [out('a')] }),
      { decision: 'replace', reason: 'underutilized', ...type('single') },
    ],
    [
      'an empty node that is needed again',
      (metrics) => countAbandoned(metrics, viewOf(), retired({ cause: 'empty' })),
      { decision: 'delete', reason: 'empty', ...type('empty') },
    ],
    [
      'a drifted node whose replacement did not come',
      (metrics) => countAbandoned(metrics, viewOf(), retired({ cause: 'drifted' })),
      { decision: 'replace', reason: 'drifted', ...type('') },
    ],
    [
      'a drifted node without pods',
      (metrics) => countAbandoned(metrics, { pods: [] }, retired({ cause: 'drifted' })),
      { decision: 'delete', reason: 'drifted', ...type('') },
    ],
  ])('as failed: %s', (_what, count, expected) =>
    expect(counted(count)(failed)).toEqual([[1, expected]]),
  );
});

test('a move is counted for each pool of its nodes, and scored where the policy is Balanced', () => {
  const pool = (name: string, policy: 'Balanced' | 'WhenEmptyOrUnderutilized') =>
    poolValue(name, { disruption: { policy, budgets: [] } });
  const of = counted((metrics) =>
    countScores(metrics, [
      { pool: pool('a', 'Balanced'), score: 0.4 },
      { pool: pool('b', 'Balanced'), score: 0.5 },
      { pool: pool('c', 'WhenEmptyOrUnderutilized') },
    ]),
  );
  const [rejected, approved, unscored] = [
    { decision: 'rejected', nodepool: 'a', policy: 'Balanced' },
    { decision: 'approved', nodepool: 'b', policy: 'Balanced' },
    { decision: 'approved', nodepool: 'c', policy: 'WhenEmptyOrUnderutilized' },
  ];
  expect(of('karpenter_consolidation_moves_total')).toEqual([
    [1, rejected],
    [1, approved],
    [1, unscored],
  ]);
  expect(of('karpenter_consolidation_score')).toEqual([
    [0.4, rejected],
    [0.5, approved],
  ]);
});
