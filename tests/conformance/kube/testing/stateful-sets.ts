import { compareText } from '@dovetail/core-kube-model';
import { kubeResources } from '@dovetail/core-ports';
import { expect, test } from 'vitest';

import { extra, statefulSet } from './objects.js';
import { type Context, eventually } from './suite.js';
import { messagesIn, pods, type PodShape, podsIn, running, runningIn } from './workload-pods.js';

/** StatefulSets, their claims and their volumes. */
export function statefulSetTests(context: Context): void {
  const { world, namespace } = context;
  const ordered = async (own: string): Promise<readonly PodShape[]> =>
    [...(await podsIn(context, own))].sort((left, right) =>
      compareText(left.metadata.name, right.metadata.name),
    );

  test('a StatefulSet starts its pods one after the other, by ordinal, and its status says so', async () => {
    const own = await namespace();
    await world().kube.create(extra.statefulSets, statefulSet(own, 'db', 3));
    await runningIn(context, own, 3);
    const all = await ordered(own);
    expect(all.map((one) => one.metadata.name)).toEqual(['db-0', 'db-1', 'db-2']);
    const times = all.map(
      (one) =>
        [
          Date.parse(one.metadata.creationTimestamp as string),
          one.metadata.labels?.['apps.kubernetes.io/pod-index'],
        ] as const,
    );
    expect(times).toEqual(
      [...times].sort((left, right) => left[0] - right[0] || Number(left[1]) - Number(right[1])),
    );
    expect(all[1]).toMatchObject({
      metadata: {
        labels: { 'statefulset.kubernetes.io/pod-name': 'db-1' },
        ownerReferences: [{ kind: 'StatefulSet', name: 'db' }],
      },
      spec: { hostname: 'db-1', subdomain: 'db' },
    });
    const ref = { resource: extra.statefulSets, namespace: own, name: 'db' };
    const done = await eventually(
      () => world().kube.get(ref),
      (one) =>
        (one?.['status'] as { availableReplicas?: number } | undefined)?.availableReplicas === 3,
    );
    expect(done?.['status']).toMatchObject({
      observedGeneration: 1,
      replicas: 3,
      readyReplicas: 3,
      availableReplicas: 3,
      currentReplicas: 3,
      updatedReplicas: 3,
    });
  });

  test('a pod of a StatefulSet that goes comes back under its name; fewer replicas take the last ordinal first', async () => {
    const own = await namespace();
    const { kube } = world();
    await kube.create(extra.statefulSets, statefulSet(own, 'db', 3));
    await runningIn(context, own, 3);
    const first = (await ordered(own))[0]?.metadata.uid;
    await kube.delete({ resource: pods, namespace: own, name: 'db-0' });
    const again = await eventually(
      () => ordered(own),
      (list) => running(list).length === 3 && list[0]?.metadata.uid !== first,
    );
    expect(again.map((one) => one.metadata.name)).toEqual(['db-0', 'db-1', 'db-2']);
    await kube.patch(
      { resource: extra.statefulSets, namespace: own, name: 'db' },
      { type: 'merge', body: { spec: { replicas: 2 } } },
    );
    expect(
      (
        await eventually(
          () => ordered(own),
          (list) => list.length === 2,
        )
      ).map((one) => one.metadata.name),
    ).toEqual(['db-0', 'db-1']);
  });

  test('the claims of a StatefulSet are made per ordinal and outlive its pods', async () => {
    const own = await namespace();
    const { kube } = world();
    const claim = {
      metadata: { name: 'data' },
      spec: {
        accessModes: ['ReadWriteOnce'],
        storageClassName: 'none-such',
        resources: { requests: { storage: '1Gi' } },
      },
    };
    await kube.create(
      extra.statefulSets,
      statefulSet(own, 'db', 1, { volumeClaimTemplates: [claim] }),
    );
    const [waiting] = await eventually(
      () => podsIn(context, own),
      (list) => list.length === 1,
    );
    expect(waiting?.spec).toMatchObject({
      volumes: expect.arrayContaining([
        { name: 'data', persistentVolumeClaim: { claimName: 'data-db-0' } },
      ]) as unknown,
    });
    const said = await eventually(
      () => messagesIn(context, own, 'SuccessfulCreate'),
      (list) => list.length === 2,
    );
    expect([...said].sort()).toEqual([
      'create Claim data-db-0 Pod db-0 in StatefulSet db success',
      'create Pod db-0 in StatefulSet db successful',
    ]);
    await kube.delete({ resource: extra.statefulSets, namespace: own, name: 'db' });
    expect(
      await eventually(
        () => podsIn(context, own),
        (list) => list.length === 0,
      ),
    ).toEqual([]);
    expect(
      (await kube.list(kubeResources.persistentVolumeClaims, { namespace: own })).map(
        (one) => one.metadata.name,
      ),
    ).toEqual(['data-db-0']);
  });
}
