import { annotations, type DisruptionReason, type NodeClaim } from '@dovetail/core-api';
import { describe, expect, test } from 'vitest';

import { emptySinceAnnotation } from '../causes/emptiness.js';
import { note } from '../facts/refusal.js';
import { renderRetirement } from '../facts/retirement-record.js';
import type { NodeView } from '../facts/view.js';
import { claim, node, nowMs, pdb, pod, pool, view } from '../testing/objects.js';
import { type ExplainedOutcome, explainNode, type ExplainOptions } from './explain.js';

const underused = pool({
  disruption: { policy: 'WhenEmptyOrUnderutilized', consolidateAfterMs: 0, budgets: [] },
});
/** A node whose end has begun because it expired. */
const expiring = (name: string): NodeView =>
  view({
    claim: claim(name),
    node: node(name, {
      annotations: {
        [annotations.retirement]: renderRetirement({ cause: 'expired', atMs: nowMs }),
      },
    }),
  });
const emptyAt = (ageMs: number) => ({
  claim: claim('c1', {
    annotations: { [emptySinceAnnotation]: new Date(nowMs - ageMs).toISOString() },
  }),
});
const explain = (more: Partial<NodeView>, options: Partial<ExplainOptions> = {}) => {
  const explained = view(more);
  return explainNode(explained, {
    budgetsOf: () => [],
    podOf: () => undefined,
    nowMs,
    views: [explained],
    consolidates: true,
    ...options,
  });
};
const busy = { pods: [pod('p1')], pool: underused };
const spent = [{ nodes: { count: 0 } }];
const spentFor = (reason: DisruptionReason) =>
  pool({
    disruption: { ...underused.disruption, budgets: [{ nodes: { count: 0 }, reasons: [reason] }] },
  });
const driftedClaim = (more: Partial<NodeClaim> = {}): NodeClaim => {
  const held = claim('c1', more);
  const drifted = { type: 'Drifted', status: 'True', reason: 'AMIDrift', message: 'old' } as const;
  return { ...held, conditions: [...held.conditions, { ...drifted, lastTransitionMs: nowMs }] };
};
const drifted = { ...busy, claim: driftedClaim() };
const guarded = pod('p1', { annotations: { [annotations.doNotDisrupt]: 'true' } });

describe('a node', () => {
  test.each<
    [string, ExplainedOutcome, string, Partial<NodeView>, Partial<ExplainOptions> | undefined]
  >([
    [
      'that is being retired',
      'goes',
      'it is being retired: drifted (NodePoolDrifted)',
      {
        node: node('n1', {
          annotations: {
            [annotations.retirement]: renderRetirement({
              cause: 'drifted',
              atMs: nowMs,
              detail: 'NodePoolDrifted',
            }),
          },
        }),
      },
      undefined,
    ],
    [
      'that someone deleted',
      'goes',
      'Node is deleting or marked for deletion',
      { claim: claim('c1', { deletionMs: nowMs }) },
      undefined,
    ],
    [
      'that has expired, whatever its budget says',
      'due',
      'expire',
      {
        claim: claim('c1', { expireAfterMs: 60_000 }),
        pool: pool({ disruption: { ...underused.disruption, budgets: spent } }),
      },
      undefined,
    ],
    ['that is empty', 'due', 'empty for 60 s, limit 30 s', emptyAt(60_000), undefined],
    ['that is empty for a moment', 'later', 'empty for 10 s of 30 s', emptyAt(10_000), undefined],
    [
      'that is empty and held by a budget',
      'stays',
      'No allowed disruptions for disruption reason Empty due to blocking budget',
      { ...emptyAt(60_000), pool: pool({ disruption: { ...pool().disruption, budgets: spent } }) },
      undefined,
    ],
    [
      'that is empty and says do-not-disrupt',
      'stays',
      'Disruption is blocked through the "karpenter.sh/do-not-disrupt" annotation',
      {
        ...emptyAt(60_000),
        node: node('n1', { annotations: { [annotations.doNotDisrupt]: 'true' } }),
      },
      undefined,
    ],
    [
      'with pods while consolidation is off',
      'stays',
      'consolidation is switched off (CONSOLIDATION=none)',
      busy,
      { consolidates: false },
    ],
    [
      'with pods of a pool that consolidates none',
      'stays',
      'NodePool "default" has non-empty consolidation disabled',
      { pods: [pod('p1')] },
      undefined,
    ],
    [
      'with pods whose budget allows no eviction',
      'stays',
      'Pdb prevents pod evictions: default/web',
      busy,
      { budgetsOf: () => [pdb('web', 0)] },
    ],
    [
      'whose pods fit nowhere else, as a solver said',
      'stays',
      'pod default/p1 fits on no other node',
      busy,
      { searchAnswer: () => note('pods-without-place', 'pod default/p1 fits on no other node') },
    ],
    [
      'that a solver was not asked about yet',
      'due',
      'a solver is asked whether its pods fit elsewhere',
      busy,
      undefined,
    ],
    [
      'that a pod came to lately',
      'later',
      'a pod came or went lately: 20 s are left',
      {
        ...busy,
        claim: claim('c1', { lastPodEventMs: nowMs - 10_000 }),
        pool: pool({ disruption: { ...underused.disruption, consolidateAfterMs: 30_000 } }),
      },
      undefined,
    ],
    [
      'that has drifted, while a budget holds empty ones',
      'due',
      'AMIDrift: old',
      { ...drifted, pool: spentFor('Empty') },
      undefined,
    ],
    [
      'that has drifted and is held by a budget',
      'stays',
      'No allowed disruptions for disruption reason Drifted due to blocking budget',
      { ...drifted, pool: spentFor('Drifted') },
      { consolidates: false },
    ],
    [
      'that has drifted and ends by its grace period whatever its pods say',
      'due',
      'AMIDrift: old',
      { ...drifted, pods: [guarded], claim: driftedClaim({ terminationGracePeriodMs: 60_000 }) },
      undefined,
    ],
    [
      'that has drifted and whose pods have no other place',
      'stays',
      '2 pods of the drifted node would have no other place',
      drifted,
      {
        consolidates: false,
        placeAnswer: () =>
          note('pods-without-place', '2 pods of the drifted node would have no other place'),
      },
    ],
    [
      'that has drifted, of a pool with replicas',
      'stays',
      'the pool has replicas: its nodes stay',
      { ...drifted, pool: { ...underused, replicas: 3 } },
      undefined,
    ],
    [
      'that has expired beside five others that expire',
      'stays',
      'as many expired nodes of its pool as may go at a time are going',
      { claim: claim('c1', { expireAfterMs: 60_000 }) },
      { views: ['a', 'b', 'c', 'd', 'e'].map(expiring) },
    ],
    [
      'with pods and held by a budget',
      'stays',
      'No allowed disruptions for disruption reason Underutilized due to blocking budget',
      { ...busy, pool: spentFor('Underutilized') },
      undefined,
    ],
    [
      'that was given back a moment ago',
      'stays',
      '3 of its pods have no room in its replacement',
      busy,
      { givenUp: note('replacement-missing', '3 of its pods have no room in its replacement') },
    ],
    [
      'with pods that has not joined yet',
      'stays',
      "Node isn't initialized",
      { ...busy, claim: claim('c1', { conditions: [] }) },
      undefined,
    ],
  ])('%s: %s', (_what, outcome, summary, more, options) => {
    const explained = explain(more, options);
    expect([explained.outcome, explained.summary]).toEqual([
      outcome,
      expect.stringContaining(summary),
    ]);
  });

  test('with pods whose pool is gone stays for that', () => {
    const { pool: _pool, ...rest } = view({ pods: [pod('p1')] });
    const options = { budgetsOf: () => [], podOf: () => undefined, nowMs, views: [rest] };
    const explained = explainNode(rest, { ...options, consolidates: true });
    expect([explained.outcome, explained.summary]).toEqual(['stays', 'the pool is gone']);
  });

  test('is explained cause by cause', () => {
    const { answers, ...more } = explain(busy, { consolidates: false });
    expect(more).toMatchObject({ node: 'n1', claim: 'c1', pool: 'NodePool/default' });
    expect(answers.map(({ about, outcome }) => `${about} ${outcome}`)).toEqual([
      'expiry stays',
      'emptiness stays',
      'drift stays',
      'consolidation stays',
    ]);
  });
});
