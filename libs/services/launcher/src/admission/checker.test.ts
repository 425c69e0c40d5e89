import { Cluster } from '@dovetail/core-cluster';
import { nodeValue, podValue } from '@dovetail/core-kube-model/testing';
import { defaultPlanOptions } from '@dovetail/core-scheduling';
import { expect, jest, test } from '@jest/globals';

import { Checker } from './checker.js';

const catalog = { revision: 'r1', typesOf: () => new Map() };
const nodes = Array.from({ length: 200 }, (_, index) => nodeValue(`n${index}`));

test.each<[string, number, number]>([
  ['soon after a look at all nodes costs a look at that one', 249, 1],
  ['later costs a look at all nodes', 250, nodes.length],
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

test('a question about a node that is new since the last look sees it', () => {
  const cluster = new Cluster();
  const checker = new Checker(cluster, catalog, defaultPlanOptions);
  checker.nodes(0);
  cluster.set('node', nodeValue('n7'));
  expect(checker.nodesAround(nodeValue('n7'), 1).map(({ name }) => name)).toEqual(['n7']);
});
