import { annotations, labels } from '@dovetail/core-api';
import { describe, expect, test } from 'vitest';

import { decideRepairs, type NodeHealth, unhealthyConditionOf } from './repair.js';
import { renderRetirement } from './retirement-record.js';
import { claim, node, nowMs } from './testing/objects.js';

const minutesAgo = (minutes: number): string => new Date(nowMs - minutes * 60_000).toISOString();
const rawNode = (...conditions: readonly object[]): object => ({ status: { conditions } });
const condition = (type: string, status: string, minutes: number): object => ({
  type,
  status,
  lastTransitionTime: minutesAgo(minutes),
});
/** How many minutes from now a node with these conditions is due; undefined: it is healthy. */
const dueIn = (raw: unknown): number | undefined => {
  const found = unhealthyConditionOf(raw);
  return found === undefined ? undefined : (found.dueMs - nowMs) / 60_000;
};

describe('a node', () => {
  test.each<[string, object, number | undefined]>([
    [
      'whose type of condition no policy names is healthy',
      condition('Fake', 'False', 90),
      undefined,
    ],
    ['whose status no policy names is healthy', condition('Ready', 'True', 90), undefined],
    [
      'whose hardware may be ready is healthy',
      condition('AcceleratedHardwareReady', 'Unknown', 90),
      undefined,
    ],
    [
      'whose condition has no time is healthy: its toleration cannot be counted',
      { type: 'Ready', status: 'False' },
      undefined,
    ],
    ['that is not Ready is tolerated for 30 minutes', condition('Ready', 'False', 10), 20],
    ['that is silent is tolerated for 30 minutes', condition('Ready', 'Unknown', 10), 20],
    [
      'with broken accelerators is tolerated for 10 minutes',
      condition('AcceleratedHardwareReady', 'False', 4),
      6,
    ],
    ['with broken storage is tolerated for 30 minutes', condition('StorageReady', 'False', 0), 30],
    [
      'with broken network is tolerated for 30 minutes',
      condition('NetworkingReady', 'False', 0),
      30,
    ],
    ['with a broken kernel is tolerated for 30 minutes', condition('KernelReady', 'False', 0), 30],
    [
      'with a broken container runtime is tolerated for 30 minutes',
      condition('ContainerRuntimeReady', 'False', 0),
      30,
    ],
  ])('%s', (_what, held, minutes) => expect(dueIn(rawNode(held))).toBe(minutes));

  test('that is unhealthy in two ways is due by the first of them', () => {
    const raw = rawNode(
      condition('Ready', 'False', 15),
      condition('AcceleratedHardwareReady', 'False', 1),
    );
    expect([dueIn(raw), unhealthyConditionOf(raw)?.type]).toEqual([9, 'AcceleratedHardwareReady']);
  });

  test.each([undefined, {}, { status: { conditions: 'none' } }, { status: null }])(
    'that says %j of its conditions is healthy',
    (raw) => expect(unhealthyConditionOf(raw)).toBeUndefined(),
  );
});

const ofPool = { [labels.nodePool]: 'default' };
const of = (name: string, more: Partial<NodeHealth> = {}): NodeHealth => ({
  node: node(name, { labels: ofPool }),
  claim: claim(`claim-${name}`, { nodeName: name, labels: ofPool }),
  ...more,
});
const since = (minutes: number): { readonly condition: NonNullable<NodeHealth['condition']> } => {
  const found = unhealthyConditionOf(rawNode(condition('Ready', 'False', minutes)));
  if (found === undefined) throw new Error('not unhealthy');
  return { condition: found };
};
const healthy = (count: number): readonly NodeHealth[] =>
  Array.from({ length: count }, (_, index) => of(`healthy-${String(index)}`));
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
