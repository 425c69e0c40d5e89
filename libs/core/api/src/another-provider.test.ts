import { describe, expect, test } from 'vitest';

import { anotherProviderOf, isFromOurClass } from './another-provider.js';

const ref = (group: unknown, kind: unknown): object => ({ group, kind, name: 'default' });
const pool = (nodeClassRef: unknown): object => ({
  spec: { template: { spec: { nodeClassRef } } },
});
const claim = (nodeClassRef: unknown): object => ({ spec: { nodeClassRef } });

describe.each([
  ['a NodePool', pool],
  ['a NodeClaim', claim],
])('%s', (_what, objectOf) => {
  test.each([
    [
      'of EKS Auto Mode is of another provider',
      ref('eks.amazonaws.com', 'NodeClass'),
      'eks.amazonaws.com NodeClass',
    ],
    [
      'of our kind in another group is, too',
      ref('other.example.com', 'EC2NodeClass'),
      'other.example.com EC2NodeClass',
    ],
    [
      'of another kind in our group is, too',
      ref('karpenter.k8s.aws', 'NodeClass'),
      'karpenter.k8s.aws NodeClass',
    ],
    ['of an EC2NodeClass is ours', ref('karpenter.k8s.aws', 'EC2NodeClass'), undefined],
    ['of an AWSNodeTemplate is ours', ref('karpenter.k8s.aws', 'AWSNodeTemplate'), undefined],
    ['without a group is a mistake of ours', ref(undefined, 'EC2NodeClass'), undefined],
    ['with an empty kind is a mistake of ours', ref('eks.amazonaws.com', ''), undefined],
    ['without a reference is a mistake of ours', undefined, undefined],
    ['whose reference is a text is a mistake of ours', 'default', undefined],
  ])('%s', (_text, given, wanted) => expect(anotherProviderOf(objectOf(given))).toBe(wanted));
});

test.each([undefined, null, 7, 'text', [], { spec: 7 }, { spec: { template: [] } }])(
  'an object that is %j is not of another provider',
  (raw) => expect(anotherProviderOf(raw)).toBeUndefined(),
);

test.each([
  [{ 'karpenter.k8s.aws/ec2nodeclass': 'default' }, true],
  [{ 'karpenter.k8s.aws/inlineprovider': 'default' }, true],
  [{ 'eks.amazonaws.com/nodeclass': 'default', 'karpenter.sh/nodepool': 'system' }, false],
  [{}, false],
])('a node with the labels %j is from a class of ours: %s', (labels, wanted) =>
  expect(isFromOurClass({ labels })).toBe(wanted),
);
