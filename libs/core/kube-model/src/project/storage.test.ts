import { describe, expect, test } from 'vitest';

import { csiNodeOf, pvcOf, pvOf, storageClassOf, volumeAttachmentOf } from './storage.js';
import { metadata, valueOf } from './testing/objects.js';

describe('volumes', () => {
  test('an in-tree EBS volume is bound to the zone of its label and served by the CSI driver', () =>
    expect(
      valueOf(
        pvOf({
          metadata: {
            ...metadata,
            labels: { 'topology.kubernetes.io/zone': 'us-east-1a__us-east-1b' },
          },
          spec: { awsElasticBlockStore: { volumeID: 'v' } },
        }),
      ),
    ).toMatchObject({
      driver: 'ebs.csi.aws.com',
      local: false,
      nodeAffinity: [
        {
          matchExpressions: [
            {
              key: 'topology.kubernetes.io/zone',
              operator: 'In',
              values: ['us-east-1a', 'us-east-1b'],
            },
          ],
        },
      ],
    }));
  test('a local volume says so', () =>
    expect(valueOf(pvOf({ metadata, spec: { local: { path: '/x' } } })).local).toBe(true));
  test('a volume without affinity reaches everywhere', () =>
    expect(
      valueOf(pvOf({ metadata, spec: { csi: { driver: 'efs' } } })).nodeAffinity,
    ).toBeUndefined());
  test('no class is not the default class', () => {
    expect(valueOf(pvcOf({ metadata, spec: { storageClassName: '' } })).storageClassName).toBe('');
    expect(valueOf(pvcOf({ metadata, spec: {} })).storageClassName).toBeUndefined();
  });
  test.each([
    [['ReadWriteOncePod'], true],
    [['ReadWriteOnce', 'ReadOnlyMany'], undefined],
    [undefined, undefined],
  ])('a claim with access modes %j is for one pod: %j', (accessModes, onePod) =>
    expect(valueOf(pvcOf({ metadata, spec: { accessModes } })).onePod).toBe(onePod),
  );
  test('a claim is bound when its binding has completed', () =>
    expect(
      valueOf(
        pvcOf({
          metadata: { ...metadata, annotations: { 'pv.kubernetes.io/bind-completed': 'yes' } },
          spec: { volumeName: 'pv-1' },
          status: { phase: 'Bound' },
        }),
      ),
    ).toMatchObject({ bindCompleted: true, volumeName: 'pv-1', phase: 'Bound' }));
  test('a storage class has its alternatives and its CSI provisioner', () =>
    expect(
      valueOf(
        storageClassOf({
          metadata: {
            ...metadata,
            annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' },
          },
          provisioner: 'kubernetes.io/aws-ebs',
          volumeBindingMode: 'WaitForFirstConsumer',
          allowedTopologies: [{ matchLabelExpressions: [{ key: 'zone', values: ['a'] }] }],
        }),
      ),
    ).toMatchObject({
      isDefault: true,
      provisioner: 'ebs.csi.aws.com',
      bindingMode: 'WaitForFirstConsumer',
      allowedTopologies: [{ matchExpressions: [{ key: 'zone', operator: 'In', values: ['a'] }] }],
    }));
  test('a driver without a count has no limit', () =>
    expect(
      valueOf(
        csiNodeOf({
          metadata,
          spec: { drivers: [{ name: 'a', allocatable: { count: 25 } }, { name: 'b' }] },
        }),
      ).limits,
    ).toEqual({ a: 25 }));
  test('an attachment names node and volume', () =>
    expect(
      valueOf(
        volumeAttachmentOf({
          metadata,
          spec: { nodeName: 'n', source: { persistentVolumeName: 'pv' } },
        }),
      ),
    ).toMatchObject({ nodeName: 'n', volumeName: 'pv' }));
});

describe('the CSI driver of a volume', () => {
  test.each<[string, object, string | undefined]>([
    ['is not known for NFS', { nfs: { path: '/' } }, undefined],
    ['is the one that it names', { csi: { driver: 'efs.csi.aws.com' } }, 'efs.csi.aws.com'],
    ['replaces in-tree EBS', { awsElasticBlockStore: {} }, 'ebs.csi.aws.com'],
    ['replaces in-tree GCE disks', { gcePersistentDisk: {} }, 'pd.csi.storage.gke.io'],
    ['replaces in-tree Azure files', { azureFile: {} }, 'file.csi.azure.com'],
  ])('%s', (_name, spec, driver) => expect(valueOf(pvOf({ metadata, spec })).driver).toBe(driver));
});

test.each<[string, (raw: unknown) => unknown, object, string]>([
  [
    'a CSI volume without a text as driver',
    pvOf,
    { spec: { csi: { driver: 7 } } },
    'spec.csi.driver',
  ],
  ['a claim of an unknown phase', pvcOf, { status: { phase: 'Released' } }, 'status.phase'],
  [
    'a class of an unknown mode',
    storageClassOf,
    { volumeBindingMode: 'Later' },
    'volumeBindingMode',
  ],
  [
    'a topology without a key',
    storageClassOf,
    { allowedTopologies: [{ matchLabelExpressions: [{ values: ['a'] }] }] },
    'allowedTopologies[0].matchLabelExpressions[0].key',
  ],
  [
    'a negative volume limit',
    csiNodeOf,
    { spec: { drivers: [{ name: 'd', allocatable: { count: -1 } }] } },
    'spec.drivers[0].allocatable.count',
  ],
  ['an attachment without a node', volumeAttachmentOf, { spec: {} }, 'spec.nodeName'],
])('%s is refused by field', (_name, parse, more, field) =>
  expect(parse({ metadata, ...more })).toMatchObject({ ok: false, field }),
);
