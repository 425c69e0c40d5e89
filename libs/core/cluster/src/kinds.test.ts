import { expect, test } from '@jest/globals';

import { classKey, nameOf } from './kinds.js';
import { classOf, nodeOf, poolOf } from './testing/objects.js';

test.each([
  ['a node', nodeOf('n1'), 'n1'],
  ['a pool', poolOf('web'), 'web'],
  ['a class', classOf('gpu'), 'gpu'],
])('the name of %s is known', (_what, value, name) => expect(nameOf(value)).toBe(name));

test('classes of two kinds may share a name', () =>
  expect([
    classKey({ kind: 'EC2NodeClass', name: 'x' }),
    classKey({ kind: 'AWSNodeTemplate', name: 'x' }),
  ]).toEqual(['EC2NodeClass/x', 'AWSNodeTemplate/x']));
