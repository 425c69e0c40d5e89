import { annotations, renderPromise } from '@dovetail/core-api';
import { claimValue } from '@dovetail/core-api/testing';
import { Cluster, livePromise } from '@dovetail/core-cluster';
import { nodeValue, podValue } from '@dovetail/core-kube-model/testing';
import { describe, expect, test } from 'vitest';

import { mergedPromise, promiseWithout } from './promise-changes.js';
import { lateClaims, yieldingClaims } from './take-over.js';
import { clusterOf } from './testing/judging.js';

describe('promises', () => {
  const waits = (uid: string): boolean => uid !== 'bound';
  test.each([
    ['to a holder without one', undefined, { podUids: ['b'], admission: '1.2', untilMs: 9 }],
    [
      'pods that still wait stay, those that do not go',
      { podUids: ['a', 'bound'], admission: '1.1', untilMs: 20 },
      { podUids: ['a', 'b'], admission: '1.2', untilMs: 20 },
    ],
    [
      'a promise without an end keeps none',
      { podUids: ['a'], admission: '1.1' },
      { podUids: ['a', 'b'], admission: '1.2' },
    ],
    [
      'kept room adds up',
      { podUids: [], admission: '1.1', untilMs: 20, reserved: { cpu: 1 } },
      { podUids: ['b'], admission: '1.2', untilMs: 20, reserved: { cpu: 1 } },
    ],
  ])('%s', (_sentence, held, expected) =>
    expect(mergedPromise(held, { podUids: ['b'], admission: '1.2', untilMs: 9 }, waits)).toEqual(
      expected,
    ),
  );
  test('kept room says for which pods it is, of several nodes, unless a part of it does not', () => {
    const first = { podUids: [], admission: '1.1', reserved: { cpu: 1 }, forPodUids: ['x'] };
    const second = { ...first, admission: '1.2', forPodUids: ['y'] };
    const both = { ...second, reserved: { cpu: 2 }, forPodUids: ['x', 'y'] };
    expect(mergedPromise(first, second, waits)).toEqual(both);
    const { forPodUids: _for, ...unnamed } = first;
    expect(mergedPromise(unnamed, second, waits)).not.toHaveProperty('forPodUids');
    expect(promiseWithout(both, second)).toEqual({ ...first, admission: '1.2' });
    expect(promiseWithout(second, second)).toBeUndefined();
  });
  test('taken back, it leaves what others were promised', () => {
    expect(
      promiseWithout(
        { podUids: ['a', 'b'], admission: '1.2' },
        { podUids: ['b'], admission: '1.2' },
      ),
    ).toEqual({ podUids: ['a'], admission: '1.2' });
    expect(
      promiseWithout({ podUids: ['b'], admission: '1.2' }, { podUids: ['b'], admission: '1.2' }),
    ).toBeUndefined();
  });
  const replaces = { nodeName: 'n', nodeUid: 'n' };
  test('room for a replaced node outlives the last pod that shares its promise', () => {
    const held = { podUids: ['b'], admission: '1.2', reserved: { cpu: 1 }, replaces };
    expect(promiseWithout(held, { podUids: ['b'], admission: '' })).toEqual({
      ...held,
      podUids: [],
    });
    expect(
      promiseWithout(
        { ...held, podUids: ['a'] },
        { podUids: [], admission: '1.2', reserved: { cpu: 1 } },
      ),
    ).toEqual({ podUids: ['a'], admission: '1.2' });
  });
});

describe('after a change of leaders', () => {
  const marked = (
    name: string,
    admission: string,
    change: { readonly podUids?: readonly string[]; readonly instance?: boolean } = {},
  ) =>
    claimValue(name, {
      annotations: {
        [annotations.admission]: `${admission}/plan/bin-0`,
        [annotations.promise]: renderPromise({ podUids: change.podUids ?? [], admission }),
        ...(change.instance === true ? { [annotations.instanceId]: 'i-1' } : {}),
      },
    });
  test.each([
    ['claims that were there are kept', marked('c', '1.1'), ['claim-c'], []],
    ['one of an older epoch that appears later goes', marked('c', '1.1'), [], ['c']],
    ['unless it has an instance', marked('c', '1.1', { instance: true }), [], []],
    ['one of this epoch stays', marked('c', '2.1'), [], []],
    ['one that nobody admitted is not ours to judge', claimValue('c'), [], []],
  ])('%s', (_sentence, claim, inherited, expected) => {
    const cluster = new Cluster();
    cluster.set('claim', claim);
    expect(
      lateClaims(cluster, { number: 2, inherited: new Set(inherited) }).map((each) => each.name),
    ).toEqual(expected);
  });
  test.each([
    [
      'of two that name a pod the later yields',
      [marked('x', '1.1', { podUids: ['a'] }), marked('y', '1.2', { podUids: ['a'] })],
      ['y'],
    ],
    [
      'the one with an instance stays, even if it is the later',
      [
        marked('x', '1.1', { podUids: ['a'] }),
        marked('y', '1.2', { podUids: ['a'], instance: true }),
      ],
      ['x'],
    ],
    [
      'two that name different pods both stay',
      [marked('x', '1.1', { podUids: ['a'] }), marked('y', '1.2', { podUids: ['b'] })],
      [],
    ],
    [
      "a pod that is bound is nobody's quarrel",
      [marked('x', '1.1', { podUids: ['bound'] }), marked('y', '1.2', { podUids: ['bound'] })],
      [],
    ],
  ])('%s', (_sentence, claims, expected) => {
    const cluster = clusterOf();
    cluster.set('pod', podValue('bound', { nodeName: 'n' }));
    for (const claim of claims) cluster.set('claim', claim);
    expect(yieldingClaims(cluster, 0).map((each) => each.name)).toEqual(expected);
  });
  test("room kept for a replaced node's pods ends with that node", () => {
    const cluster = clusterOf();
    const replacing = claimValue('r', {
      annotations: {
        [annotations.promise]: renderPromise({
          podUids: [],
          admission: '1.1',
          reserved: { cpu: 1000 },
          replaces: { nodeName: 'old', nodeUid: 'node-old' },
        }),
      },
    });
    cluster.set('node', nodeValue('old'));
    cluster.set('claim', replacing);
    expect(livePromise(cluster, 'claim-r', 0)?.promise.reserved).toEqual({ cpu: 1000 });
    cluster.delete('node', 'node-old');
    expect(livePromise(cluster, 'claim-r', 0)).toBeUndefined();
  });
});
