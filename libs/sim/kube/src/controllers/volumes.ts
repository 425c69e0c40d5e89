import { recordOf } from '@dovetail/core-kube-model';

import { textOf } from '../model/json.js';
import type { Node, SentObject, StoredObject } from '../model/objects.js';
import { classOf } from '../scheduler/static-volumes.js';
import { isBound, noProvisioner, topologyTerms } from '../scheduler/volumes.js';
import { keyOf } from '../store/table.js';
import type { Controller, ControllerContext } from './context.js';
import { bind, settleVolume, volumeToBind } from './volume-binding.js';
import { WorkQueue } from './work-queue.js';

const zoneKey = 'topology.kubernetes.io/zone';
const selectedNode = 'volume.kubernetes.io/selected-node';

const queueOf = ({ store, onError }: ControllerContext, work: (key: string) => void): WorkQueue =>
  new WorkQueue({
    clock: store.clock,
    work,
    onError: (key, error) => onError('persistentvolume-binder', key, error),
  });

/**
 * Binds claims to volumes that were made by hand, and plays a provisioner for every StorageClass
 * that has one. It makes the volume in the zone of the claim's node.
 */
export function volumeController(context: ControllerContext): Controller {
  const { store } = context;
  const claims = store.state.table('persistentvolumeclaims');
  const ofClaims = queueOf(context, (key) => syncClaim(context, key));
  const ofVolumes = queueOf(context, (name) => settleVolume(context, name));
  const addAll = (): void => {
    for (const claim of claims.values())
      if (!isBound(claim)) ofClaims.add(keyOf(claim.metadata.namespace, claim.metadata.name));
  };
  addAll();
  for (const name of store.state.table('persistentvolumes').keys()) ofVolumes.add(name);
  return {
    stop: () => {
      ofClaims.stop();
      ofVolumes.stop();
    },
    heard: ({ table, object }) => {
      switch (table) {
        case 'persistentvolumeclaims':
          ofClaims.add(keyOf(object.metadata.namespace, object.metadata.name));
          return ofVolumes.add(textOf(recordOf(object['spec'])['volumeName']));
        case 'persistentvolumes': {
          ofVolumes.add(object.metadata.name);
          const { namespace, name } = recordOf(recordOf(object['spec'])['claimRef']);
          // A volume that no claim has may be the one that any of them waits for.
          return name === undefined
            ? addAll()
            : ofClaims.add(keyOf(textOf(namespace), textOf(name)));
        }
        case 'storageclasses.storage.k8s.io':
          return addAll();
        default:
      }
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

/** The volume that was made for the claim; now, if there is none yet. */
function provisioned(
  context: ControllerContext,
  claim: StoredObject,
  storageClass: StoredObject,
): StoredObject {
  const { store } = context;
  const volumes = store.type('', 'v1', 'persistentvolumes');
  return (
    store.find(volumes, { name: `pvc-${claim.metadata.uid}` }) ??
    store.create(volumes, { object: volumeFor(context, claim, storageClass) })
  );
}

/** True while a claim waits for its first consumer, which no pod has become yet. */
const waits = (claim: StoredObject, storageClass: StoredObject | undefined): boolean =>
  storageClass?.['volumeBindingMode'] === 'WaitForFirstConsumer' &&
  claim.metadata.annotations?.[selectedNode] === undefined;

function syncClaim(context: ControllerContext, key: string): void {
  const { store } = context;
  const claim = store.state.table('persistentvolumeclaims').get(key);
  if (claim === undefined || claim.metadata.deletionTimestamp !== undefined) return;
  if (isBound(claim) && recordOf(claim['status'])['phase'] === 'Bound') return;
  const storageClass = classOf(store, claim);
  const isWaiting = waits(claim, storageClass);
  const volume = volumeToBind(context, claim, { waits: isWaiting });
  if (volume !== undefined) return bind(context, claim, volume);
  const isNamed = textOf(recordOf(claim['spec'])['volumeName']) !== '';
  if (storageClass === undefined || isWaiting || isNamed) return;
  if (storageClass['provisioner'] === noProvisioner) return;
  const storageClassName = storageClass.metadata.name;
  bind(context, claim, provisioned(context, claim, storageClass), { storageClassName });
}
