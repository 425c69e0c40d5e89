import { recordOf } from '@dovetail/core-kube-model';

import { textOf } from '../model/json.js';
import type { Node, SentObject, StoredObject } from '../model/objects.js';
import { classOf, topologyTerms } from '../scheduler/volumes.js';
import { keyOf } from '../store/table.js';
import type { Controller, ControllerContext } from './context.js';
import { WorkQueue } from './work-queue.js';

const zoneKey = 'topology.kubernetes.io/zone';
const selectedNode = 'volume.kubernetes.io/selected-node';

/** A provisioner for every StorageClass. It makes the volume in the zone of the claim's node. */
export function volumeController(context: ControllerContext): Controller {
  const { store } = context;
  const table = store.state.table('persistentvolumeclaims');
  const queue = new WorkQueue({
    clock: store.clock,
    work: (key) => provision(context, key),
    onError: (key, error) => context.onError('persistentvolume-binder', key, error),
  });
  for (const key of table.keys()) queue.add(key);
  return {
    stop: () => queue.stop(),
    heard: (change) => {
      if (change.table === 'persistentvolumeclaims')
        queue.add(keyOf(change.object.metadata.namespace, change.object.metadata.name));
      if (change.table === 'storageclasses.storage.k8s.io')
        for (const key of table.keys()) queue.add(key);
    },
  };
}

/** The nodes that reach the volume: the chosen node's zone, else the class's, else all. */
function affinityOf(
  context: ControllerContext,
  claim: StoredObject,
  storageClass: StoredObject,
): object {
  const node = context.store.state
    .table('nodes')
    .get(claim.metadata.annotations?.[selectedNode] ?? '') as Node | undefined;
  const zone = node?.metadata.labels?.[zoneKey];
  const terms =
    zone === undefined
      ? topologyTerms(storageClass)
      : [{ matchExpressions: [{ key: zoneKey, operator: 'In', values: [zone] }] }];
  return terms.length === 0 ? {} : { nodeAffinity: { required: { nodeSelectorTerms: terms } } };
}

/** The PersistentVolume that a provisioner of the class would make for the claim. */
function volumeFor(
  context: ControllerContext,
  claim: StoredObject,
  storageClass: StoredObject,
): SentObject {
  const spec = recordOf(claim['spec']);
  const { namespace, name, uid } = claim.metadata;
  const volumeName = `pvc-${uid}`;
  return {
    metadata: { name: volumeName },
    spec: {
      capacity: {
        storage: textOf(recordOf(recordOf(spec['resources'])['requests'])['storage']) || '1Gi',
      },
      accessModes: spec['accessModes'] ?? ['ReadWriteOnce'],
      persistentVolumeReclaimPolicy: storageClass['reclaimPolicy'] ?? 'Delete',
      storageClassName: storageClass.metadata.name,
      csi: { driver: textOf(storageClass['provisioner']), volumeHandle: volumeName },
      claimRef: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace, name, uid },
      ...affinityOf(context, claim, storageClass),
    },
  };
}

function createVolume(
  context: ControllerContext,
  claim: StoredObject,
  storageClass: StoredObject,
): string {
  const { store } = context;
  const name = `pvc-${claim.metadata.uid}`;
  const volumes = store.type('', 'v1', 'persistentvolumes');
  if (store.find(volumes, { name }) !== undefined) return name;
  store.create(volumes, { object: volumeFor(context, claim, storageClass) });
  store.patch(
    volumes,
    { name, patch: { type: 'merge', body: { status: { phase: 'Bound' } } } },
    { subresource: 'status' },
  );
  return name;
}

/** True while a claim of this class waits for its first consumer, which no pod has become yet. */
const waits = (claim: StoredObject, storageClass: StoredObject): boolean =>
  storageClass['volumeBindingMode'] === 'WaitForFirstConsumer' &&
  claim.metadata.annotations?.[selectedNode] === undefined;

function provision(context: ControllerContext, key: string): void {
  const { store } = context;
  const claim = store.state.table('persistentvolumeclaims').get(key);
  if (claim === undefined || claim.metadata.deletionTimestamp !== undefined) return;
  if (textOf(recordOf(claim['spec'])['volumeName']) !== '') return markBound(context, claim);
  const storageClass = classOf(store, claim);
  if (storageClass === undefined || waits(claim, storageClass)) return;
  const volumeName = createVolume(context, claim, storageClass);
  store.patch(store.type('', 'v1', 'persistentvolumeclaims'), {
    ...claim.metadata,
    patch: {
      type: 'merge',
      body: {
        metadata: { annotations: { 'pv.kubernetes.io/bind-completed': 'yes' } },
        spec: { volumeName, storageClassName: storageClass.metadata.name },
      },
    },
  });
}

function markBound(context: ControllerContext, claim: StoredObject): void {
  const { store } = context;
  const volume = store.state
    .table('persistentvolumes')
    .get(textOf(recordOf(claim['spec'])['volumeName']));
  if (volume === undefined || recordOf(claim['status'])['phase'] === 'Bound') return;
  const { accessModes, capacity } = recordOf(volume['spec']);
  store.patch(store.type('', 'v1', 'persistentvolumeclaims'), {
    ...claim.metadata,
    patch: {
      type: 'merge',
      body: { metadata: { annotations: { 'pv.kubernetes.io/bind-completed': 'yes' } } },
    },
  });
  store.patch(
    store.type('', 'v1', 'persistentvolumeclaims'),
    {
      ...claim.metadata,
      patch: { type: 'merge', body: { status: { phase: 'Bound', accessModes, capacity } } },
    },
    { subresource: 'status' },
  );
}
