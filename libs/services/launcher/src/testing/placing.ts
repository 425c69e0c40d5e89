import { annotations } from '@dovetail/core-api';
import { type KubeObject, kubeResources } from '@dovetail/core-ports';
import { onTestFinished } from 'vitest';

import { type LauncherStage, launcherStage } from './launcher-stage.js';

export let self: LauncherStage;

/** Opens the stage that `self` is from now on, until the end of the test. */
export async function openStage(...options: Parameters<typeof launcherStage>): Promise<void> {
  const opened = await launcherStage(...options);
  onTestFinished(() => opened.end());
  self = opened;
}

export const { pods, nodes, nodeClaims, nodePools, ec2NodeClasses, daemonSets } = kubeResources;

export const nodeNameOf = (pod: KubeObject | undefined): string =>
  (pod?.['spec'] as { readonly nodeName?: string } | undefined)?.nodeName ?? '';

export const podNamed = (name: string): Promise<KubeObject | undefined> =>
  self.kube.get({ resource: pods, namespace: 'default', name });

export const opened = (): Promise<KubeObject> =>
  self.until('an open node', async () =>
    (await self.kube.list(nodes)).find(
      (node) =>
        node.metadata.labels?.['karpenter.sh/initialized'] === 'true' &&
        node.metadata.annotations?.[annotations.placementCordon] === undefined,
    ),
  );

export async function pending(...objects: readonly KubeObject[]): Promise<void> {
  await openStage();
  await self.readyPool();
  await planned(objects);
}

export async function planned(
  objects: readonly KubeObject[],
  launcher: Parameters<LauncherStage['launcher']>[1] = {},
): Promise<void> {
  self.launcher('one', launcher);
  await self.planningPossible();
  await self.kube.create(kubeResources.storageClasses, {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name: 'waiting' },
    provisioner: 'ebs.csi.aws.com',
    volumeBindingMode: 'WaitForFirstConsumer',
  });
  await self.kube.create(kubeResources.persistentVolumeClaims, {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'data', namespace: 'default' },
    spec: {
      accessModes: ['ReadWriteOnce'],
      storageClassName: 'waiting',
      resources: { requests: { storage: '1Gi' } },
    },
  });
  for (const object of objects) await self.kube.create(pods, object);
  await self.until(
    "all of it in the solver's view",
    () =>
      self.planner.cluster.pods.size === objects.length &&
      self.planner.cluster.persistentVolumeClaims.size === 1 &&
      self.planner.cluster.storageClasses.size === 1,
  );
}
