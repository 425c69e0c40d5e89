import { annotations, labels, renderPromise, taints } from '@dovetail/core-api';
import type { Pod } from '@dovetail/core-kube-model';
import { describe, expect, test } from 'vitest';

import type { NodeView } from '../facts/view.js';
import { claim, daemon, node, nowMs, pdb, pod, view } from '../testing/objects.js';
import { disruptionBlocks, livePromises, podBlocks } from './eligibility.js';

const options = { budgetsOf: () => [], podOf: () => undefined, nowMs };
const promise = (podUids: readonly string[], untilMs?: number): string =>
  renderPromise({ podUids, admission: '1.1', ...(untilMs === undefined ? {} : { untilMs }) });

describe('a node may not be disrupted', () => {
  const waiting = pod('waiting', { nodeName: undefined as never, phase: 'Pending' });
  const { nodeName: _bound, ...unbound } = waiting;
  test.each<[string, NodeView, string | undefined]>([
    ['when there is none yet', { claim: claim('c1'), pods: [] }, 'node-missing'],
    [
      'before it is initialised',
      view({ claim: claim('c1', { conditions: [] }) }),
      'node-not-initialized',
    ],
    [
      'while it is being deleted',
      view({ node: node('n1', { deletionMs: nowMs }) }),
      'node-deleting',
    ],
    [
      'while it is retired already',
      view({
        node: node('n1', { taints: [{ key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }] }),
      }),
      'node-deleting',
    ],
    [
      'when it says do-not-disrupt',
      view({ node: node('n1', { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } }) }),
      'node-protected',
    ],
    [
      'while a promised pod is on its way',
      view({
        node: node('n1', { annotations: { 'dovetail.sh/promise': promise(['uid-waiting']) } }),
      }),
      'node-promised',
    ],
    [
      'but may when the promise is over',
      view({
        node: node('n1', {
          annotations: { 'dovetail.sh/promise': promise(['uid-waiting'], nowMs) },
        }),
      }),
      undefined,
    ],
    [
      'but may when the promised pod is gone',
      view({
        node: node('n1', { annotations: { 'dovetail.sh/promise': promise(['uid-other']) } }),
      }),
      undefined,
    ],
    [
      'with a pod that says do-not-disrupt',
      view({ pods: [pod('a', { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } })] }),
      'pod-protected',
    ],
    [
      'with a daemon that says do-not-disrupt',
      view({ pods: [daemon('d', { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } })] }),
      'pod-protected',
    ],
    [
      "within a pod's do-not-disrupt time",
      view({ pods: [pod('a', { annotations: { 'karpenter.sh/do-not-disrupt': '90m' } })] }),
      'pod-protected',
    ],
    [
      'but may after it',
      view({ pods: [pod('a', { annotations: { 'karpenter.sh/do-not-disrupt': '30m' } })] }),
      undefined,
    ],
    [
      'but may when the protected pod has ended',
      view({
        pods: [
          pod('a', { phase: 'Succeeded', annotations: { 'karpenter.sh/do-not-disrupt': 'true' } }),
        ],
      }),
      undefined,
    ],
  ])('%s', (_what, candidate, code) => {
    const notes = disruptionBlocks(candidate, {
      ...options,
      podOf: (uid) => (uid === 'uid-waiting' ? unbound : undefined),
    });
    expect(notes[0]?.code).toBe(code);
  });

  test.each<[string, Pod, ReturnType<typeof pdb>[], string | undefined]>([
    ['a budget without room blocks', pod('a'), [pdb('p', 0)], 'pod-without-budget'],
    ['a budget with room does not', pod('a'), [pdb('p', 1)], undefined],
    [
      'two budgets block, whatever they allow',
      pod('a'),
      [pdb('p', 1), pdb('q', 1)],
      'pod-of-many-budgets',
    ],
    [
      'an unready pod under AlwaysAllow passes',
      pod('a', { ready: false }),
      [pdb('p', 0, { unhealthyPodEvictionPolicy: 'AlwaysAllow' })],
      undefined,
    ],
    [
      'a ready pod under AlwaysAllow does not',
      pod('a'),
      [pdb('p', 0, { unhealthyPodEvictionPolicy: 'AlwaysAllow' })],
      'pod-without-budget',
    ],
    [
      'a pod that tolerates the taint is not asked about',
      pod('a', { tolerations: [{ operator: 'Exists' }] }),
      [pdb('p', 0)],
      undefined,
    ],
  ])('%s', (_what, one, budgets, code) =>
    expect(podBlocks(one, budgets, nowMs)[0]?.code).toBe(code),
  );
});

describe("a node is left in Karpenter 1.15's words", () => {
  const { nodeName: _bound, ...unbound } = pod('waiting', { phase: 'Pending' });
  const isTrue = (type: string) =>
    ({ type, status: 'True', reason: '', message: '', lastTransitionMs: nowMs }) as const;
  const { rebooting, disrupted } = taints;
  const promised = { [annotations.promise]: promise(['uid-waiting']) };
  const vetoed = { [annotations.doNotDisrupt]: 'true' };
  const joined = { [labels.registered]: 'true' };
  const young = { conditions: [] };
  const isRebooted = claim('c1', { conditions: [isTrue('Initialized'), isTrue('Rebooting')] });

  test.each<[string, NodeView, string]>([
    ['while it is rebooted, as its claim says', view({ claim: isRebooted }), 'Node is rebooting'],
    [
      'while it is rebooted, as its taint says',
      view({ claim: claim('c1', young), node: node('n1', { taints: [rebooting] }) }),
      'Node is rebooting',
    ],
    [
      'which say that it is rebooted before they say that it goes',
      view({ node: node('n1', { taints: [rebooting, disrupted] }) }),
      'Node is rebooting',
    ],
    [
      'which say that it goes before they say that it is new',
      view({ claim: claim('c1', young), node: node('n1', { taints: [disrupted] }) }),
      'Node is deleting or marked for deletion',
    ],
    [
      'until it has joined',
      view({ claim: claim('c1', young), node: node('n1', { annotations: promised }) }),
      "Node isn't initialized nor registered",
    ],
    [
      'until it is initialised, whatever was promised on it',
      view({
        claim: claim('c1', young),
        node: node('n1', { labels: joined, annotations: promised }),
      }),
      "Node isn't initialized",
    ],
    [
      'which name the promise before the veto',
      view({ node: node('n1', { annotations: { ...promised, ...vetoed } }) }),
      'Node is nominated for a pending pod',
    ],
    [
      'which name the veto before that of a pod',
      view({
        node: node('n1', { annotations: vetoed }),
        pods: [pod('a', { annotations: vetoed })],
      }),
      'Disruption is blocked through the "karpenter.sh/do-not-disrupt" annotation',
    ],
    [
      'for a pod that has a veto',
      view({ pods: [pod('a', { annotations: vetoed })] }),
      'Pod has "karpenter.sh/do-not-disrupt" annotation: default/a',
    ],
  ])('%s', (_when, candidate, message) => {
    const notes = disruptionBlocks(candidate, {
      ...options,
      podOf: (uid) => (uid === 'uid-waiting' ? unbound : undefined),
    });
    expect(notes.map((one) => one.message)).toEqual([message]);
  });

  test.each([
    ['a time does not veto the end of a node', '1h'],
    ['false does not veto it', 'false'],
  ])('%s: only true does', (_what, value) => {
    const one = node('n1', { annotations: { [annotations.doNotDisrupt]: value } });
    expect(disruptionBlocks(view({ node: one }), options)).toEqual([]);
  });
});

describe('promises on a node', () => {
  const { nodeName: _bound, ...waiting } = pod('w', { phase: 'Pending' });
  const on = (text: string): NodeView =>
    view({ node: node('n1', { annotations: { 'dovetail.sh/promise': text } }) });
  const live = (
    text: string,
    podOf: (uid: string) => typeof waiting | undefined,
  ): readonly string[] => livePromises(on(text), podOf, nowMs);

  test.each<[string, string, readonly string[]]>([
    ['wait for a pod that has no node yet', promise(['uid-w']), ['uid-w']],
    ['end with their time', promise(['uid-w'], nowMs), []],
    ['hold a moment before it', promise(['uid-w'], nowMs + 1), ['uid-w']],
    ['do not wait for a pod that is gone', promise(['uid-gone']), []],
    ['are nothing where they cannot be read', '{', []],
  ])('%s', (_name, text, waits) =>
    expect(live(text, (uid) => (uid === 'uid-w' ? waiting : undefined))).toEqual(waits),
  );

  test('do not wait for a pod that is bound, ended or being deleted', () => {
    for (const one of [
      pod('w'),
      { ...waiting, phase: 'Failed' as const },
      { ...waiting, deletionMs: 1 },
    ])
      expect(live(promise(['uid-w']), () => one)).toEqual([]);
  });

  test('keep room by amount until their time', () => {
    const reserved = (untilMs?: number): string =>
      renderPromise({
        podUids: [],
        admission: '1.1',
        reserved: { cpu: 1 },
        ...(untilMs === undefined ? {} : { untilMs }),
      });
    expect(live(reserved(nowMs + 1), () => undefined)).toEqual(['reserved']);
    expect(live(reserved(nowMs), () => undefined)).toEqual([]);
  });

  test('keep room by amount for pods that are still to move, also before there is an end', () => {
    const room = { podUids: [], admission: '1.1', reserved: { cpu: 1 }, forPodUids: ['uid-m'] };
    const text = renderPromise(room);
    expect(live(text, () => pod('m'))).toEqual(['reserved']);
    expect(live(text, () => pod('m', { deletionMs: 1 }))).toEqual([]);
    expect(live(text, () => undefined)).toEqual([]);
  });
});
