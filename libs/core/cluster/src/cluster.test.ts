import { claimValue, nodeClassValue, poolValue } from '@dovetail/core-api/testing';
import { nodeValue, podValue } from '@dovetail/core-kube-model/testing';
import { kubeResources } from '@dovetail/core-ports';
import { beforeEach, describe, expect, test } from 'vitest';

import { Cluster, type ClusterChange } from './cluster.js';

let cluster: Cluster;
let changes: ClusterChange[];
beforeEach(() => {
  cluster = new Cluster(['pod', 'node']);
  changes = [];
  cluster.subscribe((change) => changes.push(change));
});

describe('a change', () => {
  test('carries both readings', () => {
    cluster.set('pod', podValue('a'));
    cluster.set('pod', podValue('a', { resourceVersion: '2', nodeName: 'n' }));
    cluster.delete('pod', 'a');
    expect(
      changes.map(({ before, after }) => [before?.resourceVersion, after?.resourceVersion]),
    ).toEqual([
      [undefined, '1'],
      ['1', '2'],
      ['2', undefined],
    ]);
  });

  test.each<[string, () => void]>([
    ['an older reading', () => cluster.set('pod', podValue('a', { resourceVersion: '1' }))],
    ['the end of an object that was never there', () => cluster.delete('pod', 'b')],
  ])('is not published for %s', (_what, run) => {
    cluster.set('pod', podValue('a', { resourceVersion: '2' }));
    changes.length = 0;
    run();
    expect(changes).toEqual([]);
  });

  test('is published for a reading that is the newest by its order, whatever its version', () => {
    cluster.set('pod', podValue('a', { resourceVersion: '2' }));
    cluster.replace('pod', podValue('a', { resourceVersion: '1' }));
    expect(cluster.pods.get('a')?.resourceVersion).toBe('1');
  });

  test('names pools and classes by their identity', () => {
    cluster.set('pool', poolValue('web'));
    cluster.set('nodeclass', nodeClassValue('default'));
    expect(changes.map(({ kind, name }) => `${kind} ${name}`)).toEqual([
      'pool web',
      'nodeclass default',
    ]);
  });

  test('is not heard after the end of a subscription', () => {
    const heard: string[] = [];
    const end = cluster.subscribe(({ uid }) => heard.push(uid));
    cluster.set('pod', podValue('a'));
    end();
    cluster.set('pod', podValue('b'));
    expect(heard).toEqual(['a']);
  });
});

describe('the first lists', () => {
  test('are awaited for the kinds that the owner feeds', () => {
    expect(cluster.unsynced()).toEqual(['pod', 'node']);
    cluster.markSynced('pod');
    expect([cluster.synced(), cluster.isSynced('pod'), cluster.unsynced()]).toEqual([
      false,
      true,
      ['node'],
    ]);
    cluster.markSynced('node');
    expect(cluster.synced()).toBe(true);
  });

  test('are published once', () => {
    cluster.markSynced('pod');
    cluster.markSynced('pod');
    expect(changes).toEqual([{ kind: 'pod', uid: '', name: '' }]);
  });
});

describe('claims and nodes', () => {
  test.each<[string, Parameters<typeof claimValue>[1], Parameters<typeof nodeValue>[1], boolean]>([
    ['are one by provider ID', { providerId: 'p' }, { providerId: 'p' }, true],
    ["are one by the node's name in the claim's status", { nodeName: 'n' }, {}, true],
    ['are not one without either', {}, {}, false],
    ['are not one by other provider IDs', { providerId: 'p' }, { providerId: 'q' }, false],
  ])('%s', (_how, claimOver, nodeOver, paired) => {
    const [claim, node] = [claimValue('c', claimOver), nodeValue('n', nodeOver)];
    cluster.set('claim', claim);
    cluster.set('node', node);
    expect(cluster.claimOfNode(node) === claim).toBe(paired);
    expect(cluster.nodeOfClaim(claim) === node).toBe(paired);
  });

  test.each([
    ['a', 'b'],
    ['b', 'a'],
  ])('of two with one provider ID, the one that registered counts: %s, not %s', (own, other) => {
    const claim = claimValue('c', { providerId: 'p', nodeName: own });
    const copy = claimValue('z', { providerId: 'p', nodeName: 'elsewhere' });
    for (const one of [claim, copy]) cluster.set('claim', one);
    for (const name of [own, other]) cluster.set('node', nodeValue(name, { providerId: 'p' }));
    expect(cluster.nodeOfClaim(claim)?.name).toBe(own);
    expect(cluster.nodesOfClaim(claim).map(({ name }) => name)).toEqual(['a', 'b']);
    expect(cluster.claimOfNode(nodeValue(own, { providerId: 'p' }))).toBe(claim);
  });

  test('are paired by provider ID before names', () => {
    cluster.set('claim', claimValue('named', { nodeName: 'n' }));
    cluster.set('claim', claimValue('paired', { providerId: 'p' }));
    expect(cluster.claimOfNode(nodeValue('n', { providerId: 'p' }))?.name).toBe('paired');
  });
});

describe('promises', () => {
  const annotations = { 'dovetail.sh/promise': '{"podUids":["a"],"admission":"1.1"}' };
  test.each<[string, (held: Cluster) => void]>([
    ['with the object', (held) => held.delete('claim', 'claim-c')],
    ['while it cannot be used', (held) => held.forget('claim', 'claim-c')],
    [
      'when the annotation goes',
      (held) => held.set('claim', claimValue('c', { resourceVersion: '2' })),
    ],
    ['when everything is forgotten', (held) => held.clear()],
  ])('of a claim end %s', (_when, end) => {
    cluster.set('claim', claimValue('c', { annotations }));
    expect(cluster.promises.holdersOf('a')).toEqual(['claim-c']);
    end(cluster);
    expect(cluster.promises.holdersOf('a')).toEqual([]);
  });
});

describe('an object that cannot be read', () => {
  const found = {
    object: { metadata: { name: 'web', uid: 'u' } },
    resource: kubeResources.nodePools,
    failure: { ok: false, field: 'spec', value: '1', remedy: 'write an object' },
  } as const;
  test('is remembered until it can', () => {
    cluster.markUnreadable('pool', 'u', found);
    expect(cluster.unreadable()).toEqual([found]);
    expect(changes).toEqual([{ kind: 'pool', uid: 'u', name: 'web' }]);
    cluster.clearUnreadable('u');
    expect(cluster.unreadable()).toEqual([]);
  });
});

test('what was forgotten may come back, what was deleted may not', () => {
  cluster.set('pod', podValue('a'));
  cluster.set('pod', podValue('b'));
  cluster.forget('pod', 'a');
  cluster.delete('pod', 'b');
  cluster.set('pod', podValue('a'));
  cluster.set('pod', podValue('b'));
  expect([...cluster.pods.values()].map(({ uid }) => uid)).toEqual(['a']);
});

test('a cleared cluster is as new', () => {
  cluster.set('pod', podValue('a'));
  cluster.delete('pod', 'a');
  cluster.markSynced('pod');
  cluster.clear();
  cluster.set('pod', podValue('a'));
  expect([cluster.pods.size, cluster.unsynced()]).toEqual([1, ['pod', 'node']]);
});
