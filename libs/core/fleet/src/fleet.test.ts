import { claimValue, poolValue } from '@dovetail/core-api/testing';
import { nodeValue, podValue } from '@dovetail/core-kube-model/testing';
import { describe, expect, test } from 'vitest';

import { Fleet, type FleetObject, podUseOf } from './fleet.js';
import type { FleetNode } from './fleet-node.js';

const claim = claimValue('a', { nodeName: 'node-a', createdMs: 1_000 });
const ready = nodeValue('node-a', { labels: { 'karpenter.sh/initialized': 'true' } });
const pool = poolValue('default', {
  disruption: { policy: 'WhenEmpty', budgets: [], consolidateAfterMs: 60_000 },
});
const pod = podValue('p', { nodeName: 'node-a', phase: 'Running' });

const objects = {
  claim: { kind: 'claim', uid: claim.uid, claim },
  node: { kind: 'node', uid: ready.uid, node: ready },
  pool: { kind: 'pool', uid: pool.uid, pool },
} as const satisfies Record<string, FleetObject>;

function fleetOf(...given: readonly FleetObject[]): Fleet {
  const fleet = new Fleet();
  for (const object of given) fleet.set(object);
  return fleet;
}

const only = (fleet: Fleet): FleetNode | undefined => fleet.nodes()[0];

function withPod(fleet: Fleet, over: Partial<typeof pod> = {}): Fleet {
  const use = podUseOf({ ...pod, ...over });
  if (use !== undefined) fleet.set({ kind: 'pod', uid: pod.uid, pod: use });
  return fleet;
}

describe('a node of a fleet', () => {
  test('without pods ends as its pool asks for, counted from its beginning', () =>
    expect(only(fleetOf(objects.claim, objects.node, objects.pool))).toMatchObject({
      state: 'ready',
      next: { what: 'empty: ends', atMs: 61_000 },
    }));

  test('stays in a pool that ends none', () =>
    expect(only(withPod(fleetOf(objects.claim, objects.node)))).toMatchObject({
      next: { what: 'stays' },
      pods: 1,
      cpu: { requested: 1_000, allocatable: 3_900 },
    }));

  test('that the reaper ends has a cause, and counts the pods that must move', () => {
    const annotations = { 'dovetail.sh/retirement': '{"cause":"drifted","atMs":1}' };
    const fleet = fleetOf(objects.claim, { ...objects.node, node: { ...ready, annotations } });
    expect(only(withPod(fleet))).toMatchObject({
      state: 'ending',
      cause: 'drifted',
      next: { what: 'ending (drifted): 1 pod to move' },
    });
  });

  test('that a person ends has no cause', () => {
    const fleet = fleetOf({ ...objects.claim, claim: { ...claim, deletionMs: 5 } }, objects.node);
    expect(only(fleet)).toMatchObject({ state: 'ending', next: { what: 'ending' } });
    expect(only(fleet)).not.toHaveProperty('cause');
  });
});

describe('a fleet', () => {
  test('counts a pod that has ended no more, and one without a node as waiting', () => {
    expect(podUseOf({ ...pod, phase: 'Succeeded' })).toBeUndefined();
    const { nodeName: _nodeName, ...waiting } = pod;
    const use = podUseOf(waiting);
    const fleet = fleetOf(objects.claim);
    if (use !== undefined) fleet.set({ kind: 'pod', uid: 'w', pod: use });
    expect(fleet.waiting()).toBe(1);
    fleet.drop('pod', 'w');
    expect(fleet.waiting()).toBe(0);
  });

  test('forgets a kind before it is listed anew, and nothing else', () => {
    const fleet = withPod(fleetOf(objects.claim, objects.node, objects.pool));
    fleet.clear('pod');
    expect(only(fleet)).toMatchObject({ pods: 0, state: 'ready' });
    fleet.clear('pool');
    expect(fleet.pools()).toEqual([]);
    expect(only(fleet)?.next).toEqual({ what: 'stays' });
  });
});
