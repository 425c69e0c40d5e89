import { type KubeObject, kubeResources, type ObjectRef } from '@dovetail/core-ports';
import { afterEach, expect, test } from 'vitest';

import { pod } from './objects.js';
import { type Context, eventually } from './suite.js';
import { messagesIn, pods, runningIn } from './workload-pods.js';

const { persistentVolumes, persistentVolumeClaims, storageClasses } = kubeResources;
const storage = (amount: string): object => ({ storage: amount });

/** A volume that someone has made by hand, which the nodes of one zone reach. */
const volume = (name: string, zone: string, spec: object = {}): KubeObject => ({
  metadata: { name, labels: { test: 'static' } },
  spec: {
    capacity: storage('10Gi'),
    accessModes: ['ReadWriteOnce'],
    persistentVolumeReclaimPolicy: 'Retain',
    storageClassName: 'manual',
    csi: { driver: 'ebs.csi.aws.com', volumeHandle: name },
    nodeAffinity: {
      required: {
        nodeSelectorTerms: [
          {
            matchExpressions: [
              { key: 'topology.kubernetes.io/zone', operator: 'In', values: [zone] },
            ],
          },
        ],
      },
    },
    ...spec,
  },
});
/**
 * The name of a volume of one test. A claim of an earlier test would be bound again to a volume of
 * the same name, as the volume that it had lost.
 */
const nameIn = (namespace: string, name: string): string => `${namespace}-${name}`;
const volumeIn = (namespace: string, made: KubeObject): KubeObject => ({
  ...made,
  metadata: { ...made.metadata, name: nameIn(namespace, made.metadata.name) },
});

const claim = (namespace: string, spec: object = {}): KubeObject => ({
  metadata: { name: 'data', namespace },
  spec: {
    accessModes: ['ReadWriteOnce'],
    storageClassName: 'manual',
    resources: { requests: storage('3Gi') },
    ...spec,
  },
});
const user = (namespace: string): KubeObject =>
  pod(namespace, 'app', {
    containers: [{ name: 'main', image: 'pause' }],
    volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }],
  });
/** A class whose volumes are all made by hand. */
const waitingClass: KubeObject = {
  metadata: { name: 'by-hand' },
  provisioner: 'kubernetes.io/no-provisioner',
  volumeBindingMode: 'WaitForFirstConsumer',
};

type Status = { readonly phase?: string };
const phaseOf = (object: KubeObject | undefined): string | undefined =>
  (object?.['status'] as Status | undefined)?.phase;

/** Claims and the volumes that someone has made for them. */
export function staticVolumeTests({ world, namespace }: Context): void {
  const context = { world, namespace };
  const phase = (ref: ObjectRef, wanted: string): Promise<string | undefined> =>
    eventually(
      async () => phaseOf(await world().kube.get(ref)),
      (found) => found === wanted,
    );
  afterEach(async () => {
    for (const { metadata } of await world().kube.list(persistentVolumes)) {
      const ref = { resource: persistentVolumes, name: metadata.name };
      await world().kube.patch(ref, { type: 'merge', body: { metadata: { finalizers: null } } });
      await world().kube.delete(ref);
    }
  });

  test.each<[string, readonly KubeObject[], (own: string) => object]>([
    ['of its class, although no object has that name', [volume('v', 'zone-b')], () => ({})],
    [
      'that it names',
      [volume('a', 'zone-a'), volume('v', 'zone-b')],
      (own) => ({ volumeName: nameIn(own, 'v') }),
    ],
    [
      'without a class, if it wants none',
      [volume('a', 'zone-a'), volume('v', 'zone-b', { storageClassName: '' })],
      () => ({ storageClassName: '' }),
    ],
    [
      'with the least room that is enough',
      [
        volume('a', 'zone-a', { capacity: storage('99Gi') }),
        volume('b', 'zone-a', { capacity: storage('2Gi') }),
        volume('v', 'zone-b'),
      ],
      () => ({}),
    ],
    [
      'with the fewest access modes',
      [
        volume('a', 'zone-a', {
          accessModes: ['ReadWriteOnce', 'ReadOnlyMany'],
          capacity: storage('5Gi'),
        }),
        volume('v', 'zone-b'),
      ],
      () => ({}),
    ],
  ])('a claim is bound to the volume %s, and its pod runs there', async (_what, made, spec) => {
    const own = await namespace();
    for (const each of made) {
      const { metadata } = await world().kube.create(persistentVolumes, volumeIn(own, each));
      const ref = { resource: persistentVolumes, name: metadata.name };
      expect(await phase(ref, 'Available')).toBe('Available');
    }
    await world().kube.create(persistentVolumeClaims, claim(own, spec(own)));
    await world().kube.create(pods, user(own));
    expect((await runningIn(context, own, 1))[0]?.spec.nodeName).toBe('w2');
    const bound = { resource: persistentVolumeClaims, namespace: own, name: 'data' };
    expect(await phase(bound, 'Bound')).toBe('Bound');
    expect(await world().kube.get(bound)).toMatchObject({
      metadata: { annotations: { 'pv.kubernetes.io/bind-completed': 'yes' } },
      spec: { volumeName: nameIn(own, 'v') },
      status: { capacity: storage('10Gi'), accessModes: ['ReadWriteOnce'] },
    });
    expect(
      await world().kube.get({ resource: persistentVolumes, name: nameIn(own, 'v') }),
    ).toMatchObject({
      metadata: { annotations: { 'pv.kubernetes.io/bound-by-controller': 'yes' } },
      spec: { claimRef: { kind: 'PersistentVolumeClaim', namespace: own, name: 'data' } },
      status: { phase: 'Bound' },
    });
  });

  test('a volume that is kept for a claim is bound to it, whatever its class', async () => {
    const own = await namespace();
    const kept = { claimRef: { namespace: own, name: 'data' }, storageClassName: 'other' };
    for (const each of [volume('a', 'zone-a'), volume('v', 'zone-b', kept)])
      await world().kube.create(persistentVolumes, volumeIn(own, each));
    await world().kube.create(persistentVolumeClaims, claim(own));
    await world().kube.create(pods, user(own));
    expect((await runningIn(context, own, 1))[0]?.spec.nodeName).toBe('w2');
  });

  test('a claim whose class waits for its pod is bound where the pod can go', async () => {
    const own = await namespace();
    await world().kube.create(storageClasses, waitingClass);
    const byHand = { storageClassName: 'by-hand' };
    for (const each of [volume('a', 'zone-a', byHand), volume('b', 'zone-b', byHand)])
      await world().kube.create(persistentVolumes, volumeIn(own, each));
    await world().kube.create(persistentVolumeClaims, claim(own, byHand));
    const app = user(own);
    const nodeSelector = { 'topology.kubernetes.io/zone': 'zone-b' };
    const spec = { ...(app['spec'] as object), nodeSelector };
    await world().kube.create(pods, { ...app, spec } as KubeObject);
    expect((await runningIn(context, own, 1))[0]?.spec.nodeName).toBe('w2');
    const bound = { resource: persistentVolumeClaims, namespace: own, name: 'data' };
    expect((await world().kube.get(bound))?.['spec']).toMatchObject({
      volumeName: nameIn(own, 'b'),
    });
    const other = { resource: persistentVolumes, name: nameIn(own, 'a') };
    expect(await phase(other, 'Available')).toBe('Available');
    await world().kube.delete({ resource: storageClasses, name: 'by-hand' });
  });

  test('a claim that no volume matches keeps its pod waiting, which says so', async () => {
    const own = await namespace();
    await world().kube.create(persistentVolumes, volumeIn(own, volume('v', 'zone-b')));
    await world().kube.create(
      persistentVolumeClaims,
      claim(own, { resources: { requests: storage('11Gi') } }),
    );
    await world().kube.create(pods, user(own));
    const messages = await eventually(
      () => messagesIn(context, own, 'FailedScheduling'),
      (list) => list.length > 0,
    );
    expect(messages[0]).toMatch(/pod has unbound immediate PersistentVolumeClaims/);
    // It is bound as soon as a volume is made that matches.
    await world().kube.create(
      persistentVolumes,
      volumeIn(own, volume('large', 'zone-c', { capacity: storage('20Gi') })),
    );
    expect((await runningIn(context, own, 1))[0]?.spec.nodeName).toBe('w3');
  });

  test('a volume whose claim is gone is released, and bound to no other claim', async () => {
    const own = await namespace();
    await world().kube.create(persistentVolumes, volumeIn(own, volume('v', 'zone-b')));
    await world().kube.create(persistentVolumeClaims, claim(own));
    const kept = { resource: persistentVolumes, name: nameIn(own, 'v') };
    expect(await phase(kept, 'Bound')).toBe('Bound');
    const gone = { resource: persistentVolumeClaims, namespace: own, name: 'data' };
    await world().kube.patch(gone, { type: 'merge', body: { metadata: { finalizers: null } } });
    await world().kube.delete(gone);
    expect(await phase(kept, 'Released')).toBe('Released');
    await world().kube.create(persistentVolumeClaims, claim(own));
    await world().kube.create(pods, user(own));
    await eventually(
      () => messagesIn(context, own, 'FailedScheduling'),
      (list) => list.length > 0,
    );
    expect(phaseOf(await world().kube.get(gone))).toBe('Pending');
  });
}
