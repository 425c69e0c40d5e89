import type { Pod, RequirementSpec } from '@dovetail/core-kube-model';
import { inheritedKeys } from '@dovetail/core-kube-model/testing';
import { describe, expect, test } from 'vitest';

import { checkPlan, defaultPlanOptions, type Plan, plan } from '../index.js';
import { bin, found } from '../testing/checked.js';
import { nodeOf, podOf, poolOf, snapshotOf } from '../testing/objects.js';
import { familyTypes } from '../testing/worlds.js';

const host = 'kubernetes.io/hostname';
const everyPod = { requirements: [] };
const nodesThat = (requirement: RequirementSpec): Partial<Pod> => ({
  requiredNodeAffinity: [{ matchExpressions: [requirement], matchFields: [] }],
});
const apartOver = (topologyKey: string): Partial<Pod> => ({
  requiredPodAntiAffinity: [{ topologyKey, selector: everyPod, namespaces: [] }],
});
const spreadOver = (topologyKey: string, key: string): Partial<Pod> => ({
  topologySpread: [
    {
      maxSkew: 1,
      topologyKey,
      whenUnsatisfiable: 'DoNotSchedule',
      selector: { requirements: [{ key, operator: 'Exists', values: [] }] },
      nodeAffinityPolicy: 'Honor',
      nodeTaintsPolicy: 'Ignore',
    },
  ],
});

/** The plan for the pods and one more, beside a node, and the checker's word on it. */
function planned(pods: readonly Pod[], running: readonly Pod[] = []): Plan {
  const snapshot = snapshotOf({
    nodes: [nodeOf('n', { poolKey: 'NodePool/default', pods: running })],
    pools: [{ pool: poolOf('default'), instanceTypes: familyTypes() }],
  });
  const made = plan(snapshot, pods, defaultPlanOptions);
  expect(checkPlan(snapshot, pods, made, defaultPlanOptions)).toEqual([]);
  return made;
}

const placesOf = ({ placements }: Plan): readonly (readonly string[])[] =>
  placements.flatMap(({ podUids, nodeName }) => podUids.map((uid) => [uid, nodeName])).sort();

describe.each(['team', ...inheritedKeys])('planner and checker agree about the key %s', (key) => {
  test.each<[string, Partial<Pod>, number]>([
    ['wants nodes without the label', nodesThat({ key, operator: 'DoesNotExist', values: [] }), 1],
    ['wants no node of this value', nodesThat({ key, operator: 'NotIn', values: ['a'] }), 1],
    ['wants nodes with the label', nodesThat({ key, operator: 'Exists', values: [] }), 0],
    ['selects nodes by the label', { nodeSelector: { [key]: 'a' } }, 0],
    ['keeps away from all over it', apartOver(key), 1],
    ['spreads over it', spreadOver(key, 'app'), 0],
    ['spreads over hosts with those that have the label', spreadOver(host, key), 1],
    ['asks for a resource of this name', { requests: { [key]: 1 } }, 0],
  ])('of a pod that %s', (_what, over, places) => {
    const made = planned([podOf('p', over), podOf('other')]);
    expect(made.unplaced.filter(({ podUid }) => podUid === 'p')).toHaveLength(1 - places);
  });

  test('of a running pod that keeps away from all over it', () => {
    const running = podOf('r', { ...apartOver(key), nodeName: 'n', phase: 'Running' });
    const big = podOf('big', { requests: { cpu: 6_000 } });
    expect(planned([podOf('p'), big], [running]).unplaced).toEqual([]);
  });

  test('of nodes that have the label', () => {
    const snapshot = snapshotOf({ nodes: [nodeOf('n', { labels: { [key]: 'a' } }), nodeOf('m')] });
    const pods = [
      podOf('with', { nodeSelector: { [key]: 'a' } }),
      podOf('without', nodesThat({ key, operator: 'DoesNotExist', values: [] })),
    ];
    const made = plan(snapshot, pods, defaultPlanOptions);
    expect(checkPlan(snapshot, pods, made, defaultPlanOptions)).toEqual([]);
    expect(placesOf(made)).toEqual([
      ['with', 'n'],
      ['without', 'm'],
    ]);
  });

  test('and the checker finds a node that lacks the label that its pod wants', () =>
    expect(
      found({
        pods: [podOf('p-0', nodesThat({ key, operator: 'Exists', values: [] }))],
        newNodes: [bin('b', ['p-0'])],
      }),
    ).not.toEqual([]));
});
