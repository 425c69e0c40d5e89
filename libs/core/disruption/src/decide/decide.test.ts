import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { emptySinceAnnotation } from '../causes/emptiness.js';
import type { NodeView } from '../facts/view.js';
import { claim, node, nowMs, pod, pool, view } from '../testing/objects.js';
import { type Beginning, decide, type StandingsByView, standingsInSteps } from './decide.js';

fc.configureGlobal({ seed: 1 });

const options = { budgetsOf: () => [], podOf: () => undefined, nowMs };
const emptyAt = (ageMs: number) => ({
  [emptySinceAnnotation]: new Date(nowMs - ageMs).toISOString(),
});
const due = (name: string, more: Partial<NodeView> = {}): NodeView =>
  view({
    claim: claim(name, { nodeName: name, annotations: emptyAt(60_000) }),
    node: node(name),
    ...more,
  });

/** The pool of empty nodes, with a budget of so many. */
const limitedTo = (count: number) => {
  const budgets = [{ nodes: { count } }];
  return pool({ disruption: { policy: 'WhenEmpty', consolidateAfterMs: 30_000, budgets } });
};
const nameOf = ({ view: { claim: held } }: Pick<Beginning, 'view'>): string => held.name;
const named = (one: Beginning): readonly string[] => [nameOf(one), one.cause];

describe('a pass', () => {
  test('retires the longest empty first, as far as the budget allows, and names the budget that held back the rest', () => {
    const limited = limitedTo(1);
    const pass = decide(
      [
        due('a', { pool: limited }),
        due('b', { pool: limited, claim: claim('b', { annotations: emptyAt(90_000) }) }),
      ],
      options,
    );
    expect(pass.begin.map(named)).toEqual([['b', 'empty']]);
    expect(pass.exhausted.map(({ note: { code } }) => code)).toEqual(['budget-spent']);
  });

  test('leaves the budget to others while a node pauses after it was given up', () => {
    const limited = limitedTo(1);
    const given = claim('b', { annotations: emptyAt(90_000) });
    const pass = decide([due('a', { pool: limited }), due('b', { pool: limited, claim: given })], {
      ...options,
      pauses: ({ name }) => name === 'b',
    });
    expect(pass.begin.map(nameOf)).toEqual(['a']);
    expect(pass.exhausted).toEqual([]);
  });

  test.each([
    ['no longer counts once its instance ends', ['karpenter.sh/termination'], ['a', 'b']],
    ['counts while finalizers of others keep its Node', ['example.com/keeper'], ['a']],
  ])('a node that has gone %s', (_what, finalizers, retired) => {
    const half = limitedTo(2);
    const ending = claim('gone', { deletionMs: options.nowMs });
    const told = { type: 'InstanceTerminating', status: 'True' } as const;
    const over = view({
      claim: {
        ...ending,
        conditions: [
          ...ending.conditions,
          { ...told, reason: '', message: '', lastTransitionMs: 0 },
        ],
      },
      node: node('gone', { finalizers, deletionMs: options.nowMs }),
      pool: half,
    });
    const views = [over, due('a', { pool: half }), due('b', { pool: half })];
    expect(decide(views, options).begin.map(nameOf)).toEqual(retired);
  });

  test('expired nodes come first, ask no budget, and use it up for the others', () => {
    const limited = limitedTo(1);
    const old = view({
      claim: claim('old', { expireAfterMs: 1 }),
      node: node('old', { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } }),
      pool: limited,
      pods: [pod('p')],
    });
    const pass = decide([due('a', { pool: limited }), old], options);
    expect(pass.begin.map(named)).toEqual([['old', 'expired']]);
  });

  test('begins to replace five expired nodes of a pool at once, the longest expired first', () => {
    const views = Array.from({ length: 8 }, (_, index) =>
      view({
        claim: claim(`c${String(index)}`, { createdMs: 1_000 - index, expireAfterMs: 1 }),
        node: node(`n${String(index)}`),
      }),
    );
    const { begin, eligible } = decide(views, options);
    expect(begin.map(nameOf)).toEqual(['c7', 'c6', 'c5', 'c4', 'c3']);
    expect(eligible.get('expired')).toBe(8);
  });

  test('gives the turn of an expired node that pauses to the next', () => {
    const views = Array.from({ length: 7 }, (_, index) =>
      view({
        claim: claim(`c${String(index)}`, { createdMs: 1_000 + index, expireAfterMs: 1 }),
        node: node(`n${String(index)}`),
      }),
    );
    const pauses = ({ name }: { readonly name: string }): boolean => name < 'c3';
    const { begin } = decide(views, { ...options, pauses });
    expect(begin.map(nameOf)).toEqual(['c3', 'c4', 'c5', 'c6']);
  });

  test('asks of a node with pods not whether it may be disrupted', () => {
    const busy = view({
      pods: [pod('p', { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } })],
    });
    expect(decide([busy], options).blocked).toEqual([]);
  });

  test('says when the next node is due, and which are blocked with what', () => {
    const pass = decide(
      [
        view({ claim: claim('c1', { annotations: emptyAt(10_000), expireAfterMs: 7_200_000 }) }),
        { claim: claim('c2'), pods: [] },
      ],
      options,
    );
    expect(pass.nextDueMs).toBe(nowMs + 20_000);
    expect(
      pass.blocked.map(
        ({
          view: {
            claim: { name },
          },
          notes,
        }) => [name, notes[0]?.code],
      ),
    ).toEqual([['c2', 'node-missing']]);
  });

  test('does not depend on the order of the nodes', () => {
    const views = [due('a'), due('b'), due('c')];
    const names = (order: readonly NodeView[]) => decide(order, options).begin.map(nameOf);
    expect(names(views)).toEqual(names(views.toReversed()));
  });
});

test('a pass never retires more empty nodes than the budget allows, and none twice', () =>
  fc.assert(
    fc.property(fc.nat({ max: 6 }), fc.nat({ max: 6 }), (nodes, allowed) => {
      const limited = limitedTo(allowed);
      const views = Array.from({ length: nodes }, (_, index) =>
        due(`n${String(index)}`, { pool: limited }),
      );
      const retired = decide(views, options).begin.map(nameOf);
      expect(retired).toHaveLength(Math.min(nodes, allowed));
      expect(new Set(retired).size).toBe(retired.length);
    }),
  ));

test('a node that one cause may not end yet may go for the next', () => {
  const budgets = [{ nodes: { count: 0 }, reasons: ['Empty' as const] }];
  const held = pool({ disruption: { policy: 'WhenEmpty', consolidateAfterMs: 30_000, budgets } });
  const conditions = ['Initialized', 'Drifted'].map((type) => ({
    ...{ type, status: 'True' as const, reason: 'AMIDrift', message: 'old' },
    lastTransitionMs: nowMs - 3_600_000,
  }));
  const both = claim('both', { nodeName: 'both', annotations: emptyAt(60_000), conditions });
  const { begin } = decide([due('both', { claim: both, pool: held })], options);
  expect(begin.map(({ view, cause }) => [view.claim.name, cause])).toEqual([['both', 'drifted']]);
});

/** How all nodes stand, and how many steps that took. */
function looked(views: readonly NodeView[]): {
  readonly known: StandingsByView;
  readonly steps: number;
} {
  const reader = standingsInSteps(views, options);
  for (let steps = 0; ; steps += 1) {
    const { done, value } = reader.next();
    if (done === true) return { known: value, steps };
  }
}

test('nodes that were looked at in steps are decided on in the same way', () => {
  const { node: _node, ...absent } = due('absent');
  const views = [due('a', { pool: limitedTo(1) }), due('b', { pool: limitedTo(1) }), absent];
  const { known, steps } = looked(views);
  const { account: _account, ...decision } = decide(views, options);
  expect(steps).toBe(views.length);
  expect(decide(views, options, known)).toMatchObject(decision);
});

test('a node that has changed since it was looked at is looked at again', () => {
  const empty = due('a');
  const { known } = looked([empty]);
  const used = { ...empty, pods: [pod('web')] };
  expect(decide([empty], options, known).begin.map(nameOf)).toEqual(['a']);
  expect(decide([used], options, known).begin).toEqual([]);
});
