import { type Pod, requirementsOf } from '@dovetail/core-kube-model';
import { describe, expect, test } from 'vitest';

import type { ExistingNode, Snapshot } from '../snapshot.js';
import { daemonSetOf, nodeOf, podOf, snapshotOf } from '../testing/objects.js';
import { boundTo, claimOf, storageClassOf, volumeOf } from '../testing/storage.js';
import { daemonsOf } from './daemons.js';
import { holdsRoom, nodeRequirements, nodeRoomsOf, readyFirst } from './nodes.js';
import { volumeIndexOf } from './volumes.js';

const dimensions = { names: ['cpu', 'pods'] };
const cores = (cpu: number): Partial<Pod> => ({ requests: { cpu } });
const roomsOf = (over: Partial<Snapshot>, moving: readonly string[] = []) => {
  const snapshot = snapshotOf(over);
  return nodeRoomsOf(snapshot, {
    dimensions,
    daemons: daemonsOf(snapshot.daemonSets, dimensions),
    volumes: volumeIndexOf(snapshot),
    moving: new Set(moving),
  });
};
const node = (over: Partial<ExistingNode> = {}): ExistingNode =>
  nodeOf('n', { allocatable: { cpu: 4000, pods: 10 }, ...over });
const freeOn = (over: Partial<ExistingNode>, rest: Partial<Snapshot> = {}): readonly number[] =>
  roomsOf({ nodes: [node(over)], ...rest }, ['moving']).flatMap(({ free }) => [...free]);

describe('nodes that can take pods', () => {
  test.each<[string, Partial<ExistingNode>, number]>([
    ['a ready one', {}, 1],
    ['one that is not initialised', { state: 'uninitialized' }, 1],
    ['one in flight', { state: 'in-flight' }, 1],
    ['no cordoned one', { cordoned: true }, 0],
    ['none on its way out', { state: 'deleting' }, 0],
  ])('are %s', (_what, over, count) => {
    expect(roomsOf({ nodes: [node(over)] })).toHaveLength(count);
  });

  test('are tried by readiness, then by name', () => {
    const nodes = [
      nodeOf('d', { state: 'in-flight' }),
      nodeOf('c'),
      nodeOf('a', { state: 'uninitialized' }),
      nodeOf('b'),
    ];
    expect([...nodes].sort(readyFirst).map(({ name }) => name)).toEqual(['b', 'c', 'a', 'd']);
    expect(roomsOf({ nodes }).map((room) => [room.index, room.node.name])).toEqual([
      [0, 'b'],
      [1, 'c'],
      [2, 'a'],
      [3, 'd'],
    ]);
  });
});

describe('what is free on a node', () => {
  const agent = daemonSetOf('agent', cores(100));
  test.each<[string, Partial<ExistingNode>, Partial<Snapshot>, readonly number[]]>([
    ['is all that is allocatable while nothing runs', {}, {}, [4000, 10]],
    ['is less by each pod that runs', { pods: [podOf('a', cores(1500))] }, {}, [2500, 9]],
    ['is less by each pod promised', { promisedPods: [podOf('a', cores(1500))] }, {}, [2500, 9]],
    ['is less by what is reserved', { reserved: { cpu: 500 } }, {}, [3500, 10]],
    ['is not less by a pod to place', { pods: [podOf('moving', cores(1500))] }, {}, [4000, 10]],
    [
      'is not less by a pod that has ended',
      { pods: [podOf('a', { ...cores(1500), phase: 'Succeeded' })] },
      {},
      [4000, 10],
    ],
    ['is less by a daemonset whose pod is missing', {}, { daemonSets: [agent] }, [3900, 9]],
    [
      'is less only once by a daemonset whose pod runs',
      {
        pods: [
          podOf('a', {
            ...cores(100),
            owner: { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'agent', uid: agent.uid },
          }),
        ],
      },
      { daemonSets: [agent] },
      [3900, 9],
    ],
    [
      'is not less by a daemonset that does not tolerate its taints',
      { taints: [{ key: 'gpu', effect: 'NoSchedule' }] },
      { daemonSets: [agent] },
      [4000, 10],
    ],
    [
      'is not less by a daemonset that selects another architecture',
      {},
      { daemonSets: [daemonSetOf('arm', { nodeSelector: { 'kubernetes.io/arch': 'arm64' } })] },
      [4000, 10],
    ],
    ['may be below zero', { pods: [podOf('a', cores(5000))] }, {}, [-1000, 9]],
  ])('%s', (_what, over, rest, free) => {
    expect(freeOn(over, rest)).toEqual(free);
  });

  test('leaves out the host ports of pods and of missing daemonsets', () => {
    const port = (number: number) => ({
      hostPorts: [{ ip: '', port: number, protocol: 'TCP' as const }],
    });
    const [room] = roomsOf(
      {
        nodes: [node({ pods: [podOf('a', port(80)), podOf('moving', port(81))] })],
        daemonSets: [daemonSetOf('agent', port(9100))],
      },
      ['moving'],
    );
    expect(room?.hostPorts.map((one) => one.port)).toEqual([80, 9100]);
  });
});

describe('a pod holds room', () => {
  test.each<[string, Partial<Pod>, boolean]>([
    ['while it is pending', { phase: 'Pending' }, true],
    ['while it runs', { phase: 'Running' }, true],
    ['while its phase is unknown', { phase: 'Unknown' }, true],
    ['not once it has succeeded', { phase: 'Succeeded' }, false],
    ['not once it has failed', { phase: 'Failed' }, false],
  ])('%s', (_what, over, holds) => {
    expect(holdsRoom(podOf('a', over), new Set())).toBe(holds);
  });

  test('not while it is among those to place', () => {
    expect(holdsRoom(podOf('a', { phase: 'Running' }), new Set(['a']))).toBe(false);
  });
});

describe('the requirements of a node', () => {
  const hostname = 'kubernetes.io/hostname';
  const valuesOf = (over: Partial<ExistingNode>, key: string) => [
    ...(nodeRequirements(nodeOf('n', over)).get(key)?.values ?? []),
  ];
  test('are its labels', () => {
    expect(valuesOf({ labels: { disk: 'ssd' } }, 'disk')).toEqual(['ssd']);
  });
  test('have its name for a hostname, unless a label says another', () => {
    const { [hostname]: _, ...labels } = nodeOf('n').labels;
    expect([...(nodeRequirements({ ...nodeOf('n'), labels }).get(hostname)?.values ?? [])]).toEqual(
      ['n'],
    );
    expect(valuesOf({ labels: { [hostname]: 'other' } }, hostname)).toEqual(['other']);
  });
  test('have what is still open, for a claim in flight', () => {
    const requirements = requirementsOf([{ key: 'zone', operator: 'In', values: ['a', 'b'] }]);
    expect(valuesOf({ requirements }, 'zone')).toEqual(['a', 'b']);
    expect(valuesOf({ requirements, labels: { zone: 'a' } }, 'zone')).toEqual(['a']);
  });
});

describe('the volumes attached to a node', () => {
  const csi = 'ebs.csi.aws.com';
  const storage: Partial<Snapshot> = {
    persistentVolumes: [volumeOf('v')],
    persistentVolumeClaims: [claimOf('shared', boundTo('v'))],
    storageClasses: [storageClassOf('fast')],
    csiNodes: [{ uid: 'c', name: 'n', resourceVersion: '1', limits: { [csi]: 3 } }],
  };
  const own = { volumes: [{ claimName: 'x', ephemeral: { storageClassName: 'fast' } }] };
  const shared = { volumes: [{ claimName: 'shared' }] };
  const attachedOn = (pods: readonly Pod[], over: Partial<Snapshot> = {}) =>
    roomsOf({ nodes: [node({ pods })], ...storage, ...over }).flatMap(({ volumeRoom }) =>
      [...volumeRoom].map(([driver, { limit, attached }]) => [driver, limit, [...attached]]),
    );

  test('are counted once where pods share them, and one a pod where each has its own', () => {
    const pods = [podOf('a', shared), podOf('b', shared), podOf('c', own), podOf('d', own)];
    expect(attachedOn(pods)).toEqual([[csi, 3, ['v', 'pod c', 'pod d']]]);
  });
  test('are not counted for a driver without a limit', () => {
    expect(attachedOn([podOf('a', shared)], { csiNodes: [] })).toEqual([]);
  });
});

test('a node that one plan has read is read the same by a plan that moves its pods', () => {
  const nodes = [node({ pods: [podOf('a', cores(1000)), podOf('b', cores(500))] })];
  const freeWith = (moving: readonly string[]): readonly number[] =>
    roomsOf({ nodes }, moving).flatMap(({ free }) => [free[0] ?? 0]);
  expect([freeWith([]), freeWith(['a']), freeWith([])]).toEqual([[2500], [3500], [2500]]);
});
