import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import {
  type AmiFamily,
  karpenterClassHash,
  karpenterPoolHash,
  nodeClassHashVersion,
  nodePoolHashVersion,
} from '@dovetail/core-api';
import { expect, test } from 'vitest';

/** An object whose hash Karpenter's own code has told. */
type HashCase = {
  readonly name: string;
  readonly caBundle?: string;
  /** The family that an EC2NodeClass boots. Absent: none is named, so it is Custom. */
  readonly family?: AmiFamily;
  readonly object: { readonly kind: string; readonly spec: Readonly<Record<string, unknown>> };
};
const textOf = (name: string): string => readFileSync(join(import.meta.dirname, name), 'utf8');
const hashCases = JSON.parse(textOf('karpenter-hash-cases.json')) as readonly HashCase[];

/** The hashes by Karpenter 1.15.0, as bench/peers/karpenter-allocatable/hash printed them. */
const golden = new Map(
  textOf('karpenter-hashes.txt')
    .trim()
    .split('\n')
    .map((line) => [line.slice(0, line.indexOf('\t')), line.slice(line.indexOf('\t') + 1)]),
);

const hashOf = ({ object, family, caBundle }: HashCase): string =>
  object.kind === 'NodePool'
    ? karpenterPoolHash(object.spec['template'])
    : karpenterClassHash(object.spec, family ?? 'Custom', caBundle);

test('the golden file has the versions and every case, and no other', () => {
  expect(golden.get('NodePool version')).toBe(nodePoolHashVersion);
  expect(golden.get('EC2NodeClass version')).toBe(nodeClassHashVersion);
  expect([...golden.keys()].slice(2)).toEqual(hashCases.map(({ name }) => name));
});

test.each(hashCases.map((one) => [one.name, one] as const))('%s', (name, one) =>
  expect(hashOf(one)).toBe(golden.get(name)),
);
