import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import type { RequirementSpec } from './requirement.js';
import { admits, admitsAbsence, anyValue, describeSet, isEmptySet } from './requirement-set.js';
import {
  canonicalKey,
  compatible,
  intersectRequirements,
  isCompatible,
  isUnsatisfiable,
  labelAliases,
  requirementsFromLabels,
  requirementsFromSelector,
  requirementsOf,
  toSpecs,
} from './requirements.js';
import { anySpec, equalSets, spec } from './testing/requirements.js';

fc.configureGlobal({ seed: 1 });

describe('the laws of requirements', () => {
  test('specs written from requirements read back as the same requirements', () =>
    fc.assert(
      fc.property(fc.array(anySpec, { maxLength: 4 }), (specs) => {
        const once = requirementsOf(specs);
        const again = requirementsOf(toSpecs(once));
        for (const [key, set] of once)
          if (!equalSets(set, anyValue))
            expect([describeSet(again.get(key)!), again.get(key)!.present]).toEqual([
              describeSet(set),
              set.present,
            ]);
      }),
    ));
  test('compatible gives no reason exactly when isCompatible', () =>
    fc.assert(
      fc.property(anySpec, anySpec, fc.boolean(), (a, b, open) => {
        const options = { allowUndefined: new Set(open ? ['k'] : []) };
        return (
          (compatible(requirementsOf([a]), requirementsOf([b]), options).length === 0) ===
          isCompatible(requirementsOf([a]), requirementsOf([b]), options)
        );
      }),
    ));
});

test('NotIn values beside a bound are kept when written out', () =>
  expect(toSpecs(requirementsOf([spec('Gt', '2'), spec('Lt', '9'), spec('NotIn', '4')]))).toEqual([
    spec('Gte', '3'),
    spec('Lte', '8'),
    spec('NotIn', '4'),
  ]));
test('bounds that exclude each other admit nothing, not even absence', () => {
  const set = requirementsOf([spec('Gt', '5'), spec('Lt', '3')]).get('k')!;
  expect([isEmptySet(set), admitsAbsence(set)]).toEqual([true, false]);
});
test.each([
  ['failure-domain.beta.kubernetes.io/zone', 'topology.kubernetes.io/zone'],
  ['beta.kubernetes.io/arch', 'kubernetes.io/arch'],
  ['beta.kubernetes.io/instance-type', 'node.kubernetes.io/instance-type'],
  ['topology.ebs.csi.aws.com/zone', 'topology.kubernetes.io/zone'],
])('the alias %s means %s', (alias, key) => {
  expect([...requirementsOf([{ key: alias, operator: 'In', values: ['x'] }]).keys()]).toEqual([
    key,
  ]);
  expect([...requirementsFromLabels({ [alias]: 'x' }).keys()]).toEqual([key]);
});
test('a nodeSelector that names one label twice leaves no value where the entries differ', () => {
  const both = (old: string, now: string) =>
    requirementsFromSelector({
      'failure-domain.beta.kubernetes.io/zone': old,
      'topology.kubernetes.io/zone': now,
    });
  expect(isUnsatisfiable(both('a', 'b'))).toBe(true);
  expect(both('a', 'a')).toEqual(requirementsFromLabels({ 'topology.kubernetes.io/zone': 'a' }));
});
test('entries for an alias and its canonical key are one conjunction', () =>
  expect(
    describeSet(
      requirementsOf([
        { key: 'beta.kubernetes.io/arch', operator: 'In', values: ['amd64', 'arm64'] },
        { key: 'kubernetes.io/arch', operator: 'In', values: ['arm64'] },
      ]).get('kubernetes.io/arch')!,
    ),
  ).toBe('In [arm64]'));

describe('undefined-key rules: a key the node side does not know', () => {
  const none = requirementsOf([]);
  test.each([
    ['In', ['a'], false, true],
    ['Exists', [], false, true],
    ['Gt', ['1'], false, true],
    ['NotIn', ['a'], true, true],
    ['DoesNotExist', [], true, true],
  ] as const)(
    '%s fits an existing node: %s, and a new one where the key is well known: %s',
    (operator, wanted, existing, fresh) => {
      const pod = requirementsOf([{ key: 'k', operator, values: [...wanted] }]);
      expect(isCompatible(none, pod, { allowUndefined: new Set() })).toBe(existing);
      expect(isCompatible(none, pod, { allowUndefined: new Set(['k']) })).toBe(fresh);
    },
  );
  test('two sides that both accept absence are compatible although no value is shared', () =>
    expect(
      isCompatible(requirementsOf([spec('DoesNotExist')]), requirementsOf([spec('NotIn', 'a')]), {
        allowUndefined: new Set(),
      }),
    ).toBe(true));
  test('the reason names key, wanted and offered', () =>
    expect(
      compatible(requirementsFromLabels({ k: 'a' }), requirementsOf([spec('In', 'b')]), {
        allowUndefined: new Set(),
      }),
    ).toEqual([{ key: 'k', wanted: 'In [b]', offered: 'In [a]' }]));
});
test('requirements of both sides meet key by key', () =>
  expect(
    toSpecs(
      intersectRequirements(
        requirementsOf([spec('In', 'a', 'b')]),
        requirementsOf([spec('In', 'b', 'c'), { key: 'j', operator: 'Exists', values: [] }]),
      ),
    ),
  ).toEqual([{ key: 'j', operator: 'Exists', values: [] }, spec('In', 'b')]));

describe('requirements cannot be satisfied', () => {
  test.each<[string, readonly RequirementSpec[], boolean]>([
    ['when two lists share no value', [spec('In', 'a'), spec('In', 'b')], true],
    ['when a label must be there and must not', [spec('Exists'), spec('DoesNotExist')], true],
    ['when a bound is no integer', [spec('Gt', 'x')], true],
    ['when only negative numbers pass a bound', [spec('Lt', '0')], true],
    ['when only negative numbers pass an inclusive bound', [spec('Lte', '-1')], true],
    ['when a bound is beyond what can be told apart', [spec('Gt', '9007199254740991')], true],
    ['but may when zero passes', [spec('Lte', '0')], false],
    ['but may when all but negative numbers pass', [spec('Gt', '-9')], false],
    ['but may when absence is enough', [spec('DoesNotExist')], false],
    ['but may when one value is left', [spec('In', 'a', 'b'), spec('NotIn', 'a')], false],
    ['but may when nothing is required', [], false],
  ])('%s', (_name, specs, is) => expect(isUnsatisfiable(requirementsOf(specs))).toBe(is));
});

test('a canonical key is its own canonical key', () => {
  for (const [alias, key] of labelAliases) {
    expect(canonicalKey(alias)).toBe(key);
    expect(canonicalKey(key)).toBe(key);
  }
});

test('where an alias disagrees with its canonical label, the canonical one counts', () =>
  expect(
    toSpecs(
      requirementsFromLabels({ 'beta.kubernetes.io/os': 'windows', 'kubernetes.io/os': 'linux' }),
    ),
  ).toEqual([{ key: 'kubernetes.io/os', operator: 'In', values: ['linux'] }]));

describe('the laws of compatibility', () => {
  const specs = fc.array(anySpec, { maxLength: 3 });
  const none = { allowUndefined: new Set<string>() };
  const open = { allowUndefined: new Set(['k']) };

  test('a pod that wants more fits nowhere that it did not fit before', () =>
    fc.assert(
      fc.property(specs, specs, specs, (offered, wanted, more) => {
        const node = requirementsOf(offered);
        const both = requirementsOf([...wanted, ...more]);
        expect(
          !isCompatible(node, both, none) || isCompatible(node, requirementsOf(wanted), none),
        ).toBe(true);
      }),
    ));

  test('a key that may be undefined never keeps a pod away that fitted without it', () =>
    fc.assert(
      fc.property(specs, specs, (offered, wanted) => {
        const [node, pod] = [requirementsOf(offered), requirementsOf(wanted)];
        expect(!isCompatible(node, pod, none) || isCompatible(node, pod, open)).toBe(true);
      }),
    ));

  test('both sides together are the same in either order', () =>
    fc.assert(
      fc.property(specs, specs, (a, b) => {
        const [left, right] = [requirementsOf(a), requirementsOf(b)];
        expect(toSpecs(intersectRequirements(left, right))).toEqual(
          toSpecs(intersectRequirements(right, left)),
        );
      }),
    ));

  test('a node with a label fits exactly the pods whose set admits its value', () =>
    fc.assert(
      fc.property(specs, fc.constantFrom('a', 'b', '1', '3'), (wanted, held) => {
        const pod = requirementsOf(wanted);
        const set = pod.get('k');
        expect(isCompatible(requirementsFromLabels({ k: held }), pod, none)).toBe(
          set === undefined || admits(set, held),
        );
      }),
    ));
});
