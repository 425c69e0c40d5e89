import { claimValue } from '@dovetail/core-api/testing';
import { Cluster } from '@dovetail/core-cluster';
import { nodeValue, podValue } from '@dovetail/core-kube-model/testing';
import { defaultPlanOptions } from '@dovetail/core-scheduling';
import { expect, jest, test } from '@jest/globals';

import { Checker } from './checker.js';

const catalog = { revision: 'r1', typesOf: () => new Map() };
const nodes = Array.from({ length: 200 }, (_, index) => nodeValue(`n${index}`));

test.each<[string, number, number]>([
  ['soon after a look at all nodes costs a look at that one', 999, 1],
  ['later costs a look at all nodes', 1_000, nodes.length],
])('a question about one node %s', (_when, nowMs, looked) => {
  const cluster = new Cluster();
  for (const node of nodes) cluster.set('node', node);
  const checker = new Checker(cluster, catalog, defaultPlanOptions);
  checker.nodes(0);
  cluster.set('pod', podValue('p', { nodeName: 'n7' }));
  const looks = jest.spyOn(cluster, 'claimOfNode');
  const around = checker.nodesAround(nodeValue('n7'), nowMs);
  expect(looks).toHaveBeenCalledTimes(looked);
  expect(around.flatMap(({ name, pods }) => pods.map((pod) => [name, pod.name]))).toEqual([
    ['n7', 'p'],
  ]);
});

test('a node that has joined since the last look costs a look at that one, and its claim goes', () => {
  const cluster = new Cluster();
  for (const node of nodes) cluster.set('node', node);
  cluster.set('claim', claimValue('c', { providerId: 'aws:///a/i-1' }));
  const checker = new Checker(cluster, catalog, defaultPlanOptions);
  expect(checker.nodes(0).map(({ name }) => name)).toContain('c');
  const joined = nodeValue('joined', { providerId: 'aws:///a/i-1' });
  cluster.set('node', joined);
  const looks = jest.spyOn(cluster.pods, 'by');
  const around = checker.nodesAround(joined, 1).map(({ name }) => name);
  expect(around.toSorted()).toEqual([...nodes.map(({ name }) => name), 'joined'].toSorted());
  expect(new Set(looks.mock.calls.map(([, name]) => name))).toEqual(new Set(['joined']));
});
