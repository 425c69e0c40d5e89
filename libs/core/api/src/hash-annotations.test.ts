import { expect, test } from 'vitest';

import { hashVersion } from './content-hash.js';
import { classHashAnnotations, hashedWithBundle, poolHashAnnotations } from './hash-annotations.js';
import { karpenterClassHash, nodeClassHashVersion, nodePoolHashVersion } from './karpenter-hash.js';
import { nodeClassValue } from './testing/objects.js';

const ref = (kind: 'EC2NodeClass' | 'AWSNodeTemplate') => ({
  group: 'karpenter.k8s.aws',
  kind,
  name: 'default',
});

test.each([
  ['NodePool', nodePoolHashVersion],
  ['Provisioner', hashVersion],
] as const)('the hash of a %s has version %s', (kind, version) =>
  expect(poolHashAnnotations({ identity: { kind, name: 'default' }, hash: '7' })).toEqual({
    'karpenter.sh/nodepool-hash': '7',
    'karpenter.sh/nodepool-hash-version': version,
  }),
);

test.each([
  ['EC2NodeClass', nodeClassHashVersion],
  ['AWSNodeTemplate', hashVersion],
] as const)('the hash of an %s has version %s', (kind, version) =>
  expect(classHashAnnotations({ ref: ref(kind), hash: '7' })).toEqual({
    'karpenter.k8s.aws/ec2nodeclass-hash': '7',
    'karpenter.k8s.aws/ec2nodeclass-hash-version': version,
  }),
);

test("a class' hash with the bundle is the one that Karpenter makes in one go", () => {
  const spec = { role: 'node', tags: { a: 'b' } };
  const hash = karpenterClassHash(spec, 'AL2023', undefined);
  const nodeClass = { ...nodeClassValue('default'), ref: ref('EC2NodeClass'), hash };
  expect(hashedWithBundle(nodeClass, 'LS0t').hash).toBe(karpenterClassHash(spec, 'AL2023', 'LS0t'));
});

test("a legacy class' hash has no bundle", () => {
  const nodeClass = { ...nodeClassValue('default'), ref: ref('AWSNodeTemplate'), hash: 'h' };
  expect(hashedWithBundle(nodeClass, 'LS0t')).toBe(nodeClass);
});
