import type { Pod } from '@dovetail/core-kube-model';
import { expect, test } from 'vitest';

import { nowMs, pod } from '../testing/objects.js';
import { moveCostOf } from './move-cost.js';

const hourMs = 3_600_000;
const old: Partial<Pod> = { createdMs: nowMs - hourMs, terminationGracePeriodSeconds: 0 };

test.each<[string, number, Partial<Pod>]>([
  ['an ordinary pod', 1, {}],
  ['a pod that came half an hour ago', 1, { createdMs: nowMs - hourMs / 2 }],
  ['a pod that came later', 2, { createdMs: nowMs - hourMs / 2 + 1 }],
  ['a pod with a volume', 2, { volumes: [{ claimName: 'data' }] }],
  ['a pod that may take ten minutes to end', 2, { terminationGracePeriodSeconds: 600 }],
  ['a pod of a high priority', 2, { priority: 2 ** 25 }],
  ['a pod of a low priority', 0, { priority: -(2 ** 26) }],
  [
    'a pod that names its cost',
    2,
    { annotations: { 'controller.kubernetes.io/pod-deletion-cost': String(2 ** 27) } },
  ],
  [
    'a new pod with a volume and a long end',
    8,
    { createdMs: nowMs, volumes: [{ claimName: 'data' }], terminationGracePeriodSeconds: 600 },
  ],
])('moving %s costs %d moves', (_what, cost, more) => {
  expect(moveCostOf(pod('a', { ...old, ...more }), nowMs)).toBeCloseTo(cost, 9);
});
