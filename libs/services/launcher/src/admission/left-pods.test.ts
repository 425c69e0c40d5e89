import { podValue } from '@dovetail/core-kube-model/testing';
import { expect, test } from 'vitest';

import { leftPods } from './left-pods.js';

const pod = (name: string, schedulerName = 'default-scheduler') =>
  podValue(name, { schedulerName });

test.each([
  ['of Kubernetes alone has no note', [pod('a')], []],
  [
    'is named with its pods',
    [pod('b', 'own'), pod('a', 'own'), pod('c')],
    ['own 2: scheduler own alone binds default/a, default/b: Dovetail leaves its pods to it'],
  ],
  [
    'has a note of its own',
    [pod('b', 'own'), pod('a', 'batch')],
    [
      'batch 1: scheduler batch alone binds default/a: Dovetail leaves its pods to it',
      'own 1: scheduler own alone binds default/b: Dovetail leaves its pods to it',
    ],
  ],
  [
    'of many pods is named with five',
    ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => pod(name, 'own')),
    [
      'own 6: scheduler own alone binds default/a, default/b, default/c, default/d, default/e, 1 more pod: Dovetail leaves its pods to it',
    ],
  ],
])('a scheduler %s', (_what, pods, notes) =>
  expect(
    leftPods(pods).map(
      ({ message, values }) => `${values['scheduler'] ?? ''} ${values['pods'] ?? ''}: ${message}`,
    ),
  ).toEqual(notes),
);
