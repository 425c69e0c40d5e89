import { daemonSetValue, podValue } from '@dovetail/core-kube-model/testing';
import { expect, test } from 'vitest';

import { Cluster } from './cluster.js';
import { liveDaemonSets } from './daemon-sets.js';

const owner = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'agent', uid: 'agent' };
const template = podValue('agent', { requests: { cpu: 100 } });
const daemonSet = { ...daemonSetValue('agent', template), uid: 'agent' };
const pod = (uid: string, cpu: number, more: Parameters<typeof podValue>[1] = {}) =>
  podValue(uid, { owner, requests: { cpu }, ...more });

test.each<[string, readonly ReturnType<typeof pod>[], number]>([
  ['its template without pods', [], 100],
  ['its template when all pods have ended', [pod('p', 300, { phase: 'Failed' })], 100],
  ['its template when all pods are being deleted', [pod('p', 300, { deletionMs: 5 })], 100],
  ['its template, not the pods of others', [pod('p', 300, { owner: { ...owner, uid: 'x' } })], 100],
  ['its pod', [pod('p', 300)], 300],
  ['its pod that waits for its node', [pod('p', 300, { phase: 'Pending' })], 300],
  [
    'the newest of its pods',
    [pod('a', 300, { createdMs: 2 }), pod('b', 200, { createdMs: 1 })],
    300,
  ],
  ['of pods of one age the last by identity', [pod('b', 300), pod('a', 200)], 300],
])('a daemonset asks for what %s asks for', (_what, pods, cpu) => {
  const cluster = new Cluster([]);
  cluster.set('daemonset', daemonSet);
  for (const one of pods) cluster.set('pod', one);
  expect(liveDaemonSets(cluster).map((one) => one.template.requests['cpu'])).toEqual([cpu]);
});

test('a daemonset keeps the places of its template, for its pods are pinned to their nodes', () => {
  const cluster = new Cluster([]);
  cluster.set('daemonset', { ...daemonSet, template: { ...template, nodeSelector: { a: 'b' } } });
  cluster.set('pod', pod('p', 300, { nodeSelector: { pinned: 'here' } }));
  expect(liveDaemonSets(cluster)[0]?.template.nodeSelector).toEqual({ a: 'b' });
});

test('daemonsets stand in the order of their UIDs', () => {
  const cluster = new Cluster([]);
  for (const uid of ['b', 'a']) cluster.set('daemonset', { ...daemonSet, uid });
  expect(liveDaemonSets(cluster).map(({ uid }) => uid)).toEqual(['a', 'b']);
});
