import type {
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  PodVolume,
  StorageClass,
} from '@dovetail/core-kube-model';
import { describe, expect, test } from 'vitest';

import { nodeOf, podOf, podsOf } from './testing/objects.js';
import { codesOf, planScenario, valuesAt } from './testing/scenario.js';

const zoneKey = 'topology.kubernetes.io/zone';
const zones = (...values: string[]) => ({
  matchExpressions: [{ key: zoneKey, operator: 'In' as const, values }],
  matchFields: [],
});
const claim = (name: string, over: Partial<PersistentVolumeClaim> = {}): PersistentVolumeClaim => ({
  uid: name,
  namespace: 'default',
  name,
  resourceVersion: '1',
  phase: 'Bound',
  bindCompleted: true,
  volumeName: name,
  ...over,
});
const unbound = (
  name: string,
  over: Partial<PersistentVolumeClaim> = {},
): PersistentVolumeClaim => {
  const { volumeName: _, ...rest } = claim(name, { phase: 'Pending', bindCompleted: false });
  return { ...rest, ...over };
};
const volume = (name: string, over: Partial<PersistentVolume> = {}): PersistentVolume => ({
  uid: name,
  name,
  resourceVersion: '1',
  local: false,
  driver: 'ebs',
  ...over,
});
const storageClass = (name: string, over: Partial<StorageClass> = {}): StorageClass => ({
  uid: name,
  name,
  resourceVersion: '1',
  createdMs: 0,
  isDefault: false,
  provisioner: 'ebs',
  bindingMode: 'WaitForFirstConsumer',
  ...over,
});
type Storage = {
  readonly persistentVolumeClaims?: PersistentVolumeClaim[];
  readonly persistentVolumes?: PersistentVolume[];
  readonly storageClasses?: StorageClass[];
};
const planWith = (volumes: PodVolume[], snapshot: Storage) =>
  planScenario({ pods: [podOf('p', { volumes })], snapshot });

describe('volumes narrow the zones of a node', () => {
  test.each<[string, PodVolume[], Storage, string[]]>([
    [
      'a bound volume',
      [{ claimName: 'a' }],
      {
        persistentVolumeClaims: [claim('a')],
        persistentVolumes: [volume('a', { nodeAffinity: [zones('zone-b')] })],
      },
      ['zone-b'],
    ],
    [
      'terms are alternatives, the first that fits is used',
      [{ claimName: 'a' }],
      {
        persistentVolumeClaims: [claim('a')],
        persistentVolumes: [volume('a', { nodeAffinity: [zones('mars'), zones('zone-c')] })],
      },
      ['zone-c'],
    ],
    [
      'the topologies of a class',
      [{ claimName: 'a' }],
      {
        persistentVolumeClaims: [unbound('a', { storageClassName: 'fast' })],
        storageClasses: [storageClass('fast', { allowedTopologies: [zones('zone-c')] })],
      },
      ['zone-c'],
    ],
    [
      'two volumes must agree',
      [{ claimName: 'a' }, { claimName: 'b' }],
      {
        persistentVolumeClaims: [claim('a'), claim('b')],
        persistentVolumes: [
          volume('a', { nodeAffinity: [zones('zone-a'), zones('zone-b')] }),
          volume('b', { nodeAffinity: [zones('zone-b'), zones('zone-c')] }),
        ],
      },
      ['zone-b'],
    ],
    [
      'the hostname of a local volume is left out',
      [{ claimName: 'a' }],
      {
        persistentVolumeClaims: [claim('a')],
        persistentVolumes: [
          volume('a', {
            local: true,
            nodeAffinity: [
              {
                matchExpressions: [
                  { key: 'kubernetes.io/hostname', operator: 'In', values: ['gone'] },
                  ...zones('zone-a').matchExpressions,
                ],
                matchFields: [],
              },
            ],
          }),
        ],
      },
      ['zone-a'],
    ],
    [
      'an ephemeral volume without class takes the newest default',
      [{ claimName: 'p-scratch', ephemeral: {} }],
      {
        storageClasses: [
          storageClass('old', { isDefault: true, allowedTopologies: [zones('zone-a')] }),
          storageClass('new', {
            isDefault: true,
            createdMs: 5,
            allowedTopologies: [zones('zone-b')],
          }),
        ],
      },
      ['zone-b'],
    ],
    [
      'a volume without affinity is everywhere',
      [{ claimName: 'a' }],
      { persistentVolumeClaims: [claim('a')], persistentVolumes: [volume('a')] },
      ['zone-a', 'zone-b', 'zone-c'],
    ],
  ])('%s', (_, volumes, snapshot, expected) =>
    expect(valuesAt(planWith(volumes, snapshot), 'p', 'zone')).toEqual(expected),
  );
});

describe('claims that keep a pod from being planned', () => {
  test.each<[string, Storage]>([
    ['missing', {}],
    [
      'being deleted',
      { persistentVolumeClaims: [claim('a', { deletionMs: 1 })], persistentVolumes: [volume('a')] },
    ],
    ['lost', { persistentVolumeClaims: [claim('a', { phase: 'Lost' })] }],
    ['bound to a volume that is gone', { persistentVolumeClaims: [claim('a')] }],
    [
      'bound to a volume that is going',
      { persistentVolumeClaims: [claim('a')], persistentVolumes: [volume('a', { deletionMs: 1 })] },
    ],
    [
      'not completely bound',
      {
        persistentVolumeClaims: [claim('a', { bindCompleted: false })],
        persistentVolumes: [volume('a')],
      },
    ],
    ['unbound without class', { persistentVolumeClaims: [unbound('a')] }],
    ['of an unknown class', { persistentVolumeClaims: [unbound('a', { storageClassName: 'x' })] }],
    [
      'unbound and Immediate',
      {
        persistentVolumeClaims: [unbound('a', { storageClassName: 'now' })],
        storageClasses: [storageClass('now', { bindingMode: 'Immediate' })],
      },
    ],
  ])('%s', (_, snapshot) =>
    expect(codesOf(planWith([{ claimName: 'a' }], snapshot), 'p')).toEqual(['volume']),
  );
});

describe('attachment limits of existing nodes', () => {
  const csiNodes = [{ uid: 'n', name: 'n', resourceVersion: '1', limits: { ebs: 2 } }];
  const snapshot = (pods: readonly ReturnType<typeof podOf>[] = []) => ({
    nodes: [nodeOf('n', { pods })],
    csiNodes,
    storageClasses: [storageClass('fast', { isDefault: true })],
    persistentVolumeClaims: [unbound('shared'), unbound('other')],
  });
  test('each ephemeral volume takes an attachment', () =>
    expect(
      planScenario({
        pods: podsOf('p', 3, { volumes: [{ claimName: 'x', ephemeral: {} }] }),
        snapshot: snapshot(),
      }).placements[0]?.podUids,
    ).toHaveLength(2));
  test('a claim that several pods share takes one', () =>
    expect(
      planScenario({
        pods: podsOf('p', 5, { volumes: [{ claimName: 'shared' }] }),
        snapshot: snapshot(),
      }).placements[0]?.podUids,
    ).toHaveLength(5));
  test('what is attached counts', () =>
    expect(
      planScenario({
        pods: podsOf('p', 2, { volumes: [{ claimName: 'x', ephemeral: {} }] }),
        snapshot: snapshot([podOf('run', { phase: 'Running', volumes: [{ claimName: 'other' }] })]),
      }).placements[0]?.podUids,
    ).toHaveLength(1));
});

describe('a claim with ReadWriteOncePod has one pod', () => {
  const volumes = [{ claimName: 'single' }];
  const storage = (onePod: boolean) => ({
    persistentVolumeClaims: [claim('single', { onePod })],
    persistentVolumes: [volume('single')],
  });
  const node = (user: Partial<Pod>) =>
    nodeOf('n1', { pods: [podOf('user', { phase: 'Running', volumes, ...user })] });

  test.each<[string, boolean, Partial<Pod>, readonly string[]]>([
    ['a pod of a claim that a running pod uses has no place', true, {}, ['volume']],
    ['a pod of a shared claim has one', false, {}, []],
    ['a pod follows one that is being deleted', true, { deletionMs: 5 }, []],
    ['a pod follows one that has ended', true, { phase: 'Succeeded' }, []],
    ['a claim of another namespace is another claim', true, { namespace: 'other' }, []],
  ])('%s', (_, onePod, user, codes) =>
    expect(
      codesOf(
        planScenario({
          pods: [podOf('p', { volumes })],
          snapshot: { nodes: [node(user)], ...storage(onePod) },
        }),
        'p',
      ),
    ).toEqual(codes),
  );
  test('of several pods to place the oldest gets it', () => {
    const made = planScenario({
      pods: [
        podOf('a', { volumes, createdMs: 2 }),
        podOf('b', { volumes, createdMs: 1 }),
        podOf('c', { volumes, createdMs: 2 }),
      ],
      snapshot: storage(true),
    });
    expect(made.unplaced.map(({ podUid }) => podUid).sort()).toEqual(['a', 'c']);
    expect(made.unplaced[0]?.reasons[0]?.values).toEqual({ claim: 'default/single' });
  });
  test('the pod that has it may move', () =>
    expect(
      planScenario({
        pods: [podOf('user', { volumes })],
        snapshot: { nodes: [node({})], ...storage(true) },
      }).unplaced,
    ).toEqual([]));
});

test('a name that steers terminals stands in the reason as text, and a long one is cut', () => {
  const steering = 'data\u001b[2J\ninterrupt (lab): ended by admin';
  const reasonOf = (claimName: string): string =>
    JSON.stringify(planWith([{ claimName }], {}).unplaced[0]?.reasons);
  expect(reasonOf(steering)).toContain('default/data\\\\u001b[2J\\\\u000ainterrupt');
  expect(reasonOf('x'.repeat(1_400_000)).length).toBeLessThan(2_000);
});
