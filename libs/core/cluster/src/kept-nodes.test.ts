import { claimValue as claimOf } from '@dovetail/core-api/testing';
import { plainTypeValue, typesByName } from '@dovetail/core-ec2-model/testing';
import { nodeValue as nodeOf, podValue as podOf } from '@dovetail/core-kube-model/testing';
import { expect, test } from '@jest/globals';

import { Cluster } from './cluster.js';
import { KeptNodes, KeptRoom } from './kept-nodes.js';
import { nodesNow } from './snapshot.js';

const noRoom = {};
const typesAt = (priceMicrosPerHour: number) =>
  typesByName(plainTypeValue('a', 2_000, { priceMicrosPerHour }));
let types = typesAt(1);
const catalog = { revision: 'r1', typesOf: () => types };
const promise = { 'dovetail.sh/promise': '{"podUids":["p"],"admission":"1.1","untilMs":10}' };

function clusterOf(): Cluster {
  const cluster = new Cluster();
  cluster.set('node', nodeOf('n1'));
  cluster.set('node', nodeOf('n2'));
  cluster.set('claim', claimOf('c1', { annotations: promise }));
  cluster.set('pod', podOf('p'));
  cluster.set('pod', podOf('on-n1', { nodeName: 'n1' }));
  return cluster;
}

const newer = { resourceVersion: '9' };
test.each<[string, (cluster: Cluster) => void, number, readonly string[]]>([
  ['nothing changed', () => undefined, 0, []],
  ['a pod came', (cluster) => cluster.set('pod', podOf('q', { nodeName: 'n2' })), 0, ['n2']],
  ['a pod left', (cluster) => cluster.delete('pod', podOf('on-n1').uid), 0, ['n1']],
  ['a node changed', (cluster) => cluster.set('node', nodeOf('n1', newer)), 0, ['n1']],
  ['a node left', (cluster) => cluster.delete('node', nodeOf('n1').uid), 0, []],
  ['a promise ended', () => undefined, 10, ['c1']],
  [
    'a promised pod was bound',
    (cluster) => cluster.set('pod', podOf('p', { nodeName: 'n1', ...newer })),
    0,
    ['c1', 'n1'],
  ],
  ['prices changed', () => (types = typesAt(2)), 0, ['c1']],
])('when %s, only the nodes concerned are new values', (_when, change, nowMs, fresh) => {
  const cluster = clusterOf();
  const kept = new KeptNodes(cluster, catalog);
  const before = new Set(kept.now(0));
  change(cluster);
  const after = kept.now(nowMs);
  expect(after.filter((node) => !before.has(node)).map(({ name }) => name)).toEqual(fresh);
  expect(after).toEqual(nodesNow(cluster, catalog, nowMs));
});

test('a what-if changes only the nodes that it names, or that a moving pod leaves', () => {
  const cluster = clusterOf();
  cluster.set('node', nodeOf('n3'));
  cluster.set('pod', podOf('on-n3', { nodeName: 'n3' }));
  const sources = { typesOf: () => types, promisedTo: () => ({ pods: [], reserved: noRoom }) };
  const room = new KeptRoom(cluster);
  const before = new Set(room.by({ ...sources, moving: new Set(['unbound']) }));
  const moving = new Set([podOf('on-n3').uid]);
  const after = room.by({ ...sources, without: new Set(['n1']), moving });
  expect(after.map((node) => [node.name, before.has(node), node.pods.length])).toEqual([
    ['c1', true, 0],
    ['n2', true, 0],
    ['n3', false, 0],
  ]);
});
