import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { provisionerOf } from './provisioner.js';
import { metadata, type Part, valueOf } from './testing/manifests.js';
import { wholeProvisioner } from './testing/whole.js';
import { mistakenKinds, mistakenNulls } from './testing/wrong-kinds.js';

fc.configureGlobal({ seed: 1 });

const provisioner = (spec: Part): object => ({
  metadata,
  spec: { providerRef: { name: 'default' }, ...spec },
});

describe('a Provisioner', () => {
  const said = (spec: Part): string[] =>
    valueOf(provisionerOf(provisioner(spec))).requirements.map(
      (one) => `${one.key.split('/')[1]} ${one.operator} ${one.values.join(',')}`,
    );
  test('that says nothing means linux, amd64, on-demand, of any instance type', () =>
    expect(said({})).toEqual(['os In linux', 'arch In amd64', 'capacity-type In on-demand']));
  test.each([
    ['node.kubernetes.io/instance-type'],
    ['karpenter.k8s.aws/instance-family'],
    ['karpenter.k8s.aws/instance-category'],
    ['karpenter.k8s.aws/instance-generation'],
    ['beta.kubernetes.io/instance-type'],
  ])('that chooses by %s chooses its types alone', (key) =>
    expect(said({ requirements: [{ key, operator: 'In', values: ['5'] }] }).slice(1)).toEqual([
      'os In linux',
      'arch In amd64',
      'capacity-type In on-demand',
    ]),
  );
  test('keeps what it says, by requirement or label', () =>
    expect(
      said({
        requirements: [{ key: 'karpenter.sh/capacity-type', operator: 'In', values: ['spot'] }],
        labels: { 'kubernetes.io/arch': 'arm64' },
      }),
    ).toEqual(['capacity-type In spot', 'os In linux']));
  test.each<[Part, object]>([
    [{}, { policy: 'WhenEmpty', budgets: [{ nodes: { percent: 100 } }] }],
    [
      { ttlSecondsAfterEmpty: 30 },
      { policy: 'WhenEmpty', consolidateAfterMs: 30_000, budgets: [{ nodes: { percent: 100 } }] },
    ],
    [
      { ttlSecondsAfterEmpty: 0 },
      { policy: 'WhenEmpty', consolidateAfterMs: 0, budgets: [{ nodes: { percent: 100 } }] },
    ],
    [
      { consolidation: { enabled: true } },
      {
        policy: 'WhenEmptyOrUnderutilized',
        consolidateAfterMs: 0,
        budgets: [{ nodes: { percent: 100 } }],
      },
    ],
  ])('with %j is disrupted as %j', (spec, disruption) =>
    expect(valueOf(provisionerOf(provisioner(spec))).disruption).toEqual(disruption),
  );
  test('never expires unless it says when', () => {
    expect(valueOf(provisionerOf(provisioner({}))).expireAfterMs).toBeUndefined();
    expect(
      valueOf(provisionerOf(provisioner({ ttlSecondsUntilExpired: 1800 }))).expireAfterMs,
    ).toBe(1_800_000);
  });
  test('refers to a template, or stands for its own inline provider', () => {
    expect(valueOf(provisionerOf(provisioner({}))).classRef).toEqual({
      group: 'karpenter.k8s.aws',
      kind: 'AWSNodeTemplate',
      name: 'default',
    });
    expect(
      valueOf(provisionerOf(provisioner({ providerRef: undefined, provider: {} }))).classRef,
    ).toEqual({ group: 'karpenter.k8s.aws', kind: 'InlineProvider', name: 'default' });
  });
  test('has limits, weight, taints and kubelet settings', () =>
    expect(
      valueOf(
        provisionerOf(
          provisioner({
            limits: { resources: { cpu: 1000 } },
            weight: 10,
            taints: [{ key: 'team1', effect: 'NoSchedule' }],
            kubeletConfiguration: { maxPods: 20 },
          }),
        ),
      ),
    ).toMatchObject({
      limits: { cpu: 1_000_000 },
      weight: 10,
      taints: [{ key: 'team1', effect: 'NoSchedule' }],
      kubelet: { maxPods: 20 },
    }));
  test.each<[string, Part, string]>([
    ['both template and provider', { provider: {} }, 'spec.providerRef'],
    ['neither', { providerRef: undefined }, 'spec.providerRef'],
    [
      'an emptiness time beside consolidation',
      { consolidation: { enabled: true }, ttlSecondsAfterEmpty: 30 },
      'spec.ttlSecondsAfterEmpty',
    ],
    ['a time as text', { ttlSecondsUntilExpired: '30' }, 'spec.ttlSecondsUntilExpired'],
    [
      'its own label',
      { labels: { 'karpenter.sh/provisioner-name': 'x' } },
      'spec.labels.karpenter.sh/provisioner-name',
    ],
    [
      'kubelet settings of no kind',
      { kubeletConfiguration: { evictionHard: { 'disk.free': '1%' } } },
      'spec.kubeletConfiguration.evictionHard.disk.free',
    ],
  ])('with %s is refused by field', (_name, spec, field) =>
    expect(provisionerOf(provisioner(spec))).toMatchObject({ ok: false, field }),
  );
});

describe('the defaults of the webhooks', () => {
  const keys = ['kubernetes.io/os', 'kubernetes.io/arch', 'karpenter.sh/capacity-type'];
  const value = {
    'kubernetes.io/os': 'linux',
    'kubernetes.io/arch': 'arm64',
    'karpenter.sh/capacity-type': 'spot',
  };

  test('are written exactly for the keys that the Provisioner does not name', () =>
    fc.assert(
      fc.property(fc.subarray(Object.entries(value)), fc.boolean(), (named, byLabel) => {
        const spec = byLabel
          ? { labels: Object.fromEntries(named) }
          : { requirements: named.map(([key, one]) => ({ key, operator: 'In', values: [one] })) };
        const read = valueOf(provisionerOf(provisioner(spec)));
        const known = [...read.requirements.map(({ key }) => key), ...Object.keys(read.labels)];
        expect(known.toSorted()).toEqual(keys.toSorted());
      }),
    ));

  test('count a key under its older name as named', () => {
    const requirements = [{ key: 'beta.kubernetes.io/arch', operator: 'In', values: ['arm64'] }];
    const read = valueOf(provisionerOf(provisioner({ requirements })));
    expect(read.requirements.map(({ key }) => key)).not.toContain('kubernetes.io/arch');
  });
});

test.each<[string, Part, string]>([
  ['a negative time to live', { ttlSecondsUntilExpired: -1 }, 'spec.ttlSecondsUntilExpired'],
  ['a weight of zero', { weight: 0 }, 'spec.weight'],
  ['a weight above a hundred', { weight: 101 }, 'spec.weight'],
  ['consolidation in a text', { consolidation: { enabled: 'true' } }, 'spec.consolidation.enabled'],
  [
    'a reference of another kind',
    { providerRef: { kind: 'Other', name: 'x' } },
    'spec.providerRef.kind',
  ],
  ['a reference without a name', { providerRef: {} }, 'spec.providerRef.name'],
  [
    'a limit that is no quantity',
    { limits: { resources: { cpu: 'x' } } },
    'spec.limits.resources.cpu',
  ],
  [
    'kubelet settings that are none',
    { kubeletConfiguration: { maxPods: -1 } },
    'spec.kubeletConfiguration.maxPods',
  ],
])('a Provisioner with %s is refused by field', (_name, spec, field) =>
  expect(provisionerOf(provisioner(spec))).toMatchObject({ ok: false, field }),
);

describe('each field of a Provisioner', () => {
  test('of another kind is refused by its path, with its value and a remedy', () =>
    expect(mistakenKinds(wholeProvisioner, provisionerOf)).toEqual([]));

  test('that is null counts as absent', () =>
    expect(mistakenNulls(wholeProvisioner, provisionerOf)).toEqual([]));
});
