import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { contentHash, isLabelValue, isQualifiedName, nodeClaimObject, nodeClaimOf, restrictedLabel, type NodeClaimParts } from './index.js';

fc.configureGlobal({ seed: 1 });

const parts: NodeClaimParts = {
  name: 'default-abc', pool: { kind: 'Provisioner', name: 'default' }, poolUid: 'p-1', classRef: { group: 'karpenter.k8s.aws', kind: 'InlineProvider', name: 'default' },
  labels: { team: 'a' }, annotations: { 'dovetail.sh/admission': '1.2/x/bin-0' }, taints: [{ key: 'a', effect: 'NoSchedule' }], startupTaints: [],
  requirements: [{ key: 'kubernetes.io/arch', operator: 'In', values: ['amd64'] }, { key: 'x', operator: 'Exists', values: [], minValues: 2 }], requests: { cpu: 1500, memory: 1024, pods: 3 },
};
describe('a claim that is built', () => {
  test('is owned by its pool, finalised, labelled with pool and class', () => expect(nodeClaimObject(parts)).toEqual({
    apiVersion: 'karpenter.sh/v1', kind: 'NodeClaim',
    metadata: {
      name: 'default-abc', labels: { team: 'a', 'karpenter.sh/provisioner-name': 'default', 'karpenter.k8s.aws/inlineprovider': 'default' }, annotations: { 'dovetail.sh/admission': '1.2/x/bin-0' },
      finalizers: ['karpenter.sh/termination'], ownerReferences: [{ apiVersion: 'karpenter.sh/v1alpha5', kind: 'Provisioner', name: 'default', uid: 'p-1', blockOwnerDeletion: true }],
    },
    spec: {
      taints: [{ key: 'a', effect: 'NoSchedule' }], requirements: [{ key: 'kubernetes.io/arch', operator: 'In', values: ['amd64'] }, { key: 'x', operator: 'Exists', minValues: 2 }],
      resources: { requests: { cpu: '1500m', memory: '1Ki', pods: '3' } }, nodeClassRef: parts.classRef, expireAfter: 'Never',
    },
  }));
  test('reads back as it was meant', () => {
    const object = nodeClaimObject({ ...parts, expireAfterMs: 1_800_000, terminationGracePeriodMs: 30_000 });
    const read = nodeClaimOf({ ...object, metadata: { ...object.metadata, uid: 'c-1' } });
    expect(read).toMatchObject({ ok: true, value: { name: 'default-abc', pool: parts.pool, classRef: parts.classRef, requirements: parts.requirements, requests: parts.requests, taints: parts.taints, startupTaints: [],
      expireAfterMs: 1_800_000, terminationGracePeriodMs: 30_000, finalizers: ['karpenter.sh/termination'] } });
    const forever = nodeClaimObject(parts);
    expect(nodeClaimOf({ ...forever, metadata: { ...forever.metadata, uid: 'c-1' } })).not.toHaveProperty('value.expireAfterMs');
  });
});
test('a claim is read with its status', () => expect(nodeClaimOf({
  metadata: { name: 'c', uid: 'u', labels: { 'karpenter.sh/nodepool': 'np' }, annotations: { 'dovetail.sh/promise': '{}', other: 'x' } },
  spec: { nodeClassRef: { group: 'g', kind: 'EC2NodeClass', name: 'n' } },
  status: { nodeName: 'node', providerID: 'aws:///z/i-1', imageID: 'ami-1', capacity: { cpu: 2 }, lastPodEventTime: '2026-01-01T00:00:00Z', conditions: [{ type: 'Launched', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' }] },
})).toMatchObject({ ok: true, value: { pool: { kind: 'NodePool', name: 'np' }, annotations: { 'dovetail.sh/promise': '{}' }, nodeName: 'node', providerId: 'aws:///z/i-1', capacity: { cpu: 2000 }, conditions: [{ type: 'Launched', status: 'True', reason: '', message: '', lastTransitionMs: 1_767_225_600_000 }], lastPodEventMs: 1_767_225_600_000 } }));
test('a claim without a pool is refused', () => expect(nodeClaimOf({ metadata: { name: 'c', uid: 'u' }, spec: {} })).toMatchObject({ ok: false, field: 'metadata.labels.karpenter.sh/nodepool' }));

describe('labels', () => {
  test.each<[string, boolean]>([
    ['karpenter.sh/capacity-type', true], ['karpenter.k8s.aws/instance-family', true], ['topology.kubernetes.io/zone', true], ['example.com/team', true], ['team', true], ['kubernetes.io/os', true], ['xkarpenter.sh/a', true],
    ['karpenter.sh/nodepool', false], ['karpenter.sh/provisioner-name', false], ['karpenter.sh/other', false], ['sub.karpenter.sh/a', false], ['kubernetes.io/hostname', false], ['karpenter.k8s.aws/other', false],
  ])('%s may be used: %s', (key, may) => expect(restrictedLabel(key) === undefined).toBe(may));
  test.each<[string, boolean]>([['a', true], ['a.b/c_d', true], ['', false], ['a/', false], ['/a', false], ['A.b/c', false], ['-a', false], ['a/b/c', false], ['x'.repeat(64), false]])('%j is a qualified name: %s', (key, is) => expect(isQualifiedName(key)).toBe(is));
  test.each<[string, boolean]>([['', true], ['a', true], ['a b', false], ['x'.repeat(63), true], ['x'.repeat(64), false], ['a-', false]])('%j is a label value: %s', (text, is) => expect(isLabelValue(text)).toBe(is));
});

describe('the content hash', () => {
  test('does not see the order of keys and lists, nor what is empty', () => fc.assert(fc.property(fc.dictionary(fc.string(), fc.oneof(fc.string(), fc.integer(), fc.array(fc.string()))), (content) =>
    contentHash(content) === contentHash({ ...Object.fromEntries(Object.entries(content).reverse().map(([key, one]) => [key, Array.isArray(one) ? one.toReversed() : one])), empty: [], none: undefined }))));
  test('differs for content that differs', () => {
    const hashes = new Set(Array.from({ length: 20_000 }, (_, index) => contentHash({ a: index })));
    expect(hashes.size).toBe(20_000);
  });
  test('tells false from absent', () => expect(contentHash({ a: false })).not.toBe(contentHash({})));
  test('is stable: a change of these values needs another hash version', () => expect([contentHash({}), contentHash({ a: 1, b: ['x', 'y'] })]).toMatchInlineSnapshot(`
[
  "30a00dd6c223ada3",
  "5d4473ff1366a4e8",
]
`));
});
