import { requirementsOf, type RequirementSpec, type Taint } from '@dovetail/core-kube-model';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { daemonSetOf, mebibytes } from '../testing/objects.js';
import { daemonsOf, daemonsOfTemplate, daemonsOfType, intersects, overheadOf } from './daemons.js';

fc.configureGlobal({ seed: 1 });

const dimensions = { names: ['cpu', 'memory', 'pods'] };
const within = (key: string, ...values: readonly string[]): RequirementSpec => ({
  key,
  operator: 'In',
  values,
});
const without = (key: string, ...values: readonly string[]): RequirementSpec => ({
  key,
  operator: 'NotIn',
  values,
});
const affinityTo = (...specs: readonly RequirementSpec[]) => ({
  requiredNodeAffinity: specs.map((one) => ({ matchExpressions: [one], matchFields: [] })),
});
const daemonOf = (over: Parameters<typeof daemonSetOf>[1]) =>
  daemonsOf([daemonSetOf('agent', over)], dimensions);

describe('the daemonsets that nodes of a pool may carry', () => {
  const wellKnown = new Set(['kubernetes.io/arch']);
  const template = {
    requirements: requirementsOf([
      within('team', 'blue'),
      within('zone', 'a', 'b'),
      within('karpenter.sh/initialized', 'true'),
    ]),
    taints: [{ key: 'gpu', effect: 'NoSchedule' }] as readonly Taint[],
  };
  const tolerant = { tolerations: [{ operator: 'Exists' as const }] };
  const carried = (over: Parameters<typeof daemonSetOf>[1], at: Partial<typeof template> = {}) =>
    daemonsOfTemplate(daemonOf(over), { ...template, ...at }, wellKnown).length === 1;

  test.each<[string, Parameters<typeof daemonSetOf>[1]]>([
    ['tolerates the taints', {}],
    ['selects a label of the pool', { nodeSelector: { team: 'blue' } }],
    ['selects one of the values that are open', { nodeSelector: { zone: 'b' } }],
    ['selects a label that types decide', { nodeSelector: { 'kubernetes.io/arch': 'arm64' } }],
    ['selects nodes that are ready', { nodeSelector: { 'karpenter.sh/initialized': 'true' } }],
    ['has one alternative that fits', affinityTo(within('team', 'red'), within('team', 'blue'))],
    ['names a host, which is not known yet', { nodeSelector: { 'kubernetes.io/hostname': 'n' } }],
    [
      'only prefers other nodes',
      {
        preferredNodeAffinity: [
          { weight: 1, term: { matchExpressions: [within('team', 'red')], matchFields: [] } },
        ],
      },
    ],
  ])('include one that %s', (_what, over) => {
    expect(carried({ ...tolerant, ...over })).toBe(true);
  });

  test.each<[string, Parameters<typeof daemonSetOf>[1]]>([
    ['does not tolerate a taint', { tolerations: [] }],
    ['selects another value', { nodeSelector: { team: 'red' } }],
    ['selects a label that the nodes will not have', { nodeSelector: { disk: 'ssd' } }],
    ['has no alternative that fits', affinityTo(within('team', 'red'), within('team', 'green'))],
    [
      'has only alternatives without expressions',
      { requiredNodeAffinity: [{ matchExpressions: [], matchFields: [] }] },
    ],
  ])('do not include one that %s', (_what, over) => {
    expect(carried({ ...tolerant, ...over })).toBe(false);
  });

  test('include one that does not tolerate PreferNoSchedule', () => {
    expect(carried({}, { taints: [{ key: 'old', effect: 'PreferNoSchedule' }] })).toBe(true);
  });

  test('are of those the ones whose labels a type can have', () => {
    const arm = daemonOf({ nodeSelector: { 'kubernetes.io/arch': 'arm64' } });
    expect(daemonsOfType(arm, requirementsOf([within('kubernetes.io/arch', 'arm64')]))).toEqual(
      arm,
    );
    expect(daemonsOfType(arm, requirementsOf([within('kubernetes.io/arch', 'amd64')]))).toEqual([]);
  });
});

describe('daemonsets', () => {
  const two = [
    daemonSetOf('b', { requests: { cpu: 100, memory: mebibytes(1) } }),
    daemonSetOf('a', { requests: { cpu: 50, memory: mebibytes(2) } }),
  ];
  test('are in one order, however they are told', () => {
    expect(daemonsOf(two, dimensions).map(({ uid }) => uid)).toEqual(['ds-a', 'ds-b']);
    expect(daemonsOf([...two].reverse(), dimensions).map(({ uid }) => uid)).toEqual([
      'ds-a',
      'ds-b',
    ]);
  });

  test('take together the sum of what each takes', () => {
    expect([...overheadOf(daemonsOf(two, dimensions), dimensions)]).toEqual([150, mebibytes(3), 2]);
    expect([...overheadOf([], dimensions)]).toEqual([0, 0, 0]);
  });
});

describe('requirements have something in common', () => {
  test.each<[string, readonly RequirementSpec[], readonly RequirementSpec[], boolean]>([
    ['where they share no key', [within('a', '1')], [within('b', '1')], true],
    ['where they share a value', [within('a', '1', '2')], [within('a', '2', '3')], true],
    ['not where they share a key and no value', [within('a', '1')], [within('a', '2')], false],
    ['not where one excludes the only value', [within('a', '1')], [without('a', '1')], false],
    [
      'where both admit that the label is absent',
      [without('a', '1')],
      [{ key: 'a', operator: 'DoesNotExist', values: [] }],
      true,
    ],
  ])('%s', (_what, a, b, expected) => {
    expect(intersects(requirementsOf(a), requirementsOf(b))).toBe(expected);
  });

  test('both ways round', () => {
    const anySpec = fc.record({
      key: fc.constantFrom('a', 'b', 'c'),
      operator: fc.constantFrom('In' as const, 'NotIn' as const),
      values: fc.subarray(['1', '2', '3'], { minLength: 1 }),
    });
    fc.assert(
      fc.property(fc.array(anySpec), fc.array(anySpec), (a, b) => {
        const [left, right] = [requirementsOf(a), requirementsOf(b)];
        expect(intersects(left, right)).toBe(intersects(right, left));
      }),
    );
  });
});
