import { recordOf, textOf } from '../json.js';
import type { Node, Stored } from '../model.js';
import { classOf, topologyTerms } from '../scheduler/volumes.js';
import { keyOf } from '../store/table.js';
import type { Controller, ControllerContext } from './context.js';
import { WorkQueue } from './work-queue.js';

const zoneKey = 'topology.kubernetes.io/zone';
const selectedNode = 'volume.kubernetes.io/selected-node';

/** A provisioner for every StorageClass: makes a volume for a claim, in the zone of the node it was chosen for. */
export function volumeController(context: ControllerContext): Controller {
  const { store } = context;
  const table = store.state.table('persistentvolumeclaims');
  const queue = new WorkQueue({ clock: store.clock, work: (key) => provision(context, key), onError: (key, error) => context.onError('persistentvolume-binder', key, error) });
  for (const key of table.keys()) queue.add(key);
  return {
    stop: () => queue.stop(),
    heard: (change) => {
      if (change.table === 'persistentvolumeclaims') queue.add(keyOf(change.object.metadata.namespace, change.object.metadata.name));
      if (change.table === 'storageclasses.storage.k8s.io') for (const key of table.keys()) queue.add(key);
    },
  };
}

/** Where the volume can be reached from: the chosen node's zone, else what the class allows, else everywhere. */
function affinityOf(context: ControllerContext, claim: Stored, storageClass: Stored): object {
  const node = context.store.state.table('nodes').get(claim.metadata.annotations?.[selectedNode] ?? '') as Node | undefined;
  const zone = node?.metadata.labels?.[zoneKey];
  const terms = zone === undefined ? topologyTerms(storageClass) : [{ matchExpressions: [{ key: zoneKey, operator: 'In', values: [zone] }] }];
  return terms.length === 0 ? {} : { nodeAffinity: { required: { nodeSelectorTerms: terms } } };
}

function provision(context: ControllerContext, key: string): void {
  const { store } = context;
  const claim = store.state.table('persistentvolumeclaims').get(key);
  if (claim === undefined || claim.metadata.deletionTimestamp !== undefined) return;
  const spec = recordOf(claim['spec']);
  if (textOf(spec['volumeName']) !== '') return bound(context, claim);
  const storageClass = classOf(store, claim);
  if (storageClass === undefined) return;
  if (storageClass['volumeBindingMode'] === 'WaitForFirstConsumer' && claim.metadata.annotations?.[selectedNode] === undefined) return;
  const name = `pvc-${claim.metadata.uid}`;
  const { namespace, uid } = claim.metadata;
  const volumes = store.type('', 'v1', 'persistentvolumes');
  if (store.find(volumes, { name }) === undefined) {
    store.create(volumes, {
      object: {
        metadata: { name },
        spec: {
          capacity: { storage: textOf(recordOf(recordOf(spec['resources'])['requests'])['storage']) || '1Gi' },
          accessModes: spec['accessModes'] ?? ['ReadWriteOnce'],
          persistentVolumeReclaimPolicy: storageClass['reclaimPolicy'] ?? 'Delete',
          storageClassName: storageClass.metadata.name,
          csi: { driver: textOf(storageClass['provisioner']), volumeHandle: name },
          claimRef: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace, name: claim.metadata.name, uid },
          ...affinityOf(context, claim, storageClass),
        },
      },
    });
    store.patch(volumes, { name, patch: { type: 'merge', body: { status: { phase: 'Bound' } } } }, { subresource: 'status' });
  }
  store.patch(store.type('', 'v1', 'persistentvolumeclaims'), { ...claim.metadata, patch: { type: 'merge', body: { metadata: { annotations: { 'pv.kubernetes.io/bind-completed': 'yes' } }, spec: { volumeName: name, storageClassName: storageClass.metadata.name } } } });
}

function bound(context: ControllerContext, claim: Stored): void {
  const { store } = context;
  const volume = store.state.table('persistentvolumes').get(textOf(recordOf(claim['spec'])['volumeName']));
  if (volume === undefined || recordOf(claim['status'])['phase'] === 'Bound') return;
  const { accessModes, capacity } = recordOf(volume['spec']);
  store.patch(store.type('', 'v1', 'persistentvolumeclaims'), { ...claim.metadata, patch: { type: 'merge', body: { metadata: { annotations: { 'pv.kubernetes.io/bind-completed': 'yes' } } } } });
  store.patch(store.type('', 'v1', 'persistentvolumeclaims'), { ...claim.metadata, patch: { type: 'merge', body: { status: { phase: 'Bound', accessModes, capacity } } } }, { subresource: 'status' });
}
