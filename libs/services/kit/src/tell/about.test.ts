import { describe, expect, test } from 'vitest';

import { aboutClaim, aboutNode, aboutPod, aboutPool } from './about.js';

const named = { name: 'x', uid: 'u', further: 'is left out' };
const pool = (kind: 'NodePool' | 'Provisioner') =>
  aboutPool({ identity: { kind, name: 'x' }, uid: 'u' });

describe('the subject of an Event about', () => {
  test.each([
    ['a Pod', aboutPod({ ...named, namespace: 'web' }), 'v1', 'Pod'],
    ['a Node', aboutNode(named), 'v1', 'Node'],
    ['a NodeClaim', aboutClaim(named), 'karpenter.sh/v1', 'NodeClaim'],
    ['a NodePool', pool('NodePool'), 'karpenter.sh/v1', 'NodePool'],
    ['a Provisioner', pool('Provisioner'), 'karpenter.sh/v1alpha5', 'Provisioner'],
  ])('%s', (_what, subject, apiVersion, kind) => {
    expect(subject).toEqual({
      apiVersion,
      kind,
      name: 'x',
      uid: 'u',
      ...(kind === 'Pod' ? { namespace: 'web' } : {}),
    });
  });
});
