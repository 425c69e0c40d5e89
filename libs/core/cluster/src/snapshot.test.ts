import { claimValue, poolValue } from '@dovetail/core-api/testing';
import { plainTypeValue, typesByName } from '@dovetail/core-ec2-model/testing';
import { nodeValue, podValue } from '@dovetail/core-kube-model/testing';
import { expect, test } from 'vitest';

import { Cluster } from './cluster.js';
import { byUid, nodesNow, snapshotOf, snapshotWithoutNodes } from './snapshot.js';

const catalog = {
  revision: 'r1',
  typesOf: () => typesByName(plainTypeValue('a', 2_000, { priceMicrosPerHour: 1 })),
};

function clusterOf(): Cluster {
  const cluster = new Cluster();
  for (const name of ['b', 'a']) cluster.set('pool', poolValue(name));
  cluster.set('node', nodeValue('n1'));
  cluster.set('pod', podValue('p'));
  cluster.set(
    'claim',
    claimValue('c1', {
      annotations: { 'dovetail.sh/promise': '{"podUids":["p"],"admission":"1.1","untilMs":10}' },
    }),
  );
  return cluster;
}

test('objects come in the order of their UIDs, whatever order they arrived in', () =>
  expect(byUid(clusterOf().pools).map(({ uid }) => uid)).toEqual(['pool-a', 'pool-b']));

test('a snapshot names the catalog, and what each pool can boot', () => {
  const { catalogRevision, pools } = snapshotOf(clusterOf(), catalog, 0);
  expect(catalogRevision).toBe('r1');
  expect(pools.map(({ instanceTypes }) => instanceTypes.map(({ name }) => name))).toEqual([
    ['a'],
    ['a'],
  ]);
});

test('a snapshot without nodes differs in nothing else', () => {
  const cluster = clusterOf();
  const { nodes, ...rest } = snapshotOf(cluster, catalog, 0);
  expect(nodes.map(({ name }) => name)).toEqual(['c1', 'n1']);
  expect(snapshotWithoutNodes(cluster, catalog)).toEqual({ ...rest, nodes: [] });
});

test.each<[string, number, readonly string[]]>([
  ['before its end', 9, ['p']],
  ['not at its end', 10, []],
])('a promise counts %s', (_when, nowMs, pods) =>
  expect(nodesNow(clusterOf(), catalog, nowMs)[0]?.promisedPods.map(({ uid }) => uid)).toEqual(
    pods,
  ),
);
