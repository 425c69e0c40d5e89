import { describe, expect, test } from 'vitest';

import { endingClaimOf } from './ending-claim.js';

const claim = (metadata: object, more: object = {}): unknown => ({
  metadata: {
    name: 'c1',
    uid: 'uid-c1',
    resourceVersion: '1',
    creationTimestamp: '2026-11-21T12:00:00Z',
    finalizers: ['karpenter.sh/termination'],
    ...metadata,
  },
  spec: { nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' } },
  status: { nodeName: 'n1', providerID: 'aws:///us-west-2a/i-0aaaaaaaaaaaaaaaa' },
  ...more,
});
const deleted = { deletionTimestamp: '2026-11-21T13:00:00Z' };
const pool = { labels: { 'karpenter.sh/nodepool': 'default' } };

describe.each<[string, object]>([
  ['labels', { labels: 7 }],
  ['a time of planning', { annotations: { 'dovetail.sh/planned': 'yesterday' } }],
])('a claim with unreadable %s', (_what, unreadable) => {
  test('cannot be read while it stays', () =>
    expect(endingClaimOf(claim(unreadable)).ok).toBe(false));

  test('is read for its end', () =>
    expect(endingClaimOf(claim({ ...deleted, ...unreadable }))).toMatchObject({
      ok: true,
      value: {
        name: 'c1',
        nodeName: 'n1',
        finalizers: ['karpenter.sh/termination'],
        deletionMs: Date.parse(deleted.deletionTimestamp),
      },
    }));
});

test.each<[string, object, number | undefined]>([
  ['requirements', { requirements: 7, terminationGracePeriod: '1m' }, 60_000],
  ['a grace period', { terminationGracePeriod: 'soon' }, undefined],
])('a claim that is being deleted is read in spite of unreadable %s', (_what, spec, graceMs) => {
  const read = endingClaimOf(claim({ ...deleted, ...pool }, { spec }));
  expect(read.ok ? [read.value.pool.name, read.value.terminationGracePeriodMs] : read).toEqual([
    'default',
    graceMs,
  ]);
});

test('a claim that can be read is read whole', () => {
  const read = endingClaimOf(claim({ ...deleted, ...pool }));
  expect(read.ok ? read.value.classRef.name : read).toBe('default');
});

test.each<[string, object]>([
  ['EKS Auto Mode', { group: 'eks.amazonaws.com', kind: 'NodeClass', name: 'default' }],
  ['our kind in another group', { group: 'example.com', kind: 'EC2NodeClass', name: 'default' }],
])('a claim of %s is not read, also while it is deleted', (_provider, nodeClassRef) =>
  expect(endingClaimOf(claim({ ...deleted, ...pool }, { spec: { nodeClassRef } })).ok).toBe(false),
);
