import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { sizesOf } from './legacy-sizes.js';
import type { Pool } from './pool.js';

fc.configureGlobal({ seed: 1 });

type Case = Partial<Pick<Pool, 'requirements' | 'labels'>>;
const sized = (over: Case, kind: Pool['identity']['kind'] = 'Provisioner'): boolean =>
  sizesOf({ identity: { kind, name: 'default' }, requirements: [], labels: {}, ...over }) !==
  undefined;

describe('nodes are sized by some types only', () => {
  test('by c, m and r above generation 2', () =>
    expect(
      sizesOf({ identity: { kind: 'Provisioner', name: 'default' }, requirements: [], labels: {} }),
    ).toEqual([
      { key: 'karpenter.k8s.aws/instance-category', operator: 'In', values: ['c', 'm', 'r'] },
      { key: 'karpenter.k8s.aws/instance-generation', operator: 'Gt', values: ['2'] },
    ]));
  test.each<[string, Case]>([
    ['says nothing', {}],
    [
      'chooses zones and capacity types',
      {
        requirements: [
          { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['spot'] },
          { key: 'topology.kubernetes.io/zone', operator: 'In', values: ['a'] },
        ],
      },
    ],
    ['has labels of its own', { labels: { team: 'a' } }],
  ])('in a Provisioner that %s', (_, over) => expect(sized(over)).toBe(true));
  test.each([
    'node.kubernetes.io/instance-type',
    'beta.kubernetes.io/instance-type',
    'karpenter.k8s.aws/instance-family',
    'karpenter.k8s.aws/instance-category',
    'karpenter.k8s.aws/instance-generation',
  ])('but not in one that requires %s, or has it as a label', (key) =>
    expect([
      sized({ requirements: [{ key, operator: 'Exists', values: [] }] }),
      sized({ labels: { [key]: 'x' } }),
    ]).toEqual([false, false]),
  );
  test('and never in a NodePool', () => expect(sized({}, 'NodePool')).toBe(false));
});

test('one more requirement or label can only lift the sizes, never set them', () =>
  fc.assert(
    fc.property(
      fc.array(
        fc.constantFrom('team', 'karpenter.k8s.aws/instance-family', 'topology.kubernetes.io/zone'),
      ),
      fc.constantFrom('team', 'node.kubernetes.io/instance-type', 'kubernetes.io/arch'),
      (keys, more) => {
        const demand = (all: readonly string[]): Case => ({
          requirements: all.map((key) => ({ key, operator: 'Exists', values: [] })),
        });
        expect(sized(demand([...keys, more])) && !sized(demand(keys))).toBe(false);
      },
    ),
  ));
