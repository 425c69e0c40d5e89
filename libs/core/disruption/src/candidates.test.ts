import { describe, expect, test } from '@jest/globals';
import { renderPromise } from '@dovetail/core-api';
import { disruptionBlocks, podBlocks } from './eligibility.js';
import { emptinessOf, emptySinceAnnotation } from './emptiness.js';
import { expiryOf } from './expiry.js';
import { decidePass } from './methods.js';
import { claim, daemon, node, nowMs, pdb, pod, pool, view } from './testing/objects.js';
import type { NodeView } from './view.js';
import type { Pod } from '@dovetail/core-kube-model';

const options = { budgetsOf: () => [], podOf: () => undefined, nowMs };
const emptyAt = (ageMs: number) => ({ [emptySinceAnnotation]: new Date(nowMs - ageMs).toISOString() });
const due = (name: string, more: Partial<NodeView> = {}): NodeView =>
  view({ claim: claim(name, { nodeName: name, annotations: emptyAt(60_000) }), node: node(name), ...more });
const promise = (podUids: readonly string[], untilMs?: number): string => renderPromise({ podUids, admission: '1.1', ...(untilMs === undefined ? {} : { untilMs }) });

describe('a node may not be disrupted', () => {
  const waiting = pod('waiting', { nodeName: undefined as never, phase: 'Pending' });
  const { nodeName: _bound, ...unbound } = waiting;
  test.each<[string, NodeView, string | undefined]>([
    ['when there is none yet', { claim: claim('c1'), pods: [] }, 'node-missing'],
    ['before it is initialised', view({ claim: claim('c1', { conditions: [] }) }), 'node-not-initialized'],
    ['while it is being deleted', view({ node: node('n1', { deletionMs: nowMs }) }), 'node-deleting'],
    ['while it is retired already', view({ node: node('n1', { taints: [{ key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }] }) }), 'node-deleting'],
    ['when it says do-not-disrupt', view({ node: node('n1', { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } }) }), 'node-protected'],
    ['while a promised pod is on its way', view({ node: node('n1', { annotations: { 'dovetail.sh/promise': promise(['uid-waiting']) } }) }), 'node-promised'],
    ['but may when the promise is over', view({ node: node('n1', { annotations: { 'dovetail.sh/promise': promise(['uid-waiting'], nowMs) } }) }), undefined],
    ['but may when the promised pod is gone', view({ node: node('n1', { annotations: { 'dovetail.sh/promise': promise(['uid-other']) } }) }), undefined],
    ['with a pod that says do-not-disrupt', view({ pods: [pod('a', { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } })] }), 'pod-protected'],
    ['with a daemon that says do-not-disrupt', view({ pods: [daemon('d', { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } })] }), 'pod-protected'],
    ['within a pod\'s do-not-disrupt time', view({ pods: [pod('a', { annotations: { 'karpenter.sh/do-not-disrupt': '90m' } })] }), 'pod-protected'],
    ['but may after it', view({ pods: [pod('a', { annotations: { 'karpenter.sh/do-not-disrupt': '30m' } })] }), undefined],
    ['but may when the protected pod has ended', view({ pods: [pod('a', { phase: 'Succeeded', annotations: { 'karpenter.sh/do-not-disrupt': 'true' } })] }), undefined],
  ])('%s', (_what, candidate, code) => {
    const notes = disruptionBlocks(candidate, { ...options, podOf: (uid) => (uid === 'uid-waiting' ? unbound : undefined) });
    expect(notes[0]?.code).toBe(code);
  });

  test.each<[string, Pod, ReturnType<typeof pdb>[], string | undefined]>([
    ['a budget without room blocks', pod('a'), [pdb('p', 0)], 'pod-without-budget'],
    ['a budget with room does not', pod('a'), [pdb('p', 1)], undefined],
    ['two budgets block, whatever they allow', pod('a'), [pdb('p', 1), pdb('q', 1)], 'pod-of-many-budgets'],
    ['an unready pod under AlwaysAllow passes', pod('a', { ready: false }), [pdb('p', 0, { unhealthyPodEvictionPolicy: 'AlwaysAllow' })], undefined],
    ['a ready pod under AlwaysAllow does not', pod('a'), [pdb('p', 0, { unhealthyPodEvictionPolicy: 'AlwaysAllow' })], 'pod-without-budget'],
    ['a pod that tolerates the taint is not asked about', pod('a', { tolerations: [{ operator: 'Exists' }] }), [pdb('p', 0)], undefined],
  ])('%s', (_what, one, budgets, code) => expect(podBlocks(one, budgets, nowMs)[0]?.code).toBe(code));
});

describe('emptiness', () => {
  test.each<[string, Partial<NodeView>, string]>([
    ['a pod that needs a place: occupied', { pods: [pod('a')] }, 'occupied'],
    ['only daemons: empty', { pods: [daemon('d')], claim: claim('c1', { annotations: emptyAt(60_000) }) }, 'due'],
    ['only ended pods: empty', { pods: [pod('a', { phase: 'Succeeded' })], claim: claim('c1', { annotations: emptyAt(60_000) }) }, 'due'],
    ['a pod that costs nothing to evict: empty', { pods: [pod('a', { annotations: { 'controller.kubernetes.io/pod-deletion-cost': '-2147483647' } })], claim: claim('c1', { annotations: emptyAt(60_000) }) }, 'due'],
    ['a terminating pod of a stateful set: occupied', { pods: [pod('a', { deletionMs: nowMs, owner: { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 's', uid: 's' } })] }, 'occupied'],
    ['first seen empty: to be marked before anything counts', {}, 'mark'],
    ['marked 29 s ago: counting', { claim: claim('c1', { annotations: emptyAt(29_000) }) }, 'counting'],
    ['marked 30 s ago: due', { claim: claim('c1', { annotations: emptyAt(30_000) }) }, 'due'],
    ['marked long ago, a pod came and went 10 s ago: counting', { claim: claim('c1', { annotations: emptyAt(600_000), lastPodEventMs: nowMs - 10_000 }) }, 'counting'],
    ['initialised 10 s ago: counting', { claim: claim('c1', { annotations: emptyAt(600_000), conditions: [{ type: 'Initialized', status: 'True', reason: '', message: '', lastTransitionMs: nowMs - 10_000 }] }) }, 'counting'],
    ['consolidateAfter Never: disabled', { pool: pool({ disruption: { policy: 'WhenEmpty', budgets: [] } }), claim: claim('c1', { annotations: emptyAt(600_000) }) }, 'disabled'],
    ['under every policy', { pool: pool({ disruption: { policy: 'WhenEmptyOrUnderutilized', consolidateAfterMs: 0, budgets: [] } }), claim: claim('c1', { annotations: emptyAt(1) }) }, 'due'],
  ])('%s', (_what, more, kind) => expect(emptinessOf(view(more), nowMs).kind).toBe(kind));

  test('a pod that comes takes the mark away', () => expect(emptinessOf(view({ pods: [pod('a')], claim: claim('c1', { annotations: emptyAt(1) }) }), nowMs)).toMatchObject({ kind: 'occupied', unmark: true }));
});

test.each([
  ['never without expireAfter', undefined, 'never'], ['later before its time', 3_600_001, 'later'], ['due at its time', 3_600_000, 'due'],
] as const)('a claim expires %s', (_what, expireAfterMs, kind) => expect(expiryOf(claim('c1', expireAfterMs === undefined ? {} : { expireAfterMs }), nowMs).kind).toBe(kind));

describe('a pass', () => {
  test('retires the longest empty first, as far as the budget allows, and names the budget that held back the rest', () => {
    const limited = pool({ disruption: { policy: 'WhenEmpty', consolidateAfterMs: 30_000, budgets: [{ nodes: { count: 1 } }] } });
    const pass = decidePass([due('a', { pool: limited }), due('b', { pool: limited, claim: claim('b', { annotations: emptyAt(90_000) }) })], options);
    expect(pass.retire.map(({ view: { claim: { name } }, cause }) => [name, cause])).toEqual([['b', 'empty']]);
    expect(pass.exhausted.map(({ note: { code } }) => code)).toEqual(['budget-spent']);
  });

  test('expired nodes come first, ask no budget, and use it up for the others', () => {
    const limited = pool({ disruption: { policy: 'WhenEmpty', consolidateAfterMs: 30_000, budgets: [{ nodes: { count: 1 } }] } });
    const old = view({ claim: claim('old', { expireAfterMs: 1 }), node: node('old', { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } }), pool: limited, pods: [pod('p')] });
    const pass = decidePass([due('a', { pool: limited }), old], options);
    expect(pass.retire.map(({ view: { claim: { name } }, cause }) => [name, cause])).toEqual([['old', 'expired']]);
  });

  test('says when the next node is due, and which are blocked with what', () => {
    const pass = decidePass([view({ claim: claim('c1', { annotations: emptyAt(10_000), expireAfterMs: 7_200_000 }) }), { claim: claim('c2'), pods: [] }], options);
    expect(pass.nextDueMs).toBe(nowMs + 20_000);
    expect(pass.blocked.map(({ view: { claim: { name } }, notes }) => [name, notes[0]?.code])).toEqual([['c2', 'node-missing']]);
  });

  test('does not depend on the order of the nodes', () => {
    const views = [due('a'), due('b'), due('c')];
    const names = (order: readonly NodeView[]) => decidePass(order, options).retire.map(({ view: { claim: { name } } }) => name);
    expect(names(views)).toEqual(names(views.toReversed()));
  });
});
