import { annotations, type DisruptionBudget, labels, noPool, taints } from '@dovetail/core-api';
import { podValue } from '@dovetail/core-kube-model/testing';
import { expect, test } from 'vitest';

import { note } from '../facts/refusal.js';
import { renderRetirement } from '../facts/retirement-record.js';
import type { UnhealthyCondition } from '../facts/unhealthy.js';
import type { NodeView } from '../facts/view.js';
import type { NodeHealth } from '../rules/repair-brake.js';
import { claim, node, nowMs, pod, pool } from '../testing/objects.js';
import { decide as decideOn, type Decision, type DecisionFacts } from './decide.js';

const minuteMs = 60_000;
const ofPool = { [labels.nodePool]: 'default' };
const inPool = { kind: 'NodePool', name: 'default' } as const;

/** A node of the pool `default`; `minutes`: how long it has not been Ready, absent: it is. */
type Given = {
  readonly minutes?: number;
  readonly node?: Parameters<typeof node>[1];
  readonly claim?: Parameters<typeof claim>[1];
  readonly pods?: NodeView['pods'];
};

const one = (name: string, given: Given) => ({
  node: node(name, { labels: ofPool, ready: given.minutes === undefined, ...given.node }),
  claim: claim(`claim-${name}`, {
    uid: `claim-${name}`,
    nodeName: name,
    labels: ofPool,
    pool: inPool,
    ...given.claim,
  }),
});

function decide(
  given: Readonly<Record<string, Given>>,
  budgets: readonly DisruptionBudget[] = [],
  more: Partial<DecisionFacts> = {},
  conditionOf: (name: string) => UnhealthyCondition | undefined = () => undefined,
): Decision {
  const default_ = pool({ disruption: { policy: 'WhenEmpty', budgets } });
  const health: NodeHealth[] = [];
  const views: NodeView[] = [];
  for (const [name, part] of Object.entries(given)) {
    const made = one(name, part);
    const isPooled = made.claim.pool.name === inPool.name;
    views.push({ ...made, pods: part.pods ?? [], ...(isPooled ? { pool: default_ } : {}) });
    const sinceMs = nowMs - (part.minutes ?? 0) * minuteMs;
    const times = { sinceMs, dueMs: sinceMs + 30 * minuteMs, drainMs: 10 * minuteMs };
    const condition = { type: 'Ready', status: 'False', ...times } as const;
    const held = part.minutes === undefined ? conditionOf(name) : condition;
    health.push({ ...made, ...(held === undefined ? {} : { condition: held }) });
  }
  return decideOn(views, {
    health,
    budgetsOf: () => [],
    podOf: (uid) => (uid === 'uid-waiting' ? podValue('uid-waiting', {}) : undefined),
    nowMs,
    ...more,
  });
}

const well = (count: number): Readonly<Record<string, Given>> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`well-${String(index)}`, {}]));
const names = (decision: Decision): readonly string[] =>
  decision.begin.map(({ view }) => view.node?.name ?? '');
const codes = (decision: Decision): readonly string[] =>
  decision.blocked.flatMap(({ cause, notes }) => (cause ? notes.map(({ code }) => code) : []));

const annotated = (key: string, value = 'true'): { annotations: Record<string, string> } => ({
  annotations: { [key]: value },
});
const registered = { [labels.registered]: 'true' };
const promise = JSON.stringify({ admission: '1.1', podUids: ['uid-waiting'] });

test.each<[string, Given, readonly string[], readonly string[]]>([
  ['that is due is replaced', {}, ['n1'], []],
  ['that is tolerated is left alone', { minutes: 29 }, [], []],
  ['with do-not-disrupt is replaced', { node: annotated(annotations.doNotDisrupt) }, ['n1'], []],
  ['with do-not-repair stays', { node: annotated(annotations.doNotRepair) }, [], ['repair-vetoed']],
  [
    'whose claim has do-not-repair stays',
    { claim: annotated(annotations.doNotRepair) },
    [],
    ['repair-vetoed'],
  ],
  [
    'with do-not-repair of another value is replaced',
    { node: annotated(annotations.doNotRepair, 'yes') },
    ['n1'],
    [],
  ],
  ['of a claim without a pool stays', { claim: { pool: noPool } }, [], ['disruption-disabled']],
  ['whose claim is deleted is left alone', { claim: { deletionMs: nowMs } }, [], []],
  [
    'that is retired already is left alone',
    {
      node: annotated(annotations.retirement, renderRetirement({ cause: 'expired', atMs: nowMs })),
    },
    [],
    [],
  ],
  [
    'to which a pod was promised stays',
    { claim: annotated(annotations.promise, promise) },
    [],
    ['node-promised'],
  ],
  [
    'to which a pod was promised is replaced if it never became usable',
    {
      claim: { ...annotated(annotations.promise, promise), conditions: [] },
      node: { labels: registered },
    },
    ['n1'],
    [],
  ],
  [
    'that never joined is left to the launcher',
    { claim: { conditions: [] } },
    [],
    ['node-not-initialized'],
  ],
  ['that is rebooted stays', { node: { taints: [taints.rebooting] } }, [], ['node-rebooting']],
])('an unhealthy node %s', (_what, given, replaced, blocked) => {
  const decision = decide({ n1: { minutes: 31, ...given }, ...well(4) });
  expect([names(decision), codes(decision)]).toEqual([replaced, blocked]);
});

test('a node whose repair was given up a moment ago pauses', () =>
  expect(
    decide({ n1: { minutes: 31 }, ...well(4) }, [], { pauses: ({ name }) => name === 'claim-n1' }),
  ).toMatchObject({ begin: [], blocked: [], waiting: 1 }));

test('more than a fifth of a pool is not replaced at once, in the words of Karpenter 1.15', () => {
  const { begin, blocked } = decide({ n1: { minutes: 31 }, n2: { minutes: 1 }, ...well(2) });
  expect(begin).toEqual([]);
  expect(blocked.flatMap(({ notes }) => notes.map(({ message }) => message))).toEqual([
    'more than 20% of nodes in nodepool "default" are unhealthy',
  ]);
});

test.each<[string, readonly DisruptionBudget[], Readonly<Record<string, Given>>, string[]]>([
  ['of no node for any reason holds them', [{ nodes: { count: 0 } }], {}, []],
  [
    'of no node for Unhealthy holds them',
    [{ nodes: { count: 0 }, reasons: ['Unhealthy'] }],
    {},
    [],
  ],
  [
    'of no node for Drifted does not',
    [{ nodes: { count: 0 }, reasons: ['Drifted'] }],
    {},
    ['n2', 'n1'],
  ],
  ['of one node lets the longest due go', [{ nodes: { count: 1 } }], {}, ['n2']],
  [
    'of one node is used up by a node that goes already, but not by one that is not Ready',
    [{ nodes: { count: 1 } }],
    { going: { claim: { deletionMs: nowMs } }, unready: { node: { ready: false } } },
    [],
  ],
  [
    'of one node is not used up by one that is not Ready',
    [{ nodes: { count: 1 } }],
    { unready: { node: { ready: false } } },
    ['n2'],
  ],
  [
    'takes no notice of nodes that never became usable',
    [{ nodes: { count: 0 } }],
    {
      n3: {
        minutes: 40,
        claim: { conditions: [] },
        node: { labels: { ...ofPool, ...registered } },
      },
    },
    ['n3'],
  ],
])('a budget %s', (_what, budgets, more, replaced) => {
  const nodes = { n1: { minutes: 31 }, n2: { minutes: 35 }, ...more, ...well(12) };
  const decision = decide(nodes, budgets);
  expect(names(decision)).toEqual(replaced);
  const isHeld = replaced.length < 2;
  expect(decision.exhausted.map(({ note }) => note.code)).toEqual(isHeld ? ['budget-spent'] : []);
});

test('the next node that becomes due is told', () =>
  expect(decide({ n1: { minutes: 20 }, n2: { minutes: 5 } }).nextDueMs).toBe(
    nowMs + 10 * minuteMs,
  ));

test('a node with pods is replaced once a solver has said that they have another place', () => {
  // No budget of theirs and no annotation keeps them: a repair takes all pods along.
  const kept = pod('a', { annotations: { [annotations.doNotDisrupt]: 'true' } });
  const sick = { n1: { minutes: 31, pods: [kept] } };
  const asked = (answer: Parameters<typeof decide>[2]) => {
    const { begin, ask, blocked } = decide(sick, [], answer);
    return [begin.length, ask.map(({ view, cause }) => [view.node?.name, cause]), blocked.length];
  };
  const noPlace = note('pods-without-place', 'no place');
  expect(asked({})).toEqual([0, [['n1', 'unhealthy']], 0]);
  expect(asked({ placeAnswer: () => null })).toEqual([1, [], 0]);
  expect(asked({ placeAnswer: () => noPlace })).toEqual([0, [], 0]);
  expect(asked({ placeAnswer: (_claim, cause) => (cause === 'drifted' ? null : noPlace) })).toEqual(
    [0, [], 0],
  );
});

test('a node whose condition has no time is never repaired, and counts as unhealthy', () => {
  const timeless = { type: 'Ready', status: 'False', sinceMs: Infinity, dueMs: Infinity } as const;
  const decisionWith = (sick: number): Decision => {
    const others = Array.from({ length: sick }, (_, index) => `timeless-${String(index)}`);
    const nodes = {
      n1: { minutes: 31 },
      ...Object.fromEntries(others.map((name) => [name, {}])),
      ...well(9 - sick),
    };
    return decide(nodes, [], {}, (name) => (others.includes(name) ? timeless : undefined));
  };
  expect(names(decisionWith(1))).toEqual(['n1']);
  expect(codes(decisionWith(2))).toEqual(['repair-blocked']);
  expect(decisionWith(2).nextDueMs).toBeUndefined();
});
