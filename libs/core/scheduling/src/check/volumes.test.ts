import type {
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  StorageClass,
} from '@dovetail/core-kube-model';
import { describe, expect, test } from 'vitest';

import type { ExistingNode, Snapshot } from '../snapshot.js';
import { hostsOf } from '../testing/hosts.js';
import { nodeOf, podOf, snapshotOf } from '../testing/objects.js';
import { volumeViolations } from './volumes.js';

const zoneKey = 'topology.kubernetes.io/zone';
const driver = 'ebs.csi.aws.com';
const inZone = (...values: readonly string[]) => ({
  matchExpressions: [{ key: zoneKey, operator: 'In' as const, values }],
  matchFields: [],
});
const onHost = (name: string) => ({
  matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In' as const, values: [name] }],
  matchFields: [],
});
const claimOf = (
  name: string,
  over: Partial<PersistentVolumeClaim> = {},
): PersistentVolumeClaim => ({
  uid: `pvc-${name}`,
  namespace: 'default',
  name,
  resourceVersion: '1',
  phase: 'Bound',
  bindCompleted: true,
  ...over,
});
const volumeOf = (name: string, over: Partial<PersistentVolume> = {}): PersistentVolume => ({
  uid: `pv-${name}`,
  name,
  resourceVersion: '1',
  local: false,
  driver,
  ...over,
});
const classOf = (name: string, over: Partial<StorageClass> = {}): StorageClass => ({
  uid: `sc-${name}`,
  name,
  resourceVersion: '1',
  createdMs: 0,
  isDefault: false,
  provisioner: driver,
  bindingMode: 'WaitForFirstConsumer',
  ...over,
});
const unbound = { phase: 'Pending' as const, bindCompleted: false };

type Made = {
  readonly snapshot?: Partial<Snapshot>;
  readonly node?: Partial<ExistingNode>;
  readonly planned: readonly Pod[];
};
/** Returns the violations of volumes of pods planned for a node in zone a. */
function found({ snapshot, node, planned }: Made): readonly string[] {
  const made = snapshotOf({
    nodes: [nodeOf('n', { labels: { [zoneKey]: 'a' }, ...node })],
    ...snapshot,
  });
  const hosts = hostsOf(
    made,
    { newNodes: [], podsOn: new Map([['node node-n', planned]]) },
    new Set(),
  );
  return hosts
    .flatMap((host) => volumeViolations(host, made))
    .map(({ code, message }) => `${code}: ${message}`);
}
const user = (uid: string, ...claims: readonly string[]): Pod =>
  podOf(uid, { volumes: claims.map((claimName) => ({ claimName })) });
const withClaim = (
  claim: PersistentVolumeClaim | undefined,
  snapshot: Partial<Snapshot> = {},
): Made => ({
  planned: [user('p', 'data')],
  snapshot: { persistentVolumeClaims: claim === undefined ? [] : [claim], ...snapshot },
});
const withVolume = (over: Partial<PersistentVolume>): Made =>
  withClaim(claimOf('data', { volumeName: 'pv' }), { persistentVolumes: [volumeOf('pv', over)] });

describe('a claim', () => {
  const says = (problem: string): readonly string[] => [
    `volume: claim default/data of pod p ${problem}`,
  ];
  test.each<[string, Made, readonly string[]]>([
    ['that is not there', withClaim(undefined), says('does not exist')],
    [
      'of the same name in another namespace',
      withClaim(claimOf('data', { namespace: 'other', volumeName: 'pv' })),
      says('does not exist'),
    ],
    ['on its way out', withClaim(claimOf('data', { deletionMs: 1 })), says('is being deleted')],
    ['that is lost', withClaim(claimOf('data', { phase: 'Lost' })), says('is lost')],
    [
      'bound to a volume that is gone',
      withClaim(claimOf('data', { volumeName: 'pv' })),
      says('is not bound to a usable volume'),
    ],
    [
      'bound to a volume on its way out',
      withVolume({ deletionMs: 1 }),
      says('is not bound to a usable volume'),
    ],
    [
      'that is not bound yet',
      withClaim(claimOf('data', { volumeName: 'pv', bindCompleted: false }), {
        persistentVolumes: [volumeOf('pv')],
      }),
      says('is not bound to a usable volume'),
    ],
    [
      'without a volume or a class',
      withClaim(claimOf('data', unbound)),
      says('has no storage class'),
    ],
    [
      'of a class that binds at once',
      withClaim(claimOf('data', { ...unbound, storageClassName: 'fast' }), {
        storageClasses: [classOf('fast', { bindingMode: 'Immediate' })],
      }),
      says('is unbound and binds immediately'),
    ],
    [
      'of a class that waits for its pod',
      withClaim(claimOf('data', { ...unbound, storageClassName: 'fast' }), {
        storageClasses: [classOf('fast')],
      }),
      [],
    ],
    [
      'of the youngest default class',
      withClaim(claimOf('data', unbound), {
        storageClasses: [
          classOf('old', { isDefault: true, createdMs: 1, bindingMode: 'Immediate' }),
          classOf('young', { isDefault: true, createdMs: 2 }),
        ],
      }),
      [],
    ],
  ])('%s', (_, made, expected) => expect(found(made)).toEqual(expected));

  test('need not be there for an ephemeral volume, whose class decides', () => {
    const ephemeral = podOf('p', {
      volumes: [{ claimName: 'p-data', ephemeral: { storageClassName: 'fast' } }],
    });
    expect(
      found({ planned: [ephemeral], snapshot: { storageClasses: [classOf('fast')] } }),
    ).toEqual([]);
    expect(found({ planned: [ephemeral] })).toEqual([
      'volume: claim default/p-data of p of pod p has no storage class',
    ]);
  });
});

describe('a volume is reachable from zone a', () => {
  const reachable: readonly string[] = [];
  const not = (id: string) => [`volume: volume of claim ${id} is not reachable from every option`];
  test.each<[string, Made, readonly string[]]>([
    ['if it is anywhere', withVolume({}), reachable],
    ['if it is there', withVolume({ nodeAffinity: [inZone('a', 'b')] }), reachable],
    [
      'if one of its terms says so',
      withVolume({ nodeAffinity: [inZone('b'), inZone('a')] }),
      reachable,
    ],
    ['but not if it is elsewhere', withVolume({ nodeAffinity: [inZone('b')] }), not('pv')],
    ['but not if it is on another node', withVolume({ nodeAffinity: [onHost('m')] }), not('pv')],
    [
      'if it is local, whatever its hostname',
      withVolume({ local: true, nodeAffinity: [onHost('m')] }),
      reachable,
    ],
    [
      'but not if its class provisions elsewhere',
      withClaim(claimOf('data', { ...unbound, storageClassName: 'fast' }), {
        storageClasses: [classOf('fast', { allowedTopologies: [inZone('b')] })],
      }),
      not('default/data'),
    ],
  ])('%s', (_, made, expected) => expect(found(made)).toEqual(expected));
});

describe('a driver with two places for volumes on a node', () => {
  const names = ['x', 'y', 'z'];
  const storage: Partial<Snapshot> = {
    persistentVolumeClaims: names.map((name) => claimOf(name, { volumeName: name })),
    persistentVolumes: [volumeOf('x'), volumeOf('y'), volumeOf('z')],
    csiNodes: [{ uid: 'csi', name: 'n', resourceVersion: '1', limits: { [driver]: 2 } }],
  };
  const tooMany = [`volume-limit: 3 volumes of ${driver}, 2 can be attached`];
  const holding = (...claims: readonly string[]): Partial<ExistingNode> => ({
    pods: [{ ...user('run', ...claims), phase: 'Running' }],
  });
  test.each<[string, Made, readonly string[]]>([
    ['takes two', { planned: [user('p', 'x', 'y')] }, []],
    ['takes no third', { planned: [user('p', 'x', 'y', 'z')] }, tooMany],
    [
      'counts those that are attached',
      { planned: [user('p', 'z')], node: holding('x', 'y') },
      tooMany,
    ],
    ['counts a shared volume once', { planned: [user('p', 'x', 'y')], node: holding('x') }, []],
    [
      'is overfull already, and gets nothing more',
      { planned: [user('p', 'x')], node: holding('x', 'y', 'z') },
      [],
    ],
  ])('%s', (_, { planned, node }, expected) => {
    expect(found({ planned, snapshot: storage, ...(node && { node }) })).toEqual(expected);
  });

  test('does not count volumes of other drivers', () => {
    const persistentVolumes = names.map((name) => volumeOf(name, { driver: 'efs' }));
    const snapshot = { ...storage, persistentVolumes };
    expect(found({ planned: [user('p', ...names)], snapshot })).toEqual([]);
  });
});
