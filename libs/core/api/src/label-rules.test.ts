import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import {
  awsLabels,
  isLabelValue,
  isPoolLabel,
  isQualifiedName,
  restrictedLabel,
} from './label-rules.js';

fc.configureGlobal({ seed: 1 });

describe('labels', () => {
  test.each<[string, boolean]>([
    ['karpenter.sh/capacity-type', true],
    ['karpenter.k8s.aws/instance-family', true],
    ['topology.kubernetes.io/zone', true],
    ['example.com/team', true],
    ['team', true],
    ['kubernetes.io/os', true],
    ['xkarpenter.sh/a', true],
    ['karpenter.sh/nodepool', false],
    ['karpenter.sh/provisioner-name', false],
    ['karpenter.sh/other', false],
    ['sub.karpenter.sh/a', false],
    ['kubernetes.io/hostname', false],
    ['karpenter.k8s.aws/other', false],
    // On the main branch of Karpenter's provider for a while, and in no release.
    ['karpenter.k8s.aws/nitro-sandbox', false],
  ])('%s may be used: %s', (key, may) => expect(restrictedLabel(key) === undefined).toBe(may));
  test.each<[string, boolean]>([
    ['a', true],
    ['a.b/c_d', true],
    ['', false],
    ['a/', false],
    ['/a', false],
    ['A.b/c', false],
    ['-a', false],
    ['a/b/c', false],
    ['x'.repeat(64), false],
  ])('%j is a qualified name: %s', (key, is) => expect(isQualifiedName(key)).toBe(is));
  test.each<[string, boolean]>([
    ['', true],
    ['a', true],
    ['a b', false],
    ['x'.repeat(63), true],
    ['x'.repeat(64), false],
    ['a-', false],
  ])('%j is a label value: %s', (text, is) => expect(isLabelValue(text)).toBe(is));
});

describe('the rules agree with each other', () => {
  test('every known AWS label is a qualified name and may be used', () => {
    for (const label of awsLabels)
      expect([label, isQualifiedName(label), restrictedLabel(label)]).toEqual([
        label,
        true,
        undefined,
      ]);
  });

  test('a text with a space, a newline or an accent is neither name nor value', () =>
    fc.assert(
      fc.property(fc.string(), fc.constantFrom(' ', '\n', 'é'), fc.string(), (a, odd, b) => {
        expect(isQualifiedName(`a/${a}${odd}${b}`)).toBe(false);
        expect(isLabelValue(`${a}${odd}${b}`)).toBe(false);
      }),
    ));

  test('a name without a domain is qualified exactly when it is a value that is not empty', () =>
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('a', 'Z', '9', '-', '_', '.', ' ') }),
        (text) => {
          expect(isQualifiedName(text)).toBe(text !== '' && isLabelValue(text));
        },
      ),
    ));
});

test.each<[string, boolean]>([
  ['karpenter.sh/nodepool', true],
  ['karpenter.sh/provisioner-name', true],
  ['karpenter.sh/capacity-type', false],
  ['nodepool', false],
])('%s says which pool a node is of: %s', (key, is) => expect(isPoolLabel(key)).toBe(is));

test.each<[string, RegExp]>([
  ['karpenter.sh/nodepool', /Dovetail sets karpenter.sh\/nodepool itself/],
  ['kubernetes.io/hostname', /differs on every node/],
  ['karpenter.sh/mine', /use a label of your own domain/],
  ['karpenter.k8s.aws/mine', /only known labels/],
])('the reason against %s says what to do', (key, reason) =>
  expect(restrictedLabel(key)).toMatch(reason),
);
