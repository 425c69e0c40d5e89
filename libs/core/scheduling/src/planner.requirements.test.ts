import type { Operator, Pod, Taint, Toleration } from '@dovetail/core-kube-model';
import { describe, expect, test } from 'vitest';

import { gibibytes, nodeOf, podOf, poolOf } from './testing/objects.js';
import { codesOf, planScenario, valuesAt } from './testing/scenario.js';

const term = (key: string, operator: Operator, ...values: string[]) => ({
  matchExpressions: [{ key, operator, values }],
  matchFields: [],
});
const wanting = (key: string, operator: Operator, ...values: string[]): Pod =>
  podOf('p', { requiredNodeAffinity: [term(key, operator, ...values)] });
const placed = (pod: Pod, pool = poolOf('default')): boolean =>
  planScenario({ pods: [pod], pools: [pool] }).unplaced.length === 0;

describe('operators against a label that the pool defines', () => {
  const pool = poolOf('default', { labels: { tier: '5' } });
  test.each<[Operator, string[], boolean]>([
    ['In', ['5'], true],
    ['In', ['6'], false],
    ['NotIn', ['5'], false],
    ['NotIn', ['6'], true],
    ['Exists', [], true],
    ['DoesNotExist', [], false],
    ['Gt', ['4'], true],
    ['Gt', ['5'], false],
    ['Lt', ['6'], true],
    ['Lt', ['5'], false],
    ['Gte', ['5'], true],
    ['Lte', ['5'], true],
    ['Lte', ['4'], false],
  ])('tier=5 and %s %j: placed %s', (operator, values, expected) =>
    expect(placed(wanting('tier', operator, ...values), pool)).toBe(expected),
  );
});

describe('operators against a label that nobody defines (custom keys are not opened for pods)', () => {
  test.each<[Operator, string[], boolean]>([
    ['In', ['x'], false],
    ['Exists', [], false],
    ['Gt', ['1'], false],
    ['NotIn', ['x'], true],
    ['DoesNotExist', [], true],
  ])('%s %j: placed %s', (operator, values, expected) =>
    expect(placed(wanting('custom', operator, ...values))).toBe(expected),
  );
});

describe('well-known labels that the pool leaves open are filled in by types and offerings', () => {
  test.each<[string, Operator, string[], 'zone' | 'capacityType' | 'instanceType', string[]]>([
    ['topology.kubernetes.io/zone', 'In', ['zone-b'], 'zone', ['zone-b']],
    ['topology.kubernetes.io/zone', 'NotIn', ['zone-b', 'zone-c'], 'zone', ['zone-a']],
    ['karpenter.sh/capacity-type', 'In', ['on-demand'], 'capacityType', ['on-demand']],
    ['node.kubernetes.io/instance-type', 'In', ['m.4', 'r.4'], 'instanceType', ['m.4', 'r.4']],
    [
      'karpenter.k8s.aws/instance-cpu',
      'Gt',
      ['16'],
      'instanceType',
      ['c.32', 'cg.32', 'm.32', 'mg.32', 'r.32', 'rg.32'],
    ],
    ['failure-domain.beta.kubernetes.io/zone', 'In', ['zone-c'], 'zone', ['zone-c']],
  ])('%s %s %j leaves %s %j', (key, operator, values, what, expected) =>
    expect(
      valuesAt(planScenario({ pods: [wanting(key, operator, ...values)] }), 'p', what),
    ).toEqual(expected),
  );

  test.each([
    ['no such zone', { 'topology.kubernetes.io/zone': 'mars' }],
    ['no such type', { 'node.kubernetes.io/instance-type': 'x1.large' }],
    ['another pool', { 'karpenter.sh/nodepool': 'other' }],
  ])('%s: explained as a requirement mismatch', (_, nodeSelector) =>
    expect(codesOf(planScenario({ pods: [podOf('p', { nodeSelector })] }), 'p')).toEqual([
      'requirement-mismatch',
    ]),
  );
});

test('a pod that asks for another architecture does not share a node with one that asks for this one', () => {
  const made = planScenario({
    pods: [
      podOf('arm', { nodeSelector: { 'kubernetes.io/arch': 'arm64' } }),
      podOf('x86', { nodeSelector: { 'kubernetes.io/arch': 'amd64' } }),
    ],
  });
  expect(made.newNodes.map((node) => node.podUids)).toHaveLength(2);
});
test('a well-known label may be open on a new node, but not on a node that exists', () => {
  const made = planScenario({
    pods: [podOf('p', { nodeSelector: { 'topology.kubernetes.io/zone': 'zone-a' } })],
    snapshot: { nodes: [nodeOf('n')] },
  });
  expect([made.placements.length, made.newNodes.length]).toEqual([0, 1]);
});
test('a custom label with several values in the pool is fixed by the pods, and pods that disagree part', () => {
  const pool = poolOf('default', {
    requirements: [{ key: 'team', operator: 'In', values: ['red', 'blue'] }],
  });
  const made = planScenario({
    pools: [pool],
    pods: [
      podOf('r', { nodeSelector: { team: 'red' } }),
      podOf('b', { nodeSelector: { team: 'blue' } }),
    ],
  });
  expect(made.newNodes.map((node) => node.labels['team']).sort()).toEqual(['blue', 'red']);
});

describe('taints', () => {
  const taint: Taint = { key: 'gpu', value: 'yes', effect: 'NoSchedule' };
  test.each<[string, Taint[], Toleration[], boolean]>([
    ['untolerated', [taint], [], false],
    ['tolerated by value', [taint], [{ key: 'gpu', operator: 'Equal', value: 'yes' }], true],
    ['another value', [taint], [{ key: 'gpu', operator: 'Equal', value: 'no' }], false],
    ['tolerated by key', [taint], [{ key: 'gpu', operator: 'Exists' }], true],
    ['tolerated whatever it is', [taint], [{ operator: 'Exists' }], true],
    ['another effect', [taint], [{ key: 'gpu', operator: 'Exists', effect: 'NoExecute' }], false],
    ['NoExecute, untolerated', [{ ...taint, effect: 'NoExecute' }], [], false],
    ['only preferred', [{ ...taint, effect: 'PreferNoSchedule' }], [], true],
  ])('%s: placed %4$s', (_, taints, tolerations, expected) =>
    expect(placed(podOf('p', { tolerations }), poolOf('default', { taints }))).toBe(expected),
  );
  test('startup taints do not keep pods away', () =>
    expect(placed(podOf('p'), poolOf('default', { startupTaints: [taint] }))).toBe(true));
  test('a pool that would rather not is used only after one that does not mind, whatever the price', () => {
    const pools = [
      poolOf('a', { taints: [{ ...taint, effect: 'PreferNoSchedule' }] }),
      poolOf('b', {
        requirements: [
          { key: 'node.kubernetes.io/instance-type', operator: 'In', values: ['r.32'] },
        ],
      }),
    ];
    expect(
      planScenario({ pods: [podOf('p')], pools }).newNodes.map((node) => node.pool.name),
    ).toEqual(['b']);
  });
});

describe('preferences are given up in order, one at a time', () => {
  const inZone = (zone: string) => term('topology.kubernetes.io/zone', 'In', zone);
  test.each<[string, Partial<Pod>, string[]]>([
    [
      'a preference that can be met is met',
      { preferredNodeAffinity: [{ weight: 1, term: inZone('zone-c') }] },
      ['zone-c'],
    ],
    [
      'the heaviest preference is met first',
      {
        preferredNodeAffinity: [
          { weight: 1, term: inZone('zone-a') },
          { weight: 9, term: inZone('zone-c') },
        ],
      },
      ['zone-c'],
    ],
    [
      'an impossible heavy one falls, a lighter one is met',
      {
        preferredNodeAffinity: [
          { weight: 9, term: inZone('mars') },
          { weight: 1, term: inZone('zone-b') },
        ],
      },
      ['zone-b'],
    ],
    [
      'the first required alternative counts while it can be met',
      { requiredNodeAffinity: [inZone('zone-b'), inZone('zone-a')] },
      ['zone-b'],
    ],
    [
      'an impossible alternative falls',
      { requiredNodeAffinity: [inZone('mars'), inZone('zone-a')] },
      ['zone-a'],
    ],
    [
      'alternatives fall before preferences do',
      {
        requiredNodeAffinity: [inZone('mars'), term('kubernetes.io/os', 'Exists')],
        preferredNodeAffinity: [{ weight: 1, term: inZone('zone-c') }],
      },
      ['zone-c'],
    ],
  ])('%s', (_, over, zones) =>
    expect(valuesAt(planScenario({ pods: [podOf('p', over)] }), 'p', 'zone')).toEqual(zones),
  );
  test('the last required alternative never falls', () =>
    expect(placed(podOf('p', { requiredNodeAffinity: [inZone('mars')] }))).toBe(false));
  test('with the policy Ignore, preferences do not narrow anything', () =>
    expect(
      valuesAt(
        planScenario({
          pods: [podOf('p', { preferredNodeAffinity: [{ weight: 1, term: inZone('zone-c') }] })],
          options: { preferencePolicy: 'Ignore' },
        }),
        'p',
        'zone',
      ),
    ).toEqual(['zone-a', 'zone-b', 'zone-c']));
});

describe('pods that no plan can hold are refused with a code', () => {
  test.each<[string, Partial<Pod>, string]>([
    ['a scheduling gate', { schedulingGates: ['quota'] }, 'scheduling-gate'],
    ['a resource claim', { resourceClaims: ['gpu'] }, 'resource-claims'],
    [
      'matchFields',
      {
        requiredNodeAffinity: [
          {
            matchExpressions: [],
            matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n'] }],
          },
        ],
      },
      'match-fields-unsupported',
    ],
    ['affinity without terms', { requiredNodeAffinity: [] }, 'requirement-mismatch'],
    [
      'more cores than any type has',
      { requests: { cpu: 640_000, memory: 1, pods: 1 } },
      'resources-too-large',
    ],
    [
      'a resource that no type has',
      { requests: { 'vendor/fpga': 1, pods: 1 } },
      'resources-too-large',
    ],
    ['a missing volume claim', { volumes: [{ claimName: 'nowhere' }] }, 'volume'],
  ])('%s', (_, over, code) =>
    expect(codesOf(planScenario({ pods: [podOf('p', over)] }), 'p')[0]).toBe(code),
  );
});

test('the smallest sufficient type is chosen, daemonsets and reservations counted', () => {
  const made = planScenario({
    pods: [podOf('p', { requests: { cpu: 1900, memory: gibibytes(1), pods: 1 } })],
  });
  expect(made.newNodes[0]?.options[0]).toMatchObject({
    instanceType: 'cg.2',
    capacityType: 'spot',
    zone: 'zone-a',
  });
});
