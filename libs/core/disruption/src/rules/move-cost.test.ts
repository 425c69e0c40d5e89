import type { Pod } from '@dovetail/core-kube-model';
import { expect, test } from 'vitest';

import { nowMs, pod } from '../testing/objects.js';
import { moveCostOf } from './move-cost.js';

const hourMs = 3_600_000;
const old: Partial<Pod> = { createdMs: nowMs - hourMs, terminationGracePeriodSeconds: 0 };

test.each<[string, Partial<Pod>, number]>([
  ['an ordinary pod', {}, 1],
  ['a pod that came half an hour ago', { createdMs: nowMs - hourMs / 2 }, 1],
  ['a pod that came later', { createdMs: nowMs - hourMs / 2 + 1 }, 2],
  ['a pod with a volume', { volumes: [{ claimName: 'data' }] }, 2],
  ['a pod that may take ten minutes to end', { terminationGracePeriodSeconds: 600 }, 2],
  ['a pod of a high priority', { priority: 2 ** 25 }, 2],
  ['a pod of a low priority', { priority: -(2 ** 26) }, 0],
  [
    'a pod that names its cost',
    { annotations: { 'controller.kubernetes.io/pod-deletion-cost': String(2 ** 27) } },
    2,
  ],
  [
    'a new pod with a volume and a long end',
    { createdMs: nowMs, volumes: [{ claimName: 'data' }], terminationGracePeriodSeconds: 600 },
    8,
  ],
])('moving %s costs %#', (_what, more, cost) => {
  expect(moveCostOf(pod('a', { ...old, ...more }), nowMs)).toBeCloseTo(cost, 9);
});
