import type { Placement, Plan } from '@dovetail/core-scheduling';
import { describe, expect, test } from 'vitest';

import type { NodeView } from '../facts/view.js';
import { claim, node, nowMs, pod, pool, view } from '../testing/objects.js';
import { consolidationCandidates } from './candidates.js';
import { judgeRemoval, unsettledAmong } from './removal.js';

const underused = pool({
  disruption: { policy: 'WhenEmptyOrUnderutilized', consolidateAfterMs: 60_000, budgets: [] },
});
const going = view({ pool: underused, pods: [pod('a'), pod('b')] });
const settled = view({ claim: claim('c2', { nodeName: 'n2' }), node: node('n2'), pool: underused });
const to = (name: string, ...pods: readonly string[]): Placement => ({
  nodeName: name,
  nodeUid: `uid-${name}`,
  podUids: pods.map((each) => `uid-${each}`),
  topologyGroups: [],
});
const bin = { id: 'bin-0' } as Plan['newNodes'][number];

type Given = { readonly price?: number; readonly moveCost?: number };

function judged(
  plan: Partial<Plan>,
  others: readonly NodeView[] = [settled],
  { price, moveCost = 0 }: Given = {},
) {
  const views = [price === undefined ? going : { ...going, priceMicrosPerHour: price }, ...others];
  const { candidates } = consolidationCandidates(views, {
    budgetsOf: () => [],
    podOf: () => undefined,
    nowMs,
  });
  const candidate = candidates.find(({ view: each }) => each.claim.uid === going.claim.uid);
  if (candidate === undefined) throw new Error('the node is no candidate');
  const whole = { newNodes: [], placements: [], unplaced: [], ...plan } as unknown as Plan;
  const position = { incarnation: 'one', sequence: 1 };
  return judgeRemoval(candidate, { plan: whole, position }, unsettledAmong(views, nowMs), {
    moveCostMicrosPerHour: moveCost,
  });
}

describe('a node', () => {
  test('whose pods all fit on nodes that stay may go', () => {
    const found = judged({ placements: [to('n2', 'a'), to('foreign', 'b')] });
    expect(found).toMatchObject({
      kind: 'command',
      command: {
        cause: 'underutilized',
        nodesOut: [{ nodeName: 'n1' }],
        nodesIn: [],
        moves: [
          { podUid: 'uid-a', to: { nodeName: 'n2' } },
          { podUid: 'uid-b', to: { nodeName: 'foreign' } },
        ],
        disruptionCost: 3,
      },
    });
  });

  test.each<[string, Partial<Plan>, readonly NodeView[], string]>([
    [
      'one of whose pods fits nowhere',
      { placements: [to('n2', 'a')] },
      [settled],
      'pods-without-place',
    ],
    [
      'for whose pods another would be bought',
      { newNodes: [bin], placements: [to('n2', 'a')] },
      [settled],
      'needs-new-node',
    ],
    [
      'whose pods fit only on a node that had a pod event within consolidateAfter',
      { placements: [to('n2', 'a', 'b')] },
      [{ ...settled, claim: { ...settled.claim, lastPodEventMs: nowMs - 1_000 } }],
      'pods-without-place',
    ],
    [
      'whose pods fit only on a node that is not initialised',
      { placements: [to('n2', 'a', 'b')] },
      [{ ...settled, claim: { ...settled.claim, conditions: [] } }],
      'pods-without-place',
    ],
    [
      'whose pods fit only on a node that ends',
      { placements: [to('n2', 'a', 'b')] },
      [{ ...settled, claim: { ...settled.claim, deletionMs: nowMs } }],
      'pods-without-place',
    ],
    ['whose pods would stay on it', { placements: [to('n1', 'a', 'b')] }, [], 'pods-without-place'],
  ])('%s stays', (_what, plan, others, code) =>
    expect(judged(plan, others)).toMatchObject({ kind: 'stays', note: { code } }),
  );

  // Two pods of 30 seconds of grace are 2.1 moves.
  test.each<[string, Given, string]>([
    ['goes if it saves as much as its moves cost', { price: 21_000, moveCost: 10_000 }, 'command'],
    ['stays if it saves less', { price: 20_999, moveCost: 10_000 }, 'stays'],
    ['goes whatever moves cost, if its price is unknown', { moveCost: 10_000 }, 'command'],
  ])('%s', (_what, given, kind) => {
    const found = judged({ placements: [to('n2', 'a', 'b')] }, [settled], given);
    expect(found.kind).toBe(kind);
  });

  test('that stays for its moves says both in dollars', () => {
    const given = { price: 20_000, moveCost: 10_000 };
    expect(judged({ placements: [to('n2', 'a', 'b')] }, [settled], given)).toMatchObject({
      note: {
        code: 'not-worthwhile',
        message:
          'the saving of $0.0200 an hour is less than the cost of its moves, $0.0210 (pods: 2)',
      },
    });
  });
});
