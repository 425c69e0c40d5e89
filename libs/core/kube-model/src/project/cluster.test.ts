import { describe, expect, test } from 'vitest';

import { namespaceOf, nodeOf, pdbOf } from './cluster.js';
import { metadata, valueOf } from './testing/objects.js';

describe('a node', () => {
  test('is read with what planning needs', () =>
    expect(
      valueOf(
        nodeOf({
          metadata: {
            ...metadata,
            annotations: { 'karpenter.sh/nodepool-hash': '1', 'node.alpha.kubernetes.io/ttl': '0' },
            finalizers: ['karpenter.sh/termination'],
          },
          spec: {
            providerID: 'aws:///us-east-1a/i-1',
            unschedulable: true,
            taints: [{ key: 'a', effect: 'NoSchedule' }],
          },
          status: {
            capacity: { cpu: '2' },
            conditions: [{ type: 'Ready', status: 'True' }],
            addresses: [{ type: 'InternalIP', address: '10.0.0.1' }],
            nodeInfo: { kubeletVersion: 'v1.34.0' },
          },
        }),
      ),
    ).toEqual({
      uid: 'u-1',
      name: 'one',
      resourceVersion: '7',
      labels: { app: 'web' },
      annotations: { 'karpenter.sh/nodepool-hash': '1' },
      createdMs: Date.parse('2026-01-01T00:00:00Z'),
      finalizers: ['karpenter.sh/termination'],
      providerId: 'aws:///us-east-1a/i-1',
      taints: [{ key: 'a', effect: 'NoSchedule' }],
      cordoned: true,
      ready: true,
      capacity: { cpu: 2000 },
      allocatable: { cpu: 2000 },
      internalIp: '10.0.0.1',
      kubeletVersion: 'v1.34.0',
    }));
  test('that has just joined has nothing yet', () =>
    expect(valueOf(nodeOf({ metadata }))).toMatchObject({
      ready: false,
      capacity: {},
      allocatable: {},
      taints: [],
    }));
});

describe('a disruption budget', () => {
  test.each([
    [{ minAvailable: 1 }, '1', undefined],
    [{ maxUnavailable: '50%' }, undefined, '50%'],
  ])('%j', (spec, minimum, maximum) => {
    const budget = valueOf(
      pdbOf({ metadata, spec: { ...spec, selector: {} }, status: { disruptionsAllowed: 2 } }),
    );
    expect([
      budget.minAvailable,
      budget.maxUnavailable,
      budget.selector,
      budget.disruptionsAllowed,
    ]).toEqual([minimum, maximum, { requirements: [] }, 2]);
  });
  test('without a status allows no disruption', () =>
    expect(valueOf(pdbOf({ metadata, spec: {} })).disruptionsAllowed).toBe(0));
  test('that is neither count nor percentage is named', () =>
    expect(pdbOf({ metadata, spec: { minAvailable: 'half' } })).toMatchObject({
      ok: false,
      field: 'spec.minAvailable',
    }));
});

describe('a node is Ready', () => {
  test.each<[string, readonly object[], boolean]>([
    ['not without conditions', [], false],
    ['not while it is unknown', [{ type: 'Ready', status: 'Unknown' }], false],
    ['not by another condition', [{ type: 'MemoryPressure', status: 'True' }], false],
    ['when its condition is True', [{ type: 'Ready', status: 'True' }], true],
  ])('%s', (_name, conditions, ready) =>
    expect(valueOf(nodeOf({ metadata, status: { conditions } })).ready).toBe(ready),
  );
});

test('a namespace is known by its labels', () =>
  expect(valueOf(namespaceOf({ metadata }))).toEqual({
    uid: 'u-1',
    name: 'one',
    resourceVersion: '7',
    labels: { app: 'web' },
  }));
