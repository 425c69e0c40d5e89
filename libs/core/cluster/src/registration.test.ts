import { claimValue } from '@dovetail/core-api/testing';
import type { Taint } from '@dovetail/core-kube-model';
import { nodeValue } from '@dovetail/core-kube-model/testing';
import { describe, expect, test } from 'vitest';

import {
  isRegistered,
  isSameTaint,
  poolOfLabels,
  registeredLabels,
  registeredTaints,
} from './registration.js';

const registered = { 'karpenter.sh/registered': 'true' };
const unregistered: Taint = { key: 'karpenter.sh/unregistered', effect: 'NoExecute' };

describe('a node is registered', () => {
  test.each<[string, ReturnType<typeof nodeValue>, boolean]>([
    ['with the label and without the taint', nodeValue('n', { labels: registered }), true],
    ['not without the label', nodeValue('n'), false],
    [
      'not while the label is false',
      nodeValue('n', { labels: { 'karpenter.sh/registered': 'false' } }),
      false,
    ],
    [
      'not while the taint is there',
      nodeValue('n', { labels: registered, taints: [unregistered] }),
      false,
    ],
  ])('%s', (_when, node, expected) => expect(isRegistered(node)).toBe(expected));
});

describe('registration', () => {
  test('lets the labels of the claim win over those of the kubelet', () => {
    const node = nodeValue('n', { labels: { own: '1', both: 'kubelet' } });
    expect(registeredLabels(node, claimValue('c', { labels: { both: 'claim' } }))).toEqual({
      own: '1',
      both: 'claim',
    });
  });

  test('adds the taints of the claim once, and drops the one that says unregistered', () => {
    const node = nodeValue('n', {
      taints: [unregistered, { key: 'a', value: 'own', effect: 'NoSchedule' }],
    });
    const claim = claimValue('c', {
      taints: [
        { key: 'a', value: 'claim', effect: 'NoSchedule' },
        { key: 'a', effect: 'NoExecute' },
      ],
      startupTaints: [{ key: 'cni', effect: 'NoSchedule' }],
    });
    expect(registeredTaints(node, claim)).toEqual([
      { key: 'a', value: 'own', effect: 'NoSchedule' },
      { key: 'a', effect: 'NoExecute' },
      { key: 'cni', effect: 'NoSchedule' },
    ]);
  });

  test('leaves the taints of a node alone that asks for it', () => {
    const node = nodeValue('n', { labels: { 'karpenter.sh/do-not-sync-taints': 'true' } });
    const claim = claimValue('c', { taints: [{ key: 'a', effect: 'NoSchedule' }] });
    expect(registeredTaints(node, claim)).toEqual([]);
  });
});

test('taints are one by key and effect, whatever their value', () => {
  const taint: Taint = { key: 'a', value: '1', effect: 'NoSchedule' };
  const other: Taint = { ...taint, value: '2' };
  expect(isSameTaint(taint, other)).toBe(true);
  expect(isSameTaint(taint, { ...taint, effect: 'NoExecute' })).toBe(false);
  expect(isSameTaint(taint, { ...taint, key: 'b' })).toBe(false);
});

describe('the pool that labels name', () => {
  test.each<[string, Readonly<Record<string, string>>, ReturnType<typeof poolOfLabels>]>([
    ['a NodePool', { 'karpenter.sh/nodepool': 'p' }, { kind: 'NodePool', name: 'p' }],
    ['a Provisioner', { 'karpenter.sh/provisioner-name': 'p' }, { kind: 'Provisioner', name: 'p' }],
    [
      'the NodePool, of both',
      { 'karpenter.sh/provisioner-name': 'old', 'karpenter.sh/nodepool': 'new' },
      { kind: 'NodePool', name: 'new' },
    ],
    ['none', { other: 'p' }, undefined],
  ])('is %s', (_what, labels, pool) => expect(poolOfLabels(labels)).toEqual(pool));
});
