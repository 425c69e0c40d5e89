import type { Decision } from '@dovetail/contracts';
import { expect, test } from 'vitest';

import { clusterStatus } from './cluster-status.js';
import { Decided } from './decided.js';
import type { Status } from './status.js';
import { statusText } from './text.js';

const nowMs = Date.UTC(2026, 0, 1, 12);
const nothing = clusterStatus({ leases: [], claims: [], nodes: [], pods: [], pools: [] }, nowMs);
const waiting = {
  pod: 'shop/web',
  uid: 'web',
  waitingMs: 5_000,
  scheduler: 'default-scheduler',
  why: 'kube-scheduler: no',
};

const decision = (over: Partial<Decision>): Decision => ({
  id: 'd',
  kind: 'unschedulable',
  atMs: nowMs - 60_000,
  source: 'launcher',
  summary: 'found no place',
  objects: [{ kind: 'Pod', name: 'web', namespace: 'shop', uid: 'web' }],
  reasons: [],
  alternatives: [],
  facts: {},
  ...over,
});

const gapFacts = {
  nodes: '12',
  planNodes: '11',
  planPriceMicrosPerHour: '1850000',
  podsUnplaced: '0',
};
const unbound = decision({
  kind: 'gap',
  source: 'reaper',
  objects: [],
  priceMicrosPerHour: 1_920_000,
  facts: gapFacts,
});
const gap = (over: Partial<Decision>): Decision => ({
  ...unbound,
  lowerBoundMicrosPerHour: 1_810_000,
  ...over,
});

function statusOf(...decisions: readonly Decision[]): Status {
  const status = { ...nothing, waiting: [waiting] };
  const decided = new Decided(status.waiting);
  for (const one of decisions) decided.take(one);
  return decided.into(status, nowMs);
}

const tooLarge: Decision['reasons'][number] = {
  code: 'pool-limit',
  message: 'no type has 60 CPUs',
  remedy: 'add a larger type',
  values: {},
};

test('a waiting pod has the reason and the remedy of the planner', () =>
  expect(statusOf(decision({ reasons: [tooLarge] })).waiting).toEqual([
    {
      ...waiting,
      why: 'no type has 60 CPUs. Remedy: add a larger type',
      codes: ['pool-limit'],
      said: 'unschedulable',
    },
  ]));

test('the last decision about a pod counts, in whatever order they come', () => {
  const admitted = decision({ kind: 'admit', atMs: nowMs - 1_000, claimName: 'default-1' });
  const refused = decision({ reasons: [tooLarge] });
  for (const order of [
    [admitted, refused],
    [refused, admitted],
  ])
    expect(statusOf(...order).waiting[0]?.why).toBe('its node is on the way: NodeClaim default-1');
});

test('a pod that nothing was decided of keeps the reason of kube-scheduler', () =>
  expect(statusOf(decision({ objects: [] })).waiting).toEqual([waiting]));

test('the last five rounds come in order of time, each with its price and the least possible', () => {
  const plans = [3, 1, 7, 2, 6, 5, 4].map((minutes) =>
    decision({
      kind: 'plan',
      atMs: nowMs - minutes * 60_000,
      summary: `round ${String(minutes)}`,
      priceMicrosPerHour: 200_000,
      lowerBoundMicrosPerHour: 190_000,
    }),
  );
  const status = statusOf(...plans);
  expect(status.rounds?.map(({ summary }) => summary)).toEqual(
    [5, 4, 3, 2, 1].map((minutes) => `round ${String(minutes)}`),
  );
  expect(statusText(status)).toMatch(/^5m ago +plan +0\.2000 +0\.1900 +round 5$/m);
});

test.each([
  [
    'the last comparison counts, in whatever order they come',
    [
      gap({ atMs: nowMs - 60_000 }),
      gap({ atMs: nowMs - 900_000, facts: { planPriceMicrosPerHour: '1' } }),
    ],
    'from nothing: $1.8500/h on 11 nodes, at least $1.8100/h, 1m ago',
  ],
  [
    'one without a bound says none, and names pods without a place',
    [
      {
        ...unbound,
        priceEstimated: true,
        facts: { ...gapFacts, planNodes: '1', podsUnplaced: '2' },
      },
    ],
    'from nothing: ~$1.8500/h on 1 node, without 2 pods, 1m ago',
  ],
])('of what pods would cost from nothing, %s', (_what, decisions, line) => {
  const [, second] = statusText(statusOf(...decisions)).split('\n');
  expect(second).toBe(line);
});

test('a comparison is no round, and JSON has its numbers', () => {
  const status = statusOf(gap({}));
  expect(status.rounds).toEqual([]);
  expect(status.gap).toEqual({
    time: new Date(nowMs - 60_000).toISOString(),
    msAgo: 60_000,
    nodes: 12,
    priceMicrosPerHour: 1_920_000,
    planNodes: 11,
    planPriceMicrosPerHour: 1_850_000,
    lowerBoundMicrosPerHour: 1_810_000,
    podsUnplaced: 0,
    priceEstimated: false,
  });
  expect(statusOf().gap).toBeUndefined();
});

test('no round yet, and decisions that are not read, are said to be so', () => {
  expect(statusText(statusOf())).toContain('LAST ROUNDS\nnothing was planned or ended');
  for (const rounds of [{}, { rounds: [] }]) {
    const text = statusText({ ...nothing, ...rounds, decisionsUnread: 'NATS refuses' });
    expect(text).toMatch(/LAST ROUNDS\nnot read: NATS refuses\n$/);
  }
});
