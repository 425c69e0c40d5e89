import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { RequirementSpec, ValueSet } from './index.js';
import {
  admits, admitsAbsence, anyValue, compatible, describeSet, equalSets, hasIntersection, intersectRequirements, intersectSets,
  isCompatible, isEmptySet, requirementsFromLabels, requirementsOf, setOfSpec, toSpecs,
} from './index.js';

fc.configureGlobal({ seed: 1 });

const spec = (operator: RequirementSpec['operator'], ...values: string[]): RequirementSpec => ({ key: 'k', operator, values });
const values = ['a', 'b', 'c', '1', '2', '3', '7', '05'];
const anySpec = fc.oneof(
  fc.record({ key: fc.constant('k'), operator: fc.constantFrom('In' as const, 'NotIn' as const), values: fc.subarray(values) }),
  fc.record({ key: fc.constant('k'), operator: fc.constantFrom('Exists' as const, 'DoesNotExist' as const), values: fc.constant([]) }),
  fc.record({ key: fc.constant('k'), operator: fc.constantFrom('Gt' as const, 'Lt' as const, 'Gte' as const, 'Lte' as const), values: fc.constantFrom(['1'], ['2'], ['5'], ['x']) }),
);
const anySet: fc.Arbitrary<ValueSet> = fc.array(anySpec, { minLength: 1, maxLength: 3 })
  .map((specs) => specs.map(setOfSpec).reduce(intersectSets));

describe('a requirement admits', () => {
  test.each([
    [spec('In', 'a', 'b'), 'a', true], [spec('In', 'a'), 'b', false],
    [spec('NotIn', 'a'), 'b', true], [spec('NotIn', 'a'), 'a', false],
    [spec('Exists'), 'anything', true], [spec('DoesNotExist'), 'anything', false],
    [spec('Gt', '2'), '3', true], [spec('Gt', '2'), '2', false], [spec('Gt', '2'), 'x', false],
    [spec('Lt', '2'), '1', true], [spec('Lt', '2'), '2', false],
    [spec('Gte', '2'), '2', true], [spec('Lte', '2'), '2', true], [spec('Lte', '2'), '3', false],
    [spec('Gt', 'x'), '3', false], [spec('Gt', '1', '2'), '3', false],
  ])('%j and %s: %s', (one, value, admitted) => expect(admits(setOfSpec(one), value)).toBe(admitted));

  test.each([
    [spec('In', 'a'), false], [spec('NotIn', 'a'), true], [spec('Exists'), false], [spec('DoesNotExist'), true], [spec('Gt', '1'), false],
  ])('%j and an absent label: %s', (one, admitted) => expect(admitsAbsence(setOfSpec(one))).toBe(admitted));
});

describe('the algebra holds for every set', () => {
  test('the intersection admits a value exactly when both sides do', () => fc.assert(fc.property(anySet, anySet, fc.constantFrom(...values, '9'), (a, b, value) =>
    admits(intersectSets(a, b), value) === (admits(a, value) && admits(b, value)))));
  test('the intersection admits absence exactly when both sides do', () => fc.assert(fc.property(anySet, anySet, (a, b) =>
    admitsAbsence(intersectSets(a, b)) === (admitsAbsence(a) && admitsAbsence(b)))));
  test('intersection is commutative', () => fc.assert(fc.property(anySet, anySet, (a, b) => equalSets(intersectSets(a, b), intersectSets(b, a)))));
  test('intersection is associative', () => fc.assert(fc.property(anySet, anySet, anySet, (a, b, c) =>
    equalSets(intersectSets(intersectSets(a, b), c), intersectSets(a, intersectSets(b, c))))));
  test('anyValue is the identity and every set is idempotent', () => fc.assert(fc.property(anySet, (a) =>
    equalSets(intersectSets(a, anyValue), a) && equalSets(intersectSets(a, a), a))));
  test('hasIntersection says whether the intersection is empty', () => fc.assert(fc.property(anySet, anySet, (a, b) =>
    hasIntersection(a, b) === !isEmptySet(intersectSets(a, b)))));
  test('specs written from requirements read back as the same requirements', () => fc.assert(fc.property(fc.array(anySpec, { maxLength: 4 }), (specs) => {
    const once = requirementsOf(specs);
    const again = requirementsOf(toSpecs(once));
    for (const [key, set] of once) if (!equalSets(set, anyValue)) expect([describeSet(again.get(key)!), again.get(key)!.present]).toEqual([describeSet(set), set.present]);
  })));
  test('compatible gives no reason exactly when isCompatible', () => fc.assert(fc.property(anySpec, anySpec, fc.boolean(), (a, b, open) => {
    const options = { allowUndefined: new Set(open ? ['k'] : []) };
    return (compatible(requirementsOf([a]), requirementsOf([b]), options).length === 0) === isCompatible(requirementsOf([a]), requirementsOf([b]), options);
  })));
});

test('the larger minValues stays', () =>
  expect(intersectSets({ ...anyValue, minValues: 2 }, { ...anyValue, minValues: 5 }).minValues).toBe(5));
test('NotIn values beside a bound are kept when written out', () =>
  expect(toSpecs(requirementsOf([spec('Gt', '2'), spec('Lt', '9'), spec('NotIn', '4')]))).toEqual([
    spec('Gte', '3'), spec('Lte', '8'), spec('NotIn', '4')]));
test('bounds that exclude each other admit nothing, not even absence', () => {
  const set = requirementsOf([spec('Gt', '5'), spec('Lt', '3')]).get('k')!;
  expect([isEmptySet(set), admitsAbsence(set)]).toEqual([true, false]);
});
test.each([
  ['failure-domain.beta.kubernetes.io/zone', 'topology.kubernetes.io/zone'], ['beta.kubernetes.io/arch', 'kubernetes.io/arch'],
  ['beta.kubernetes.io/instance-type', 'node.kubernetes.io/instance-type'], ['topology.ebs.csi.aws.com/zone', 'topology.kubernetes.io/zone'],
])('the alias %s means %s', (alias, key) => {
  expect([...requirementsOf([{ key: alias, operator: 'In', values: ['x'] }]).keys()]).toEqual([key]);
  expect([...requirementsFromLabels({ [alias]: 'x' }).keys()]).toEqual([key]);
});
test('entries for an alias and its canonical key are one conjunction', () => expect(describeSet(requirementsOf([
  { key: 'beta.kubernetes.io/arch', operator: 'In', values: ['amd64', 'arm64'] }, { key: 'kubernetes.io/arch', operator: 'In', values: ['arm64'] },
]).get('kubernetes.io/arch')!)).toBe('In [arm64]'));

describe('undefined-key rules: a key the node side does not know', () => {
  const none = requirementsOf([]);
  test.each([
    ['In', ['a'], false, true], ['Exists', [], false, true], ['Gt', ['1'], false, true],
    ['NotIn', ['a'], true, true], ['DoesNotExist', [], true, true],
  ] as const)('%s fits an existing node: %s, and a new one where the key is well known: %s', (operator, wanted, existing, fresh) => {
    const pod = requirementsOf([{ key: 'k', operator, values: [...wanted] }]);
    expect(isCompatible(none, pod, { allowUndefined: new Set() })).toBe(existing);
    expect(isCompatible(none, pod, { allowUndefined: new Set(['k']) })).toBe(fresh);
  });
  test('two sides that both accept absence are compatible although no value is shared', () =>
    expect(isCompatible(requirementsOf([spec('DoesNotExist')]), requirementsOf([spec('NotIn', 'a')]), { allowUndefined: new Set() })).toBe(true));
  test('the reason names key, wanted and offered', () => expect(compatible(requirementsFromLabels({ k: 'a' }), requirementsOf([spec('In', 'b')]), { allowUndefined: new Set() }))
    .toEqual([{ key: 'k', wanted: 'In [b]', offered: 'In [a]' }]));
});
test('requirements of both sides meet key by key', () => expect(toSpecs(intersectRequirements(
  requirementsOf([spec('In', 'a', 'b')]), requirementsOf([spec('In', 'b', 'c'), { key: 'j', operator: 'Exists', values: [] }]))))
  .toEqual([{ key: 'j', operator: 'Exists', values: [] }, spec('In', 'b')]));
