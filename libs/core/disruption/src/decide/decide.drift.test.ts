import type { NodeClaim, Pool } from '@dovetail/core-api';
import type { Pod } from '@dovetail/core-kube-model';
import { describe, expect, test } from 'vitest';

import { emptySinceAnnotation } from '../causes/emptiness.js';
import { note } from '../facts/refusal.js';
import type { NodeView } from '../facts/view.js';
import { claim, node, nowMs, pdb, pod, pool, view } from '../testing/objects.js';
import { decide, type DecisionFacts } from './decide.js';

const options: DecisionFacts = { budgetsOf: () => [], podOf: () => undefined, nowMs };
const condition = (type: string, ageMs: number, status: 'True' | 'False' = 'True') => ({
  type,
  status,
  reason: 'AMIDrift',
  message: 'the image is gone',
  lastTransitionMs: nowMs - ageMs,
});
const initialized = condition('Initialized', 3_000_000);

/** A node that drifted a while ago, and changes to it. */
function drifted(
  name: string,
  more: {
    readonly ageMs?: number;
    readonly claim?: Partial<NodeClaim>;
    readonly pool?: Pool;
    readonly pods?: readonly Pod[];
    readonly protected?: boolean;
  } = {},
): NodeView {
  const conditions = [initialized, condition('Drifted', more.ageMs ?? 60_000)];
  return view({
    claim: claim(name, { nodeName: name, conditions, ...more.claim }),
    node: node(name, {
      annotations: more.protected === true ? { 'karpenter.sh/do-not-disrupt': 'true' } : {},
    }),
    pods: more.pods ?? [pod(`of-${name}`, { nodeName: name })],
    pool: more.pool ?? pool(),
  });
}
const namesOf = (views: readonly NodeView[]): readonly string[] =>
  views.map(({ claim: { name } }) => name);
const retired = (views: readonly NodeView[], more: Partial<DecisionFacts> = {}) =>
  decide(views, { ...options, placeAnswer: () => null, ...more }).begin.map(
    ({ view: { claim: one }, cause }) => `${one.name} ${cause}`,
  );
const budget = (count: number, reasons?: readonly ('Empty' | 'Drifted' | 'Underutilized')[]) =>
  pool({
    disruption: {
      policy: 'WhenEmpty',
      consolidateAfterMs: 30_000,
      budgets: [{ nodes: { count }, ...(reasons === undefined ? {} : { reasons }) }],
    },
  });
const protectedPod = pod('p', { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } });
const period = { terminationGracePeriodMs: 60_000 };
const noPdb = { budgetsOf: () => [pdb('b', 0)] };

describe("the retirement of drifted nodes, by Karpenter's behaviours", () => {
  test.each<[string, readonly NodeView[], Partial<DecisionFacts>, readonly string[]]>([
    ['replaces drifted nodes', [drifted('a')], {}, ['a drifted']],
    ['ignores nodes without the drifted status condition', [view({ pods: [pod('p')] })], {}, []],
    [
      'ignores nodes with the drifted status condition set to false',
      [drifted('a', { claim: { conditions: [initialized, condition('Drifted', 1, 'False')] } })],
      {},
      [],
    ],
    [
      'ignores nodes that are not initialized',
      [drifted('a', { claim: { conditions: [condition('Drifted', 1)] } })],
      {},
      [],
    ],
    [
      'ignores nodes with the karpenter.sh/do-not-disrupt annotation',
      [drifted('a', { protected: true })],
      {},
      [],
    ],
    [
      'ignores them with a terminationGracePeriod, too',
      [
        drifted('a', {
          protected: true,
          claim: { ...period, conditions: drifted('a').claim.conditions },
        }),
      ],
      {},
      [],
    ],
    [
      'ignores nodes that have pods with the karpenter.sh/do-not-disrupt annotation',
      [drifted('a', { pods: [protectedPod] })],
      {},
      [],
    ],
    ['ignores nodes that have pods with a blocking PDB', [drifted('a')], noPdb, []],
    [
      'replaces nodes with such pods when their terminationGracePeriod is set',
      [
        drifted('a', {
          pods: [protectedPod],
          claim: { ...period, conditions: drifted('a').claim.conditions },
        }),
      ],
      noPdb,
      ['a drifted'],
    ],
    [
      'replaces drifted nodes even if consolidation is disabled',
      [drifted('a', { pool: pool({ disruption: { policy: 'WhenEmpty', budgets: [] } }) })],
      {},
      ['a drifted'],
    ],
    [
      'takes nodes without pods that move first, then the longest drifted',
      [
        drifted('a', { ageMs: 1_000 }),
        drifted('b', { ageMs: 9_000 }),
        drifted('c', { ageMs: 10, pods: [] }),
      ],
      {},
      ['c drifted', 'b drifted', 'a drifted'],
    ],
    [
      'allows as many as the budget says',
      [
        drifted('a', { ageMs: 3, pool: budget(2) }),
        drifted('b', { ageMs: 2, pool: budget(2) }),
        drifted('c', { ageMs: 1, pool: budget(2) }),
      ],
      {},
      ['a drifted', 'b drifted'],
    ],
    ['allows none with a budget of zero', [drifted('a', { pool: budget(0) })], {}, []],
    [
      'allows none with a budget of zero for Drifted',
      [drifted('a', { pool: budget(0, ['Drifted']) })],
      {},
      [],
    ],
    [
      'asks no budget for another reason',
      [drifted('a', { pool: budget(0, ['Empty', 'Underutilized']) })],
      {},
      ['a drifted'],
    ],
    [
      'takes empty nodes first, which use up the budget',
      [
        drifted('a', { pool: budget(1) }),
        view({
          claim: claim('b', {
            nodeName: 'b',
            annotations: { [emptySinceAnnotation]: new Date(nowMs - 60_000).toISOString() },
          }),
          node: node('b'),
          pool: budget(1),
        }),
      ],
      {},
      ['b empty'],
    ],
    [
      'ignores nodes whose pods have no other place, and takes the next',
      [drifted('a', { ageMs: 9, pool: budget(1) }), drifted('b', { ageMs: 1, pool: budget(1) })],
      {
        placeAnswer: ({ name }) =>
          name === 'a' ? note('pods-without-place', 'its pods have no other place') : null,
      },
      ['b drifted'],
    ],
    ['ignores nodes of a static pool', [drifted('a', { pool: pool({ replicas: 1 }) })], {}, []],
    [
      'ignores nodes of a Provisioner',
      [drifted('a', { pool: pool({ identity: { kind: 'Provisioner', name: 'default' } }) })],
      {},
      [],
    ],
    ['ignores nodes that pause', [drifted('a')], { pauses: () => true }, []],
  ])('%s', (_what, views, more, wanted) => expect(retired(views, more)).toEqual(wanted));

  test('asks about the nodes whose pods move, as many as the budget allows, before it begins', () => {
    const views = ['a', 'b', 'c'].map((name, index) =>
      drifted(name, { ageMs: 9 - index, pool: budget(2), ...(name === 'b' ? { pods: [] } : {}) }),
    );
    const pass = decide(views, options);
    expect([
      namesOf(pass.begin.map((one) => one.view)),
      namesOf(pass.ask.map(({ view }) => view)),
    ]).toEqual([['b'], ['a']]);
  });

  test('tells the reason, what is left of the budget, and the nodes that a PDB holds', () => {
    const pass = decide([drifted('a', { pool: budget(1) })], {
      ...options,
      placeAnswer: () => null,
    });
    expect(pass.begin[0]).toMatchObject({
      record: { detail: 'AMIDrift' },
      note: { code: 'drifted', message: 'AMIDrift: the image is gone' },
    });
    expect([
      pass.account.allowed('Drifted').get('NodePool/default'),
      pass.eligible.get('drifted'),
    ]).toEqual([0, 1]);
    const held = decide([drifted('a')], { ...options, ...noPdb });
    expect(held.blocked.map(({ notes }) => notes[0]?.code)).toEqual(['pod-without-budget']);
  });
});
