import type { Parsed } from '@dovetail/core-kube-model';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import type { Pool } from '../pool.js';
import { nodePoolOf, readClassRef } from './node-pool.js';
import { metadata, nodeClassRef, type Part, pool, valueOf } from './testing/manifests.js';
import { wholeNodePool } from './testing/whole.js';
import { mistakenKinds, mistakenNulls } from './testing/wrong-kinds.js';

fc.configureGlobal({ seed: 1 });

describe('a NodePool', () => {
  test("that says only what it must has the schema's defaults", () =>
    expect(valueOf(nodePoolOf(pool()))).toEqual({
      identity: { kind: 'NodePool', name: 'default' },
      uid: 'u-1',
      resourceVersion: '',
      generation: 0,
      createdMs: 0,
      weight: 0,
      limits: {},
      labels: {},
      annotations: {},
      taints: [],
      startupTaints: [],
      requirements: [],
      classRef: nodeClassRef,
      expireAfterMs: 720 * 3_600_000,
      hash: expect.stringMatching(/^[0-9]+$/),
      ready: false,
      disruption: {
        policy: 'WhenEmptyOrUnderutilized',
        consolidateAfterMs: 0,
        budgets: [{ nodes: { percent: 10 } }],
      },
    }));
  test.each([
    ['Never', undefined],
    ['336h', 336 * 3_600_000],
    ['1h30m', 5_400_000],
  ])('expires after %s', (text, ms) =>
    expect(valueOf(nodePoolOf(pool({ expireAfter: text }))).expireAfterMs).toBe(ms),
  );
  test('with consolidateAfter Never is never consolidated', () =>
    expect(
      valueOf(nodePoolOf(pool({}, { disruption: { consolidateAfter: 'Never' } }))).disruption
        .consolidateAfterMs,
    ).toBeUndefined());
  test('reads budgets with reasons and windows', () =>
    expect(
      valueOf(
        nodePoolOf(
          pool(
            {},
            {
              disruption: {
                budgets: [
                  { nodes: '0', schedule: '0 9 * * mon-fri', duration: '8h' },
                  { nodes: '20%', reasons: ['Empty', 'Drifted'] },
                ],
              },
            },
          ),
        ),
      ).disruption.budgets,
    ).toEqual([
      { nodes: { count: 0 }, schedule: { cron: '0 9 * * mon-fri', durationMs: 8 * 3_600_000 } },
      { nodes: { percent: 20 }, reasons: ['Empty', 'Drifted'] },
    ]));
  test('reads its price cap and launch rate from annotations', () =>
    expect(
      valueOf(
        nodePoolOf(
          pool(
            {},
            {},
            {},
            {
              annotations: {
                'dovetail.sh/max-price-per-hour': '1.5',
                'dovetail.sh/max-launches-per-minute': '20',
              },
            },
          ),
        ),
      ),
    ).toMatchObject({ maxPriceMicrosPerHour: 1_500_000, maxLaunchesPerMinute: 20 }));
  test('is ready when its status says so', () =>
    expect(
      valueOf(
        nodePoolOf({ ...pool(), status: { conditions: [{ type: 'Ready', status: 'True' }] } }),
      ).ready,
    ).toBe(true));
  test('may demand capacity type and the instance labels of AWS', () =>
    expect(
      valueOf(
        nodePoolOf(
          pool({
            requirements: [
              { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['spot'] },
              { key: 'karpenter.k8s.aws/instance-generation', operator: 'Gt', values: ['4'] },
              { key: 'example.com/team', operator: 'Exists' },
            ],
          }),
        ),
      ).requirements,
    ).toHaveLength(3));

  const requirement = (key: string, operator: string, ...values: string[]): Part => ({
    requirements: [{ key, operator, values }],
  });
  test.each<[string, object, string]>([
    [
      'a restricted label',
      pool({}, {}, { metadata: { labels: { 'karpenter.sh/custom': 'x' } } }),
      'spec.template.metadata.labels.karpenter.sh/custom',
    ],
    [
      'the pool label',
      pool({}, {}, { metadata: { labels: { 'karpenter.sh/nodepool': 'x' } } }),
      'spec.template.metadata.labels.karpenter.sh/nodepool',
    ],
    [
      'the hostname label',
      pool({}, {}, { metadata: { labels: { 'kubernetes.io/hostname': 'x' } } }),
      'spec.template.metadata.labels.kubernetes.io/hostname',
    ],
    [
      'a label that is no name',
      pool({}, {}, { metadata: { labels: { 'a b': 'x' } } }),
      'spec.template.metadata.labels.a b',
    ],
    [
      'a label value that is none',
      pool({}, {}, { metadata: { labels: { a: 'x y' } } }),
      'spec.template.metadata.labels.a',
    ],
    [
      'an unknown label of AWS',
      pool(requirement('karpenter.k8s.aws/instance-colour', 'Exists')),
      'spec.template.spec.requirements[0].key',
    ],
    [
      'a demand for a pool',
      pool(requirement('karpenter.sh/nodepool', 'In', 'x')),
      'spec.template.spec.requirements[0].key',
    ],
    [
      'In without values',
      pool(requirement('a', 'In')),
      'spec.template.spec.requirements[0].values',
    ],
    [
      'Gt of a text',
      pool(requirement('a', 'Gt', 'many')),
      'spec.template.spec.requirements[0].values',
    ],
    [
      'Gt of a negative number',
      pool(requirement('a', 'Gt', '-1')),
      'spec.template.spec.requirements[0].values',
    ],
    [
      'Lt of two numbers',
      pool(requirement('a', 'Lt', '1', '2')),
      'spec.template.spec.requirements[0].values',
    ],
    [
      'an unknown operator',
      pool(requirement('a', 'Like', 'x')),
      'spec.template.spec.requirements[0].operator',
    ],
    [
      'only unknown capacity types',
      pool(requirement('karpenter.sh/capacity-type', 'In', 'cheap')),
      'spec.template.spec.requirements[0].values',
    ],
    [
      'fewer values than minValues',
      pool({ requirements: [{ key: 'a', operator: 'In', values: ['x'], minValues: 2 }] }),
      'spec.template.spec.requirements[0].minValues',
    ],
    [
      'too many minValues',
      pool({ requirements: [{ key: 'a', operator: 'Exists', minValues: 51 }] }),
      'spec.template.spec.requirements[0].minValues',
    ],
    [
      'one taint twice',
      pool({
        taints: [{ key: 'a', effect: 'NoSchedule' }],
        startupTaints: [{ key: 'a', value: 'x', effect: 'NoSchedule' }],
      }),
      'spec.template.spec.startupTaints[0]',
    ],
    [
      'a taint without effect',
      pool({ taints: [{ key: 'a' }] }),
      'spec.template.spec.taints[0].effect',
    ],
    [
      'an unknown class kind',
      pool({ nodeClassRef: { ...nodeClassRef, kind: 'Other' } }),
      'spec.template.spec.nodeClassRef.kind',
    ],
    ['no class', pool({ nodeClassRef: undefined }), 'spec.template.spec.nodeClassRef.group'],
    ['a duration in days', pool({ expireAfter: '14d' }), 'spec.template.spec.expireAfter'],
    [
      'a grace period of Never',
      pool({ terminationGracePeriod: 'Never' }),
      'spec.template.spec.terminationGracePeriod',
    ],
    ['a weight of 0', pool({}, { weight: 0 }), 'spec.weight'],
    ['a limit that is no quantity', pool({}, { limits: { cpu: 'lots' } }), 'spec.limits.cpu'],
    ['a negative limit', pool({}, { limits: { cpu: '-1' } }), 'spec.limits.cpu'],
    ['a static pool with a weight', pool({}, { replicas: 1, weight: 1 }), 'spec.weight'],
    [
      'a static pool with a CPU limit',
      pool({}, { replicas: 1, limits: { cpu: 1 } }),
      'spec.limits.cpu',
    ],
    [
      'an unknown policy',
      pool({}, { disruption: { consolidationPolicy: 'Always' } }),
      'spec.disruption.consolidationPolicy',
    ],
    [
      'a price cap with a currency',
      pool({}, {}, {}, { annotations: { 'dovetail.sh/max-price-per-hour': '$1' } }),
      'metadata.annotations.dovetail.sh/max-price-per-hour',
    ],
  ])('with %s is refused by field', (_name, object, field) =>
    expect(nodePoolOf(object)).toMatchObject({
      ok: false,
      field,
      remedy: expect.stringMatching(/.{10}/),
    }),
  );

  test('template changes change the hash; requirements, limits, budgets and order do not', () => {
    const hash = (...parts: Parameters<typeof pool>): string =>
      valueOf(nodePoolOf(pool(...parts))).hash;
    const base = hash();
    expect(
      hash(
        { requirements: [{ key: 'a', operator: 'Exists' }] },
        { limits: { cpu: 1 }, weight: 5, disruption: { budgets: [] } },
      ),
    ).toBe(base);
    const changed = [
      hash({ expireAfter: '1h' }),
      hash({ terminationGracePeriod: '1h' }),
      hash({ taints: [{ key: 'a', effect: 'NoSchedule' }] }),
      hash({ startupTaints: [{ key: 'a', effect: 'NoSchedule' }] }),
      hash({}, {}, { metadata: { labels: { a: 'b' } } }),
      hash({}, {}, { metadata: { annotations: { a: 'b' } } }),
      hash({ nodeClassRef: { ...nodeClassRef, name: 'other' } }),
    ];
    expect(new Set([base, ...changed]).size).toBe(changed.length + 1);
    const two = [
      { key: 'a', effect: 'NoSchedule' },
      { key: 'b', effect: 'NoExecute' },
    ];
    expect(hash({ taints: two })).toBe(hash({ taints: two.toReversed() }));
  });
  test('answers a value or a named field for any JSON', () =>
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (spec, template) => {
        nodePoolOf({ metadata, spec });
        return (
          typeof nodePoolOf({ metadata, spec: { template, disruption: spec } }).ok === 'boolean'
        );
      }),
    ));
});

test.each<[string, object, string]>([
  ['without a group', { group: '' }, 'ref.group'],
  ['of an unknown kind', { kind: 'NodeClass' }, 'ref.kind'],
  ['without a name', { name: undefined }, 'ref.name'],
])('a reference %s is refused', (_name, change, field) =>
  expect(() => readClassRef({ ...nodeClassRef, ...change }, 'ref')).toThrow(`${field}: `),
);

/** Reads a NodePool, and takes the problem of a closed budget for that of the pool. */
function strictNodePoolOf(raw: unknown): Parsed<Pool> {
  const read = nodePoolOf(raw);
  const problem = read.ok ? read.value.disruption.budgets[0]?.problem : undefined;
  const [, field, value, remedy] = /^(\S+) is (".+"|{.+}): (.+)$/.exec(problem ?? '') ?? [];
  return field === undefined || value === undefined || remedy === undefined
    ? read
    : { ok: false, field, value, remedy };
}

describe('each field of a NodePool', () => {
  test('of another kind is refused by its path, with its value and a remedy', () =>
    expect(mistakenKinds(wholeNodePool, strictNodePoolOf)).toEqual([]));

  test('that is null counts as absent', () =>
    expect(mistakenNulls(wholeNodePool, nodePoolOf)).toEqual([]));
});
