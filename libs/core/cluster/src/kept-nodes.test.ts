import { claimValue as claimOf } from '@dovetail/core-api/testing';
import { plainTypeValue, typesByName } from '@dovetail/core-ec2-model/testing';
import { nodeValue as nodeOf, podValue as podOf } from '@dovetail/core-kube-model/testing';
import fc from 'fast-check';
import { expect, test } from 'vitest';

import { Cluster } from './cluster.js';
import { KeptNodes } from './kept-nodes.js';
import { KeptRoom } from './kept-room.js';
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
  [
    'a second Node with the provider ID of a claim came',
    (cluster) => {
      const providerId = 'aws:///a/i-1';
      cluster.set('claim', claimOf('c2', { providerId }));
      cluster.set('node', nodeOf('n2', { providerId, ...newer }));
      cluster.set('node', nodeOf('n3', { providerId }));
    },
    0,
    ['n2', 'n3'],
  ],
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

const at = fc.integer({ min: 0, max: 2 });
const maybe = fc.option(at, { nil: undefined });
type Edit = readonly [kind: number, which: number, other: number | undefined, held: number];
/** One change of a small cluster: of a pod, a node, a claim, a promise or the types. */
function edit(cluster: Cluster, [kind, which, other, held]: Edit, version: number): void {
  const resourceVersion = String(100 + version);
  const providerId = other === undefined ? {} : { providerId: `aws:///a/i-${other}` };
  const node = other === undefined ? {} : { nodeName: `n${other}` };
  const text = [
    '{"podUids":["p0","p1"],"admission":"1.1"}',
    `{"podUids":["p2"],"admission":"1.1","untilMs":${version + 1}}`,
    '{"podUids":[],"admission":"1.1","reserved":{"cpu":100},"replaces":{"nodeUid":"node-n1","nodeName":"n1"}}',
  ][held];
  const carries = text === undefined ? {} : { annotations: { 'dovetail.sh/promise': text } };
  const value = { resourceVersion, ...carries };
  if (kind === 0) cluster.set('pod', podOf(`p${which}`, { resourceVersion, ...node }));
  if (kind === 1) cluster.set('node', nodeOf(`n${which}`, { ...value, ...providerId }));
  if (kind === 2) cluster.set('claim', claimOf(`c${which}`, { ...value, ...providerId, ...node }));
  if (kind === 3) cluster.forget('pod', podOf(`p${which}`).uid);
  if (kind === 4) cluster.forget('node', nodeOf(`n${which}`).uid);
  if (kind === 5) cluster.forget('claim', claimOf(`c${which}`).uid);
  if (kind === 6) types = typesAt(version);
  if (kind === 7) cluster.set('claim', claimOf(`c${which}`, { ...value, deletionMs: 1 }));
}

test('after any changes the kept nodes are those that a look at everything gives', () => {
  expect([podOf('p0').uid, nodeOf('n1').uid]).toEqual(['p0', 'node-n1']);
  const one = fc.tuple(fc.integer({ min: 0, max: 7 }), at, maybe, fc.integer({ min: 0, max: 3 }));
  fc.assert(
    fc.property(fc.array(fc.array(one, { maxLength: 4 }), { maxLength: 8 }), (looks) => {
      const cluster = new Cluster();
      const kept = new KeptNodes(cluster, catalog);
      let version = 0;
      for (const edits of looks) {
        for (const each of edits) edit(cluster, each, (version += 1));
        expect(kept.now(version)).toEqual(nodesNow(cluster, catalog, version));
      }
    }),
    { numRuns: 300 },
  );
});

test('a look in steps gives the same nodes, whatever changes between its steps', () => {
  const one = fc.tuple(fc.integer({ min: 0, max: 7 }), at, maybe, fc.integer({ min: 0, max: 3 }));
  const edits = fc.array(one, { maxLength: 3 });
  const look = fc.record({ before: edits, between: fc.array(edits, { maxLength: 4 }) });
  fc.assert(
    fc.property(fc.array(look, { maxLength: 6 }), (looks) => {
      const cluster = new Cluster();
      const kept = new KeptNodes(cluster, catalog);
      let version = 0;
      const change = (some: readonly Edit[]): void => {
        for (const each of some) edit(cluster, each, (version += 1));
      };
      for (const { before, between } of looks) {
        change(before);
        const steps = kept.inSteps(() => version);
        const waiting = [...between];
        let step = steps.next();
        for (; step.done !== true; step = steps.next()) change(waiting.shift() ?? []);
        expect(step.value).toEqual(nodesNow(cluster, catalog, version));
        expect(kept.now(version)).toBe(step.value);
      }
    }),
    { numRuns: 300 },
  );
});

test('a first look in steps makes one node in each, and one after it none', () => {
  const cluster = new Cluster();
  for (let index = 0; index < 1_000; index += 1) cluster.set('node', nodeOf(`n${index}`));
  const kept = new KeptNodes(cluster, catalog);
  const reads: string[] = [];
  const by = cluster.pods.by.bind(cluster.pods);
  cluster.pods.by = (index, key) => {
    reads.push(key);
    return by(index, key);
  };
  const readsOfSteps = (): readonly number[] => {
    const found: number[] = [];
    const steps = kept.inSteps(() => 0);
    for (let step = steps.next(); ; step = steps.next()) {
      found.push(new Set(reads.splice(0)).size);
      if (step.done === true) return found;
    }
  };
  const first = readsOfSteps();
  expect([first.length, Math.max(...first)]).toEqual([1_001, 1]);
  expect(readsOfSteps()).toEqual([0]);
  types = typesAt(7);
  cluster.set('claim', claimOf('c1'));
  expect(readsOfSteps()).toEqual([0]);
});

test('a look at 1,000 nodes reads only the pods of the node that has changed', () => {
  const cluster = new Cluster();
  for (let index = 0; index < 1_000; index += 1) cluster.set('node', nodeOf(`n${index}`));
  const kept = new KeptNodes(cluster, catalog);
  kept.now(0);
  const reads: string[] = [];
  const by = cluster.pods.by.bind(cluster.pods);
  cluster.pods.by = (index, key) => {
    reads.push(key);
    return by(index, key);
  };
  kept.now(0);
  expect(reads).toEqual([]);
  cluster.set('pod', podOf('p', { nodeName: 'n7' }));
  expect(kept.now(0)).toHaveLength(1_000);
  expect(new Set(reads)).toEqual(new Set(['n7']));
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
    ['n1', false, 0],
    ['n2', true, 0],
    ['n3', false, 0],
  ]);
});
