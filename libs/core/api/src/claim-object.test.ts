import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { classLabelOf, nodeClaimObject, type NodeClaimParts } from './claim-object.js';
import { nodeClaimOf } from './parse/claim.js';

fc.configureGlobal({ seed: 1 });

const parts: NodeClaimParts = {
  name: 'default-abc',
  pool: { kind: 'Provisioner', name: 'default' },
  poolUid: 'p-1',
  classRef: { group: 'karpenter.k8s.aws', kind: 'InlineProvider', name: 'default' },
  labels: { team: 'a' },
  annotations: { 'dovetail.sh/admission': '1.2/x/bin-0' },
  taints: [{ key: 'a', effect: 'NoSchedule' }],
  startupTaints: [],
  requirements: [
    { key: 'kubernetes.io/arch', operator: 'In', values: ['amd64'] },
    { key: 'x', operator: 'Exists', values: [], minValues: 2 },
  ],
  requests: { cpu: 1500, memory: 1024, pods: 3 },
};
describe('a claim that is built', () => {
  test('is owned by its pool, finalised, labelled with pool and class', () =>
    expect(nodeClaimObject(parts)).toEqual({
      apiVersion: 'karpenter.sh/v1',
      kind: 'NodeClaim',
      metadata: {
        name: 'default-abc',
        labels: {
          team: 'a',
          'karpenter.sh/provisioner-name': 'default',
          'karpenter.k8s.aws/inlineprovider': 'default',
        },
        annotations: { 'dovetail.sh/admission': '1.2/x/bin-0' },
        finalizers: ['karpenter.sh/termination'],
        ownerReferences: [
          {
            apiVersion: 'karpenter.sh/v1alpha5',
            kind: 'Provisioner',
            name: 'default',
            uid: 'p-1',
            blockOwnerDeletion: true,
          },
        ],
      },
      spec: {
        taints: [{ key: 'a', effect: 'NoSchedule' }],
        requirements: [
          { key: 'kubernetes.io/arch', operator: 'In', values: ['amd64'] },
          { key: 'x', operator: 'Exists', minValues: 2 },
        ],
        resources: { requests: { cpu: '1500m', memory: '1Ki', pods: '3' } },
        nodeClassRef: parts.classRef,
        expireAfter: 'Never',
      },
    }));
  test('reads back as it was meant', () => {
    const object = nodeClaimObject({
      ...parts,
      expireAfterMs: 1_800_000,
      terminationGracePeriodMs: 30_000,
    });
    const read = nodeClaimOf({ ...object, metadata: { ...object.metadata, uid: 'c-1' } });
    expect(read).toMatchObject({
      ok: true,
      value: {
        name: 'default-abc',
        pool: parts.pool,
        classRef: parts.classRef,
        requirements: parts.requirements,
        requests: parts.requests,
        taints: parts.taints,
        startupTaints: [],
        expireAfterMs: 1_800_000,
        terminationGracePeriodMs: 30_000,
        finalizers: ['karpenter.sh/termination'],
      },
    });
    const forever = nodeClaimObject(parts);
    expect(
      nodeClaimOf({ ...forever, metadata: { ...forever.metadata, uid: 'c-1' } }),
    ).not.toHaveProperty('value.expireAfterMs');
  });
});

test.each<[Partial<NodeClaimParts>, object]>([
  [{}, { expireAfter: 'Never' }],
  [{ expireAfterMs: 720 * 3_600_000 }, { expireAfter: '720h' }],
  [{ expireAfterMs: 0 }, { expireAfter: '0s' }],
  [{ terminationGracePeriodMs: 90_000 }, { terminationGracePeriod: '1m30s' }],
])('the times %j are written %j', (more, spec) =>
  expect(nodeClaimObject({ ...parts, ...more }).spec).toMatchObject(spec),
);

test('an empty list of taints is left out, because the schema wants none or some', () =>
  expect(nodeClaimObject({ ...parts, taints: [] }).spec).not.toHaveProperty('taints'));

test.each([
  ['EC2NodeClass', 'karpenter.k8s.aws/ec2nodeclass'],
  ['AWSNodeTemplate', 'karpenter.k8s.aws/awsnodetemplate'],
] as const)('the label of a %s is %s', (kind, label) =>
  expect(classLabelOf({ group: 'karpenter.k8s.aws', kind, name: 'x' })).toBe(label),
);

test("the pool's own label wins over one of that name in the template", () =>
  expect(
    nodeClaimObject({ ...parts, labels: { 'karpenter.sh/provisioner-name': 'other' } }).metadata
      .labels,
  ).toMatchObject({ 'karpenter.sh/provisioner-name': 'default' }));

test('every claim that is built reads back with the same demands', () =>
  fc.assert(
    fc.property(
      fc.record({
        expireAfterMs: fc.nat({ max: 10_000 }).map((seconds) => seconds * 1000),
        terminationGracePeriodMs: fc.nat({ max: 10_000 }).map((seconds) => seconds * 1000),
        requests: fc.dictionary(fc.constantFrom('cpu', 'memory', 'pods'), fc.nat()),
        labels: fc.dictionary(fc.constantFrom('team', 'tier'), fc.constantFrom('a', 'b')),
        requirements: fc.array(
          fc.record({
            key: fc.constantFrom('a', 'b'),
            operator: fc.constantFrom('In' as const, 'NotIn' as const),
            values: fc.uniqueArray(fc.constantFrom('x', 'y'), { minLength: 1 }),
          }),
        ),
      }),
      (more) => {
        const object = nodeClaimObject({ ...parts, ...more });
        const read = nodeClaimOf({ ...object, metadata: { ...object.metadata, uid: 'u' } });
        const { labels, ...demands } = more;
        expect(read).toMatchObject({ ok: true, value: { ...demands, pool: parts.pool } });
        expect(read.ok ? read.value.labels : {}).toMatchObject(labels);
      },
    ),
  ));
