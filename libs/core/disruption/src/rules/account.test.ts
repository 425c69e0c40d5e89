import { disruptionReasons, taints } from '@dovetail/core-api';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import type { NodeView } from '../facts/view.js';
import { claim, node, nowMs, pool, view } from '../testing/objects.js';
import { BudgetAccount } from './account.js';

fc.configureGlobal({ seed: 1 });

const limited = (count: number) =>
  pool({ disruption: { policy: 'WhenEmpty', budgets: [{ nodes: { count } }] } });
const { rebooting } = taints;
const key = 'NodePool/default';
/** Nodes that use up the budget of ten for each reason. */
const used = (...views: readonly NodeView[]) => {
  const account = new BudgetAccount(
    views.map((one) => (one.pool === undefined ? one : { ...one, pool: limited(10) })),
    nowMs,
  );
  return [account.consuming('Empty').get(key), account.consuming('Unhealthy').get(key)];
};

describe('the account of budgets', () => {
  test.each<[string, NodeView, readonly (number | undefined)[]]>([
    ['a claim without a node', { claim: claim('c'), pods: [] }, [undefined, undefined]],
    [
      'a node of a pool that is gone',
      { claim: claim('c'), node: node('n'), pods: [] },
      [undefined, undefined],
    ],
    ['a node that is not initialised', view({ claim: claim('c', { conditions: [] }) }), [0, 0]],
    ['a healthy node', view(), [0, 0]],
    [
      'a node that is not Ready, but not for its repair',
      view({ node: node('n', { ready: false }) }),
      [1, 0],
    ],
    [
      'a node that is rebooted, also while its claim is not initialised',
      view({ claim: claim('c', { conditions: [] }), node: node('n', { taints: [rebooting] }) }),
      [1, 1],
    ],
    [
      'a node whose claim is being deleted',
      view({ claim: claim('c', { deletionMs: nowMs }) }),
      [1, 1],
    ],
  ])('charges %s', (_name, one, charged) => expect(used(one)).toEqual(charged));

  const nodesOf = (states: readonly ('well' | 'unready' | 'going' | 'young')[], count: number) =>
    states.map((state, index) =>
      view({
        claim: claim(`c${String(index)}`, {
          uid: `c${String(index)}`,
          ...(state === 'young' ? { conditions: [] } : {}),
          ...(state === 'going' ? { deletionMs: nowMs } : {}),
        }),
        node: node(`n${String(index)}`, { ready: state !== 'unready' }),
        pool: limited(count),
      }),
    );

  test('lets no more nodes go than the budget says, whoever takes them for whatever reason', () =>
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('well' as const, 'unready' as const, 'going' as const)),
        fc.nat({ max: 5 }),
        fc.array(fc.tuple(fc.nat({ max: 9 }), fc.constantFrom(...disruptionReasons))),
        (states, count, takes) => {
          const views = nodesOf(states, count);
          const account = new BudgetAccount(views, nowMs);
          const before = account.consuming('Unhealthy').get(key) ?? 0;
          const taken = takes.filter(([index, reason]) => {
            const one = views[index];
            return one !== undefined && states[index] !== 'going' && account.take(one, reason);
          });
          const going = new Set(taken.map(([index]) => index)).size;
          expect(before + going).toBeLessThanOrEqual(Math.max(before, count));
          expect(account.consuming('Unhealthy').get(key) ?? 0).toBe(before + going);
        },
      ),
    ));

  test('charges a node once, however often it is taken', () => {
    const [one, other] = nodesOf(['well', 'well'], 1);
    if (one === undefined || other === undefined) throw new Error('two nodes');
    const account = new BudgetAccount([one, other], nowMs);
    expect([account.take(one), account.take(one), account.take(other, 'Drifted')]).toEqual([
      true,
      true,
      false,
    ]);
    expect(account.exhausted().map(({ note }) => note.code)).toEqual(['budget-spent']);
  });

  test('takes nothing for a node that never became usable', () => {
    const [young, well] = nodesOf(['young', 'well'], 1);
    if (young === undefined || well === undefined) throw new Error('two nodes');
    const account = new BudgetAccount([young, well], nowMs);
    expect([account.take(young, 'Unhealthy'), account.take(well, 'Unhealthy')]).toEqual([
      true,
      true,
    ]);
  });
});
