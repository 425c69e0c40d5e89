import { expect, test } from 'vitest';

import {
  type Manifest,
  nodePool,
  pod,
  simulate,
  template,
  workload,
  zonesOf,
  zoneTerm,
} from './testing/manifests.js';

const volume = (name: string, zone: string, spec: object = {}, labels: object = {}): Manifest => ({
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: { name, labels },
  spec: {
    capacity: { storage: '10Gi' },
    accessModes: ['ReadWriteOnce'],
    csi: { driver: 'ebs.csi.aws.com', volumeHandle: name },
    nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [zoneTerm(zone)] }] } },
    ...spec,
  },
});
const claim = (spec: object = {}, name = 'claim'): Manifest => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name },
  spec: {
    accessModes: ['ReadWriteOnce'],
    storageClassName: '',
    resources: { requests: { storage: '5Gi' } },
    ...spec,
  },
});
const user = (claimName = 'claim'): Manifest =>
  pod(`of-${claimName}`, '1', { volumes: [{ name: 'd', persistentVolumeClaim: { claimName } }] });
const note = 'note: 1 claim counts as bound to volumes of the manifests that match\n';
const manual = { storageClassName: 'manual' };

test.each<[string, readonly Manifest[]]>([
  ['by its name', [volume('v', 'z2'), claim({ volumeName: 'v' })]],
  ['by a class that has no object', [volume('v', 'z2', manual), claim(manual)]],
  [
    'by the reservation of the volume',
    [
      volume('a', 'z1'),
      volume('v', 'z2', { claimRef: { namespace: 'default', name: 'claim' } }),
      claim(),
    ],
  ],
  [
    'by its selector',
    [
      volume('a', 'z1', {}, { tier: 'x' }),
      volume('v', 'z2', {}, { tier: 'y' }),
      claim({ selector: { matchLabels: { tier: 'y' } } }),
    ],
  ],
  [
    'by the least room that is enough',
    [
      volume('a', 'z1', { capacity: { storage: '4Gi' } }),
      volume('b', 'z1', { capacity: { storage: '100Gi' } }),
      volume('v', 'z2'),
      claim(),
    ],
  ],
  [
    'by its access modes',
    [volume('a', 'z1', { accessModes: ['ReadOnlyMany'] }), volume('v', 'z2'), claim()],
  ],
  ['by its volume mode', [volume('a', 'z1', { volumeMode: 'Block' }), volume('v', 'z2'), claim()]],
])('a pod goes to the zone of the volume that its claim is bound to %s', async (_name, objects) => {
  const ran = await simulate([nodePool(), ...objects, user()]);
  expect([ran.code, zonesOf(ran), ran.err]).toEqual([0, [['z2']], note]);
});

test('a claim that names its volume is bound before the others choose', async () => {
  const objects = [
    volume('a', 'z1'),
    volume('b', 'z2'),
    claim({}, 'any'),
    claim({ volumeName: 'a' }, 'sure'),
  ];
  const ran = await simulate([nodePool(), ...objects, user('any'), user('sure')]);
  const zones = ran.result.newNodes.map((node) => [node.pods, node.zones]);
  expect(zones.toSorted()).toEqual([
    [['default/of-any'], ['z2']],
    [['default/of-sure'], ['z1']],
  ]);
});

test.each<[string, readonly Manifest[]]>([
  ['of another class', [volume('v', 'z2', manual), claim()]],
  [
    'that is too small',
    [volume('v', 'z2'), claim({ resources: { requests: { storage: '11Gi' } } })],
  ],
  [
    'that is reserved for another claim',
    [volume('v', 'z2', { claimRef: { namespace: 'x', name: 'claim' } }), claim()],
  ],
])('a volume %s is not bound', async (_name, objects) => {
  const ran = await simulate([nodePool(), ...objects, user()]);
  expect([ran.code, ran.err]).toEqual([2, '']);
  expect(ran.result.unschedulable[0]?.reasons[0]?.code).toBe('volume');
});

test('an amount of storage that cannot be read is told with its field', async () => {
  const objects = [volume('v', 'z2', { capacity: { storage: 'much' } }), claim()];
  const ran = await simulate([nodePool(), ...objects, user()]);
  expect(ran.code).toBe(4);
  expect(ran.err).toContain('spec.capacity.storage: "much" cannot be used here');
});

const stateful = (spec: object): Manifest =>
  workload('StatefulSet', {
    replicas: 1,
    template: template('1500m'),
    volumeClaimTemplates: [{ metadata: { name: 'data' }, spec }],
  });
test.each<[string, readonly Manifest[], string]>([
  ['a class', [stateful({ storageClassName: 'gp3' })], 'StorageClass/gp3'],
  ['the default class', [stateful({})], 'a default StorageClass'],
  ['a class, by its claim', [claim({ storageClassName: 'gp3' }), user()], 'StorageClass/gp3'],
])('%s that the manifests lack is assumed, with a note', async (_name, objects, what) => {
  const ran = await simulate([nodePool(), ...objects]);
  expect([ran.code, ran.err]).toEqual([
    0,
    `note: ${what} is not in the manifests: EBS volumes that wait for their first pod stand for it\n`,
  ]);
});
