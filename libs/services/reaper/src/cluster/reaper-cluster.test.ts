import type { CatalogEvent } from '@dovetail/contracts';
import { annotations } from '@dovetail/core-api';
import { claimValue, poolValue } from '@dovetail/core-api/testing';
import { renderRetirement } from '@dovetail/core-disruption';
import { nodeValue, podValue } from '@dovetail/core-kube-model/testing';
import { describe, expect, test } from 'vitest';

import { ReaperCluster } from './reaper-cluster.js';

const before = poolValue('default');
const newer = { resourceVersion: '9' };
const pausedSince = (lastPodEventMs: number) => ({ lastPodEventMs });
const offeringLabels = {
  'node.kubernetes.io/instance-type': 'm5.large',
  'topology.kubernetes.io/zone': 'us-east-1a',
  'karpenter.sh/capacity-type': 'spot',
};
const offering = { zone: 'us-east-1a', capacityType: 'spot' };

/** A part of the catalog in which the claim's offering costs so much. */
const priced = (priceMicrosPerHour: number): CatalogEvent =>
  ({
    kind: 'class',
    part: {
      ...{ classUid: 'class', revision: String(priceMicrosPerHour), part: 0, parts: 1 },
      instanceTypes: [{ name: 'm5.large', offerings: [{ ...offering, priceMicrosPerHour }] }],
    },
  }) as unknown as CatalogEvent;

test.each([
  ['its status', { ready: !before.ready }, []],
  ['its spec', { generation: before.generation + 1 }, ['a', 'b']],
  ['its deletion', { deletionMs: 1 }, ['a', 'b']],
])('a pool that changes in %s is news to these claims: %j', (_, change, expected) => {
  const cluster = new ReaperCluster(() => 0, 'replace');
  cluster.set('pool', before);
  for (const name of ['a', 'b']) cluster.set('claim', claimValue(name));
  const heard: string[] = [];
  cluster.subscribeClaims((names) => heard.push(...names));
  cluster.set('pool', { ...before, ...change, resourceVersion: '9' });
  expect(heard).toEqual(expected);
});

test('a node counts as retiring from its record on until it is asked to go or stays', () => {
  const cluster = new ReaperCluster(() => 0, 'replace');
  const record = { [annotations.retirement]: renderRetirement({ cause: 'drifted', atMs: 0 }) };
  const versions = [{}, { annotations: record }, {}, { annotations: record }];
  const counts = [...versions, { annotations: record, deletionMs: 1 }].map((more, index) => {
    cluster.set('node', nodeValue('n', { ...more, resourceVersion: String(index + 1) }));
    return cluster.retiringCount();
  });
  expect(counts).toEqual([0, 1, 0, 1, 0]);
});

describe('the view of a claim', () => {
  const claim = claimValue('a', { nodeName: 'n', labels: offeringLabels });
  const filled = (): ReaperCluster => {
    const cluster = new ReaperCluster(() => 5_000, 'replace');
    cluster.set('pool', before);
    cluster.set('claim', claim);
    cluster.set('node', nodeValue('n'));
    cluster.set('pod', podValue('p', { nodeName: 'n' }));
    cluster.markSynced('pod');
    return cluster;
  };

  test('stays the same while other nodes change', () => {
    const cluster = filled();
    const seen = cluster.viewOf(claim);
    cluster.set('node', nodeValue('other'));
    cluster.set('pod', podValue('q', { nodeName: 'other' }));
    expect(cluster.viewOf(claim)).toBe(seen);
  });

  test.each<[string, (cluster: ReaperCluster) => void, object]>([
    ['its node', (it) => it.set('node', nodeValue('n', newer)), { node: newer }],
    ['its pool', (it) => it.set('pool', { ...before, ...newer }), { pool: newer }],
    ['a pod on it', (it) => it.set('pod', podValue('p', { ...newer, nodeName: 'n' })), {}],
    ['a pod that goes', (it) => it.delete('pod', 'p'), { pods: [], claim: pausedSince(5_000) }],
    ['the price', (it) => it.prices.apply(priced(70_000)), { priceMicrosPerHour: 70_000 }],
  ])('is another one after a change of %s', (_, change, expected) => {
    const cluster = filled();
    const seen = cluster.viewOf(claim);
    change(cluster);
    expect(cluster.viewOf(claim)).not.toBe(seen);
    expect(cluster.viewOf(claim)).toMatchObject(expected);
  });
});
