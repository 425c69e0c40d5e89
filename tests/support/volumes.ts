import { type KubeObject, kubeResources } from '@dovetail/core-ports';

import type { TestWorld } from './world.js';

/**
 * Volumes as a CSI driver provides them: a class that waits for its first consumer, and a
 * provisioner for its claims.
 */

const waitingClass = 'waits-for-consumer';
const driver = 'test.dovetail.sh';

export const classManifest = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: { name: ${waitingClass} }
provisioner: ${driver}
volumeBindingMode: WaitForFirstConsumer
`;

const claimSpec = {
  accessModes: ['ReadWriteOnce'],
  storageClassName: waitingClass,
  resources: { requests: { storage: '1Gi' } },
} as const;

export const createVolumeClaim = (at: TestWorld, name: string): Promise<KubeObject> =>
  at.kube.create(kubeResources.persistentVolumeClaims, {
    metadata: { name, namespace: 'default' },
    spec: claimSpec,
  });

/** The volume of a pod's spec, by the claim's name or as one of the pod's own. */
export const mounted = (claimName: string): object => ({
  volumes: [{ name: 'data', persistentVolumeClaim: { claimName } }],
});
export const ephemeral: object = {
  volumes: [{ name: 'scratch', ephemeral: { volumeClaimTemplate: { spec: claimSpec } } }],
};

type ClaimLike = KubeObject & { readonly spec?: { readonly volumeName?: string } };

/**
 * One look of an external provisioner. It makes a volume for each claim that the scheduler has
 * chosen a node for. The Kubernetes twin has its own.
 */
export async function provision(at: TestWorld): Promise<void> {
  if (at.lab.options.world === 'twin') return;
  const made = new Set(
    (await at.list(kubeResources.persistentVolumes)).map((volume) => volume.metadata.name),
  );
  for (const claim of (await at.list(
    kubeResources.persistentVolumeClaims,
  )) as readonly ClaimLike[]) {
    const { name, namespace, uid, annotations } = claim.metadata;
    const volume = `pvc-${uid ?? ''}`;
    if (annotations?.['volume.kubernetes.io/selected-node'] === undefined || made.has(volume))
      continue;
    await at.kube.create(kubeResources.persistentVolumes, {
      metadata: { name: volume },
      spec: {
        capacity: { storage: '1Gi' },
        accessModes: claimSpec.accessModes,
        persistentVolumeReclaimPolicy: 'Retain',
        storageClassName: waitingClass,
        csi: { driver, volumeHandle: volume },
        claimRef: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', name, namespace, uid },
      },
    });
  }
}
