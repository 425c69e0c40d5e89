import type { Pod } from '@dovetail/core-kube-model';
import { expect, test } from 'vitest';

import { checkPlan, defaultPlanOptions, type Placement, type Plan } from '../index.js';
import { nodeOf, podOf, snapshotOf } from '../testing/objects.js';

const volumes = [{ claimName: 'single' }];
const user = (uid: string, over: Partial<Pod> = {}): Pod => podOf(uid, { volumes, ...over });
const running = (uid: string, over: Partial<Pod> = {}): Pod =>
  user(uid, { phase: 'Running', ...over });

type Made = {
  /** The pods planned on the node `a`, then those planned on the node `b`. */
  readonly planned: readonly (readonly Pod[])[];
  readonly onB?: readonly Pod[];
  readonly promisedOnB?: readonly Pod[];
  readonly onePod?: boolean;
};

/** Returns what the checker finds about volumes: the node and the pod that uses the claim. */
function found({ planned, onB = [], promisedOnB = [], onePod = true }: Made): readonly string[] {
  const pods = planned.flat();
  const snapshot = snapshotOf({
    nodes: [nodeOf('a'), nodeOf('b', { pods: onB, promisedPods: promisedOnB })],
    persistentVolumeClaims: [
      {
        uid: 'pvc',
        namespace: 'default',
        name: 'single',
        resourceVersion: '1',
        phase: 'Bound',
        bindCompleted: true,
        volumeName: 'pv',
        onePod,
      },
    ],
    persistentVolumes: [{ uid: 'pv', name: 'pv', resourceVersion: '1', local: false }],
  });
  const placements = planned.map((some, index): Placement => {
    const nodeName = index === 0 ? 'a' : 'b';
    const podUids = some.map(({ uid }) => uid);
    return { nodeName, nodeUid: `node-${nodeName}`, podUids, topologyGroups: [] };
  });
  const plan: Plan = {
    stateSequence: 1,
    catalogRevision: 'r1',
    admissionHead: '',
    seed: 1,
    steps: 0,
    newNodes: [],
    placements,
    unplaced: [],
    priceMicrosPerHour: 0,
    bound: { kind: 'none', priceMicrosPerHour: 0 },
    stats: { pods: pods.length, classes: 1, instanceTypes: 0 },
  };
  return checkPlan(snapshot, pods, plan, defaultPlanOptions).map(
    ({ code, where, message }) => `${code} ${where} ${/pod (\S+) uses it/.exec(message)?.[1]}`,
  );
}

test.each<[string, Made, readonly string[]]>([
  ['that a running pod uses', { planned: [[user('p')]], onB: [running('old')] }, ['volume a old']],
  [
    'that is promised to a pod',
    { planned: [[user('p')]], promisedOnB: [user('other')] },
    ['volume a other'],
  ],
  [
    'that two pods of one node would use',
    { planned: [[user('p'), user('q')]] },
    ['volume a q', 'volume a p'],
  ],
  [
    'that pods of two nodes would use',
    { planned: [[user('p')], [user('q')]] },
    ['volume a q', 'volume b p'],
  ],
  ['that nobody else uses', { planned: [[user('p')]], onB: [running('x', { volumes: [] })] }, []],
  ['whose user moves', { planned: [[user('p')]], onB: [running('p')] }, []],
  ['whose user ends', { planned: [[user('p')]], onB: [running('old', { deletionMs: 1 })] }, []],
  [
    'whose user has ended',
    { planned: [[user('p')]], onB: [running('x', { phase: 'Failed' })] },
    [],
  ],
  [
    'whose name another namespace has in use',
    { planned: [[user('p')]], onB: [running('x', { namespace: 'other' })] },
    [],
  ],
  ['for many pods', { planned: [[user('p')]], onB: [running('x')], onePod: false }, []],
])('a planned pod of a claim %s', (_, made, expected) => expect(found(made)).toEqual(expected));
