import { nodeClassValue, poolValue } from '@dovetail/core-api/testing';
import { nodeValue } from '@dovetail/core-kube-model/testing';
import { expect, test } from 'vitest';

import { classKey, nameOf } from './kinds.js';

test.each([
  ['a node', nodeValue('n1'), 'n1'],
  ['a pool', poolValue('web'), 'web'],
  ['a class', nodeClassValue('gpu'), 'gpu'],
])('the name of %s is known', (_what, value, name) => expect(nameOf(value)).toBe(name));

test('classes of two kinds may share a name', () =>
  expect([
    classKey({ kind: 'EC2NodeClass', name: 'x' }),
    classKey({ kind: 'AWSNodeTemplate', name: 'x' }),
  ]).toEqual(['EC2NodeClass/x', 'AWSNodeTemplate/x']));
