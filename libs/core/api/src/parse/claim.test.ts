import { describe, expect, test } from 'vitest';

import { isWithoutPool, noPool } from '../pool.js';
import { nodeClaimOf } from './claim.js';
import { wholeNodeClaim } from './testing/whole.js';
import { mistakenKinds, mistakenNulls } from './testing/wrong-kinds.js';

const labels = { 'karpenter.sh/nodepool': 'default' };
const nodeClassRef = { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' };
const claim = (spec: object, metadata: object = {}): object => ({
  metadata: { name: 'c', uid: 'u', labels, ...metadata },
  spec: { nodeClassRef, ...spec },
});

test('a claim is read with its status', () =>
  expect(
    nodeClaimOf({
      metadata: {
        name: 'c',
        uid: 'u',
        labels: { 'karpenter.sh/nodepool': 'np' },
        annotations: {
          'dovetail.sh/promise': '{}',
          other: 'x',
          'kubectl.kubernetes.io/last-applied-configuration': '{}',
        },
      },
      spec: { nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'n' } },
      status: {
        nodeName: 'node',
        providerID: 'aws:///z/i-1',
        imageID: 'ami-1',
        capacity: { cpu: 2 },
        lastPodEventTime: '2026-01-01T00:00:00Z',
        conditions: [
          { type: 'Launched', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' },
        ],
      },
    }),
  ).toMatchObject({
    ok: true,
    value: {
      pool: { kind: 'NodePool', name: 'np' },
      annotations: { 'dovetail.sh/promise': '{}', other: 'x' },
      nodeName: 'node',
      providerId: 'aws:///z/i-1',
      capacity: { cpu: 2000 },
      conditions: [
        {
          type: 'Launched',
          status: 'True',
          reason: '',
          message: '',
          lastTransitionMs: 1_767_225_600_000,
        },
      ],
      lastPodEventMs: 1_767_225_600_000,
    },
  }));
test('a claim that a person has made without a pool is read', () => {
  const read = nodeClaimOf(claim({}, { labels: {} }));
  expect(read).toMatchObject({ ok: true, value: { pool: noPool } });
  expect(read.ok && isWithoutPool(read.value)).toBe(true);
});
test('a claim of another provider is refused', () =>
  expect(
    nodeClaimOf(
      claim({ nodeClassRef: { ...nodeClassRef, kind: 'KWOKNodeClass' } }, { labels: {} }),
    ),
  ).toMatchObject({ ok: false, field: 'spec.nodeClassRef.kind' }));

test.each<[string, object, string]>([
  ['without a class', claim({ nodeClassRef: undefined }), 'spec.nodeClassRef.group'],
  ['with a time that is none', claim({ expireAfter: 'soon' }), 'spec.expireAfter'],
  [
    'with a grace of Never',
    claim({ terminationGracePeriod: 'Never' }),
    'spec.terminationGracePeriod',
  ],
  [
    'with requests that are none',
    claim({ resources: { requests: { cpu: 'much' } } }),
    'spec.resources.requests.cpu',
  ],
  [
    'planned at no time',
    claim({}, { annotations: { 'dovetail.sh/planned': 'yesterday' } }),
    'metadata.annotations[dovetail.sh/planned]',
  ],
])('a claim %s is refused by field', (_name, object, field) =>
  expect(nodeClaimOf(object)).toMatchObject({ ok: false, field }),
);

test('a claim counts its age from when it was planned, by the clock of the launcher', () => {
  const creationTimestamp = '2026-01-01T00:00:09Z';
  const annotations = { 'dovetail.sh/planned': '2026-01-01T00:00:00Z' };
  expect(nodeClaimOf(claim({}, { creationTimestamp, annotations }))).toMatchObject({
    value: { createdMs: Date.parse('2026-01-01T00:00:00Z') },
  });
  expect(nodeClaimOf(claim({}, { creationTimestamp }))).toMatchObject({
    value: { createdMs: Date.parse(creationTimestamp) },
  });
});

test('a claim of a Provisioner is known by its older label', () =>
  expect(
    nodeClaimOf(claim({}, { labels: { 'karpenter.sh/provisioner-name': 'old' } })),
  ).toMatchObject({ value: { pool: { kind: 'Provisioner', name: 'old' } } }));

describe('each field of a NodeClaim', () => {
  test('of another kind is refused by its path, with its value and a remedy', () =>
    expect(mistakenKinds(wholeNodeClaim, nodeClaimOf)).toEqual([]));

  test('that is null counts as absent', () =>
    expect(mistakenNulls(wholeNodeClaim, nodeClaimOf)).toEqual([]));
});
