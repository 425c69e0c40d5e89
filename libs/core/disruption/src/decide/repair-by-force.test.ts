import { annotations, labels } from '@dovetail/core-api';
import { describe, expect, test } from 'vitest';

import { renderRetirement } from '../facts/retirement-record.js';
import type { NodeHealth } from '../rules/repair-brake.js';
import { claim, node, nowMs } from '../testing/objects.js';
import { decide } from './decide.js';

const minuteMs = 60_000;
const ofPool = { [labels.nodePool]: 'default' };
const of = (name: string, more: Partial<NodeHealth> = {}): NodeHealth => ({
  node: node(name, { labels: ofPool }),
  claim: claim(`claim-${name}`, { nodeName: name, labels: ofPool }),
  ...more,
});
const since = (minutes: number): { readonly condition: NonNullable<NodeHealth['condition']> } => {
  const sinceMs = nowMs - minutes * minuteMs;
  const dueMs = sinceMs + 30 * minuteMs;
  return { condition: { type: 'Ready', status: 'False', sinceMs, dueMs } };
};
const healthy = (count: number): readonly NodeHealth[] =>
  Array.from({ length: count }, (_, index) => of(`healthy-${String(index)}`));
/** The decision of a pass on these nodes, of which it reads nothing but their health. */
function decideRepairs(nodes: readonly NodeHealth[], atMs: number) {
  const views = nodes.flatMap(({ node: held, claim: of_ }) =>
    of_ === undefined ? [] : [{ node: held, claim: of_, pods: [] }],
  );
  const facts = { health: nodes, budgetsOf: () => [], podOf: () => undefined, nowMs: atMs };
  const { begin, blocked, nextDueMs } = decide(views, facts);
  return {
    repair: begin.map(({ view, note }) => ({ node: view.node ?? node('none'), note })),
    blocked: blocked.flatMap(({ view, cause, notes: [note] }) =>
      cause === undefined || note === undefined ? [] : [{ node: view.node ?? node('none'), note }],
    ),
    ...(nextDueMs === undefined ? {} : { nextDueMs }),
  };
}
const names = (found: readonly { readonly node: { readonly name: string } }[]): readonly string[] =>
  found.map((one) => one.node.name);

describe('repair', () => {
  test('leaves a node alone as long as its condition is tolerated, and says when it is due', () =>
    expect(decideRepairs([of('n1', since(20)), of('n2', since(5))], nowMs)).toEqual({
      repair: [],
      blocked: [],
      nextDueMs: nowMs + 10 * 60_000,
    }));

  test('ends a node whose condition is not tolerated any longer, and says why', () => {
    const { repair, blocked } = decideRepairs([...healthy(4), of('n1', since(31))], nowMs);
    expect([names(repair), blocked]).toEqual([['n1'], []]);
    expect(repair[0]?.note).toEqual({
      code: 'unhealthy',
      message: 'Ready of n1 has been False for 1860 s',
      values: { condition: 'Ready', status: 'False', seconds: '1860' },
    });
  });

  test('ends a node whatever protects it: do-not-disrupt, a budget, a retirement without haste', () => {
    const protectedNode = node('n1', {
      labels: ofPool,
      annotations: {
        [annotations.doNotDisrupt]: 'true',
        [annotations.retirement]: renderRetirement({ cause: 'expired', atMs: nowMs }),
      },
    });
    const sick = of('n1', { node: protectedNode, ...since(31) });
    expect(names(decideRepairs([sick], nowMs).repair)).toEqual(['n1']);
  });

  const forcedNode = node('n1', {
    labels: ofPool,
    annotations: {
      [annotations.retirement]: renderRetirement({
        cause: 'unhealthy',
        atMs: nowMs - 1,
        deadlineMs: nowMs - 1,
      }),
    },
  });
  const forcedClaim = claim('claim-n1', {
    labels: ofPool,
    deletionMs: nowMs - 1,
    annotations: { [annotations.terminationTimestamp]: new Date(nowMs - 1).toISOString() },
  });
  test.each<[string, Partial<NodeHealth>, readonly string[]]>([
    ['whose retirement has no time left', { node: forcedNode }, []],
    ['whose claim is deleted and has no time left', { claim: forcedClaim }, []],
    [
      'whose claim is deleted and drains without a limit',
      { claim: { ...forcedClaim, annotations: {} } },
      ['n1'],
    ],
  ])('of a node %s', (_what, more, repaired) =>
    expect(names(decideRepairs([of('n1', { ...since(31), ...more })], nowMs).repair)).toEqual(
      repaired,
    ),
  );

  test.each([
    ['one of one', 0, 1, true],
    ['one of three, since a fifth is rounded up', 2, 1, true],
    ['two of three', 1, 2, false],
    ['two of ten', 8, 2, true],
    ['three of ten', 7, 3, false],
  ])('with %s unhealthy: %j healthy, %j not, goes on: %j', (_what, well, sick, goesOn) => {
    const unhealthy = Array.from({ length: sick }, (_, index) =>
      of(`n${String(index)}`, since(31)),
    );
    const decision = decideRepairs([...healthy(well), ...unhealthy], nowMs);
    expect([decision.repair.length, decision.blocked.length]).toEqual(
      goesOn ? [sick, 0] : [0, sick],
    );
  });

  test('counts nodes whose condition is still tolerated as unhealthy', () => {
    const { blocked } = decideRepairs([of('n1', since(31)), of('n2', since(1))], nowMs);
    expect(blocked.map(({ note }) => note)).toEqual([
      {
        code: 'repair-blocked',
        message: 'more than 20% nodes are unhealthy in the nodepool',
        values: { nodes: '2', unhealthy: '2', allowed: '1' },
      },
    ]);
  });

  const elsewhere = { labels: { [labels.nodePool]: 'other' } };
  test('does not hold back a pool for the nodes of another', () => {
    const others = ['o1', 'o2', 'o3'].map((name) =>
      of(name, { node: node(name, elsewhere), claim: claim(name, elsewhere), ...since(31) }),
    );
    const { repair, blocked } = decideRepairs([of('n1', since(31)), ...others], nowMs);
    expect([names(repair), names(blocked)]).toEqual([['n1'], ['o1', 'o2', 'o3']]);
  });

  test('of a claim without a pool asks the whole cluster, nodes of others included', () => {
    const alone = of('n1', { node: node('n1'), claim: claim('claim-n1'), ...since(31) });
    const foreign = { node: node('foreign'), ...since(31) };
    expect(names(decideRepairs([alone, ...healthy(4)], nowMs).repair)).toEqual(['n1']);
    expect(decideRepairs([alone, foreign, ...healthy(3)], nowMs).blocked[0]?.note.message).toBe(
      'more than 20% nodes are unhealthy in the cluster',
    );
  });

  test('never ends a node that is not ours', () => {
    const { repair, blocked } = decideRepairs([{ node: node('n1'), ...since(90) }], nowMs);
    expect([repair, blocked]).toEqual([[], []]);
  });
});
