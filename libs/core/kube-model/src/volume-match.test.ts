import { expect, test } from 'vitest';

import type { Raw } from './project/raw.js';
import {
  matchingVolume,
  type OfferedStorage,
  offeredStorage,
  type WantedStorage,
  wantedStorage,
} from './volume-match.js';

const volume = (name: string, spec: object = {}, metadata: object = {}): OfferedStorage => {
  const object = {
    metadata: { name, ...metadata },
    spec: {
      capacity: { storage: '10Gi' },
      accessModes: ['ReadWriteOnce'],
      storageClassName: 'manual',
      ...spec,
    },
  };
  return offeredStorage(object as Raw) as OfferedStorage;
};
const claim = (spec: object = {}, metadata: object = {}): WantedStorage => {
  const object = {
    metadata: { namespace: 'shop', name: 'data', ...metadata },
    spec: {
      accessModes: ['ReadWriteOnce'],
      storageClassName: 'manual',
      resources: { requests: { storage: '5Gi' } },
      ...spec,
    },
  };
  return wantedStorage(object as Raw) as WantedStorage;
};
const kept = (over: object = {}): object => ({
  claimRef: { namespace: 'shop', name: 'data', uid: 'u', ...over },
});

test.each<[string, OfferedStorage]>([
  ['of another class', volume('v', { storageClassName: 'other' })],
  ['without a class', volume('v', { storageClassName: undefined })],
  ['that is too small', volume('v', { capacity: { storage: '4Gi' } })],
  ['of another volume mode', volume('v', { volumeMode: 'Block' })],
  ['without one of the access modes', volume('v', { accessModes: ['ReadOnlyMany'] })],
  ['that is being deleted', volume('v', {}, { deletionTimestamp: 'now' })],
  ['of another claim', volume('v', kept({ name: 'other' }))],
  ['of an older claim of the same name', volume('v', kept({ uid: 'old' }))],
  ['that the selector leaves out', volume('v', {}, { labels: { tier: 'b' } })],
])('a volume %s is not bound', (_what, one) =>
  expect(
    matchingVolume(claim({ selector: { matchLabels: { tier: 'a' } } }), [one], 'u'),
  ).toBeUndefined(),
);

test.each<[string, WantedStorage, readonly OfferedStorage[]]>([
  ['of its class', claim(), [volume('a', { storageClassName: 'x' }), volume('v')]],
  [
    'of no class, if it wants none',
    claim({ storageClassName: '' }),
    [volume('a'), volume('v', { storageClassName: undefined })],
  ],
  ['with the least room', claim(), [volume('a', { capacity: { storage: '99Gi' } }), volume('v')]],
  [
    'with the fewest access modes',
    claim(),
    [
      volume('a', { accessModes: ['ReadWriteOnce', 'ReadOnlyMany'], capacity: { storage: '5Gi' } }),
      volume('v'),
    ],
  ],
  [
    'that is kept for it, whatever its class',
    claim(),
    [volume('a'), volume('v', { ...kept(), storageClassName: 'x' })],
  ],
  ['that is kept for its name', claim(), [volume('a'), volume('v', kept({ uid: undefined }))]],
  ['that it names', claim({ volumeName: 'v' }), [volume('a'), volume('v')]],
  [
    'of the class in its annotation',
    claim(
      { storageClassName: undefined },
      { annotations: { 'volume.beta.kubernetes.io/storage-class': 'manual' } },
    ),
    [volume('v')],
  ],
])('a claim is bound to the volume %s', (_what, wanted, volumes) => {
  expect(matchingVolume(wanted, volumes, 'u')?.name).toBe('v');
  expect(matchingVolume(wanted, volumes.toReversed(), 'u')?.name).toBe('v');
});

test.each([
  ['of another class', volume('v', { storageClassName: 'x' }), undefined],
  ['of another claim', volume('v', kept({ name: 'other' })), undefined],
  [
    'that is already its own, whatever its room',
    volume('v', { ...kept(), capacity: { storage: '1Gi' } }),
    'v',
  ],
])('a claim that names a volume %s gets %s', (_what, one, name) =>
  expect(matchingVolume(claim({ volumeName: 'v' }), [one], 'u')?.name).toBe(name),
);

test('an amount of storage that cannot be read is told', () => {
  const much = { capacity: { storage: 'much' }, resources: { requests: { storage: 'much' } } };
  expect([offeredStorage({ spec: much }), wantedStorage({ spec: much })]).toEqual([
    undefined,
    undefined,
  ]);
});
