import { annotations } from '@dovetail/core-api';
import { describe, expect, test } from 'vitest';

import { consolidatableMs } from '../causes/consolidatable.js';
import type { NodeView } from '../facts/view.js';
import { balancedScore, disruptionCostOf, isBalanced } from '../rules/costs.js';
import { claim, node, nowMs, pdb, pod, pool, view } from '../testing/objects.js';
import { imbalanceOf, scoresOf } from './balance.js';
import { type CandidateOptions, candidatesInSteps, consolidationCandidates } from './candidates.js';
import type { Command } from './command.js';
import { togetherInOrder } from './prefixes.js';

const underused = pool({
  disruption: { policy: 'WhenEmptyOrUnderutilized', consolidateAfterMs: 0, budgets: [] },
});
const options: CandidateOptions = { budgetsOf: () => [], podOf: () => undefined, nowMs };
const priced = (name: string, price: string, more: Partial<NodeView> = {}): NodeView =>
  view({
    claim: claim(name, { annotations: { [annotations.pricePerHour]: price } }),
    node: node(`node-${name}`),
    pool: underused,
    pods: [pod(`on-${name}`)],
    ...more,
  });
const found = (views: readonly NodeView[], more: Partial<CandidateOptions> = {}) =>
  consolidationCandidates(views, { ...options, ...more });
const names = (views: readonly NodeView[], more: Partial<CandidateOptions> = {}) =>
  found(views, more).candidates.map(({ view: { claim: each } }) => each.name);

describe('a candidate of consolidation', () => {
  test.each<[string, Partial<NodeView>, Partial<CandidateOptions>]>([
    ['has no node yet', { node: undefined as never }, {}],
    ['is not initialised', { claim: claim('c1', { conditions: [] }) }, {}],
    ['is being deleted', { claim: claim('c1', { deletionMs: nowMs }) }, {}],
    ['is of no pool', { pool: undefined as never }, {}],
    ['is of a static pool', { pool: { ...underused, replicas: 3 } }, {}],
    ['has no pods, so that it is empty', { pods: [] }, {}],
    [
      'is of a pool whose policy is WhenEmpty',
      { pool: pool({ disruption: { policy: 'WhenEmpty', consolidateAfterMs: 0, budgets: [] } }) },
      {},
    ],
    [
      'is of a pool whose consolidateAfter is Never',
      { pool: pool({ disruption: { policy: 'WhenEmptyOrUnderutilized', budgets: [] } }) },
      {},
    ],
    [
      'had a pod event within consolidateAfter',
      { claim: claim('c1', { lastPodEventMs: nowMs + 1 }) },
      {},
    ],
    [
      'says do-not-disrupt',
      { node: node('n1', { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } }) },
      {},
    ],
    [
      'has a pod that says do-not-disrupt',
      { pods: [pod('p1', { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } })] },
      {},
    ],
    ['has a pod whose budget allows no disruption', {}, { budgetsOf: () => [pdb('web', 0)] }],
    ['is left alone for a while', {}, { pausedUntilMs: () => nowMs + 1 }],
    [
      'is of a pool whose budget for Underutilized is spent',
      {
        pool: pool({
          disruption: {
            policy: 'WhenEmptyOrUnderutilized',
            consolidateAfterMs: 0,
            budgets: [{ nodes: { count: 0 }, reasons: ['Underutilized'] }],
          },
        }),
      },
      {},
    ],
  ])('is no node that %s', (_what, more, options_) =>
    expect(names([priced('c1', '0.1', more)], options_)).toEqual([]),
  );

  test("that its budget holds back is told of on its pool, in Karpenter's words", () => {
    const budgets = [{ nodes: { count: 0 } }];
    const spent = pool({ disruption: { ...underused.disruption, budgets } });
    const { exhausted } = found([
      priced('c1', '1', { pool: spent }),
      priced('c2', '1', { pool: spent }),
    ]);
    expect(
      exhausted.map(({ pool: { identity }, note: { message } }) => [identity.name, message]),
    ).toEqual([
      [
        'default',
        'No allowed disruptions for disruption reason Underutilized due to blocking budget',
      ],
    ]);
    const empty = priced('c1', '1', { pool: spent, pods: [] });
    expect(found([empty]).exhausted).toEqual([]);
  });

  test('is any other node, whatever the budget for empty ones says', () => {
    const budgets = [{ nodes: { count: 0 }, reasons: ['Empty'] as const }];
    const disruption = { ...underused.disruption, budgets };
    expect(names([priced('c1', '0.1', { pool: { ...underused, disruption } })])).toEqual(['c1']);
  });

  test('comes first if it saves the most per disruption, and the pools take turns', () => {
    const small = { ...underused, identity: { kind: 'NodePool', name: 'small' } as const };
    const views = [
      priced('a-cheap', '0.1'),
      priced('b-dear', '0.4'),
      priced('c-dear-and-busy', '0.4', { pods: [pod('x'), pod('y'), pod('z')] }),
      priced('d-small', '0.05', { pool: small }),
    ];
    const order = ['b-dear', 'd-small', 'c-dear-and-busy', 'a-cheap'];
    expect(names(views)).toEqual(order);
    expect(names(views.toReversed())).toEqual(order);
  });

  test('that waits for consolidateAfter says when it is due', () => {
    const after = { ...underused.disruption, consolidateAfterMs: 60_000 };
    const waiting = priced('c1', '0.1', {
      claim: claim('c1', { lastPodEventMs: nowMs - 20_000 }),
      pool: { ...underused, disruption: after },
    });
    expect(consolidatableMs(waiting)).toBe(nowMs + 40_000);
    expect(found([waiting])).toMatchObject({ candidates: [], nextDueMs: nowMs + 40_000 });
  });

  test('that was left alone is due when its pause is over', () => {
    const pausedUntilMs = ({ name }: { readonly name: string }) =>
      name === 'c1' ? nowMs + 10_000 : undefined;
    const one = priced('c1', '0.1');
    expect(found([one], { pausedUntilMs })).toMatchObject({ nextDueMs: nowMs + 10_000 });
    expect(names([one], { pausedUntilMs: () => nowMs })).toEqual(['c1']);
    expect(found([priced('c2', '0.1')], { pausedUntilMs })).not.toHaveProperty('nextDueMs');
  });
});

describe('the cost of a disruption', () => {
  test.each([
    ['no pods', [], 1],
    ['a plain pod', [pod('a')], 2],
    ['a pod with a priority', [pod('a', { priority: 2 ** 25 })], 3],
    [
      'a pod that costs less than nothing',
      [pod('a', { annotations: { 'controller.kubernetes.io/pod-deletion-cost': '-2147483647' } })],
      1,
    ],
  ])('of %s is %j', (_what, pods, cost) => expect(disruptionCostOf(pods)).toBe(cost));
});

describe('the policy Balanced', () => {
  const balanced = {
    ...underused,
    disruption: { ...underused.disruption, policy: 'Balanced' as const },
  };

  test.each([
    [500_000, 50, true],
    [250_000, 50, true],
    [240_000, 50, false],
    [0, 50, false],
  ])('of a pool for $1 saves %j at a cost of %j of 100: %j', (saved, cost, made) =>
    expect(
      isBalanced(
        balancedScore(
          { savedMicrosPerHour: saved, disruptionCost: cost },
          { priceMicrosPerHour: 1_000_000, disruptionCost: 100 },
        ),
      ),
    ).toBe(made),
  );

  test('lets a node that is cheap and busy beside dear ones go with others only', () => {
    const busy = Array.from({ length: 9 }, (_none, index) => pod(`p${String(index)}`));
    const views = [
      priced('busy', '0.01', { pool: balanced, pods: busy }),
      priced('idle', '0.5', { pool: balanced }),
    ];
    const { candidates, stays, allowed, totals } = found(views);
    expect(candidates.map(({ notAlone }) => notAlone?.code)).toEqual([undefined, 'not-worthwhile']);
    expect(stays).toMatchObject([{ notes: [{ code: 'not-worthwhile' }] }]);
    const together = togetherInOrder(candidates, allowed);
    expect(together.map(({ view }) => view.claim.name)).toEqual(['idle', 'busy']);
    const saved = { priceBeforeMicrosPerHour: 510_000, priceAfterMicrosPerHour: 0 } as Command;
    expect(imbalanceOf(scoresOf(saved, together, totals))).toBeUndefined();
  });
});

describe('the look at all nodes', () => {
  const views = ['c1', 'c2', 'c3'].map((name) => priced(name, '0.1'));

  test('stops after each node, and finds the same', () => {
    const steps = candidatesInSteps(views, options);
    let stops = 0;
    let step = steps.next();
    for (; step.done !== true; step = steps.next()) stops += 1;
    expect([stops, step.value]).toEqual([3, consolidationCandidates(views, options)]);
  });

  test('may be of some nodes only, and counts the others for their budgets', () => {
    const budgets = [{ nodes: { count: 1 } }];
    const limited = pool({
      disruption: { policy: 'WhenEmptyOrUnderutilized', consolidateAfterMs: 0, budgets },
    });
    const ending = priced('c4', '0.1', {
      claim: claim('c4', { deletionMs: nowMs }),
      pool: limited,
    });
    const others = views.map((each) => ({ ...each, pool: limited }));
    const { candidates, beyondBudgets } = consolidationCandidates([...others, ending], {
      ...options,
      only: new Set([others[1]?.claim.uid ?? '']),
    });
    expect([
      candidates.length,
      beyondBudgets.map(({ view: { claim: each } }) => each.name),
    ]).toEqual([0, ['c2']]);
  });
});
