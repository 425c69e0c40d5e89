import { describe, expect, test } from 'vitest';

import { poolKey, poolLabelOf } from './pool.js';

describe('a NodePool and a Provisioner of one name', () => {
  test('have different keys', () =>
    expect([
      poolKey({ kind: 'NodePool', name: 'default' }),
      poolKey({ kind: 'Provisioner', name: 'default' }),
    ]).toEqual(['NodePool/default', 'Provisioner/default']));

  test('have different labels on their nodes', () =>
    expect([poolLabelOf('NodePool'), poolLabelOf('Provisioner')]).toEqual([
      'karpenter.sh/nodepool',
      'karpenter.sh/provisioner-name',
    ]));
});
