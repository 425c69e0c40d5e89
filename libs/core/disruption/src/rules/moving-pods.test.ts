import { annotations } from '@dovetail/core-api';
import type { Pod, PodDisruptionBudget } from '@dovetail/core-kube-model';
import { expect, test } from 'vitest';

import { daemon, nowMs, pdb, pod } from '../testing/objects.js';
import { movingPods } from './moving-pods.js';

const kept = (value: string) => ({ annotations: { [annotations.doNotDisrupt]: value } });
const always = { unhealthyPodEvictionPolicy: 'AlwaysAllow' } as const;

test.each<[string, Pod, readonly PodDisruptionBudget[], boolean]>([
  ['a pod of a replica set gets one', pod('a'), [], true],
  ['a daemon does not', daemon('a'), [], false],
  ['a pod with do-not-disrupt does not', pod('a', kept('true')), [], false],
  ['a pod within its do-not-disrupt time does not', pod('a', kept('2h')), [], false],
  ['a pod after that time gets one', pod('a', kept('30m')), [], true],
  ['a pod of two budgets does not', pod('a'), [pdb('p', 1), pdb('q', 1)], false],
  ['a pod whose budget may yield gets one', pod('a'), [pdb('p', 0, { minAvailable: '2' })], true],
  ['a pod of maxUnavailable 0 does not', pod('a'), [pdb('p', 0, { maxUnavailable: '0' })], false],
  ['a pod of maxUnavailable 0% does not', pod('a'), [pdb('p', 0, { maxUnavailable: '0%' })], false],
  ['a pod of minAvailable 100% does not', pod('a'), [pdb('p', 0, { minAvailable: '100%' })], false],
  [
    'an unready pod gets one if its budget lets unready ones go',
    pod('a', { ready: false }),
    [pdb('p', 0, { maxUnavailable: '0', ...always })],
    true,
  ],
  ['a ready pod does not', pod('a'), [pdb('p', 0, { maxUnavailable: '0', ...always })], false],
  [
    'a pod that is not evicted gets one whatever its budget says',
    pod('a', { tolerations: [{ operator: 'Exists' }] }),
    [pdb('p', 0, { maxUnavailable: '0' })],
    true,
  ],
])('of the places that a drifted node buys, %s', (_what, one, budgets, moves) =>
  expect(movingPods([one], { budgetsOf: () => budgets, nowMs })).toEqual(moves ? [one] : []),
);
