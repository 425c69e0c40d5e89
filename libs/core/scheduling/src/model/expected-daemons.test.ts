import type { Pod } from '@dovetail/core-kube-model';
import { expect, test } from 'vitest';

import type { ExistingNode } from '../snapshot.js';
import { daemonSetOf, nodeOf, podOf } from '../testing/objects.js';
import { expectedDaemonSets } from './expected-daemons.js';

const set = (over: Partial<Pod> = {}) => daemonSetOf('agent', over);
const ofSet = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'agent', uid: set().uid };

test.each<[string, Partial<ExistingNode>, Partial<Pod>, readonly string[]]>([
  ['without a pod of it', {}, {}, [set().uid]],
  ['with a pod of it', { pods: [podOf('a', { owner: ofSet })] }, {}, []],
  ['that it does not select', {}, { nodeSelector: { pool: 'other' } }, []],
  [
    'with a taint that it does not tolerate',
    { taints: [{ key: 'x', effect: 'NoSchedule' }] },
    {},
    [],
  ],
])('a node %s expects these daemonsets', (_what, over, template, uids) =>
  expect(expectedDaemonSets(nodeOf('n', over), [set(template)]).map(({ uid }) => uid)).toEqual(
    uids,
  ),
);
