import type { Placement, Plan } from '@dovetail/core-scheduling';
import { describe, expect, test } from 'vitest';

import type { NodeView } from '../facts/view.js';
import { claim, node, nowMs, pod, pool, view } from '../testing/objects.js';
import { consolidationCandidates } from './candidates.js';
import { judgeRemoval, unsettledUids } from './removal.js';

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

function judged(plan: Partial<Plan>, others: readonly NodeView[] = [settled]) {
  const views = [going, ...others];
  const { candidates } = consolidationCandidates(views, {
    budgetsOf: () => [],
    podOf: () => undefined,
    nowMs,
  });
  const candidate = candidates.find(({ view: each }) => each.claim.uid === going.claim.uid);
  if (candidate === undefined) throw new Error('the node is no candidate');
  const whole = { newNodes: [], placements: [], unplaced: [], ...plan } as unknown as Plan;
  const position = { incarnation: 'one', sequence: 1 };
  return judgeRemoval(candidate, { plan: whole, position }, unsettledUids(views, nowMs));
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
});
