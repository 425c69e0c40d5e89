import {
  isReservedFor,
  type OfferedStorage,
  offeredStorage,
  recordOf,
  type WantedStorage,
  wantedStorage,
} from '@dovetail/core-kube-model';

import type { NodeSelectorTermSpec, StoredObject } from '../model/objects.js';
import type { KubeStore } from '../store/store.js';

/** A volume in the terms that claims are matched by, with the nodes that reach it. */
export type OfferedVolume = OfferedStorage & {
  readonly object: StoredObject;
  /** Alternatives (OR). Undefined: every node reaches it. */
  readonly terms: readonly NodeSelectorTermSpec[] | undefined;
};

/** The nodes that reach a volume. Undefined: all do. */
export function nodeTerms(volume: StoredObject): readonly NodeSelectorTermSpec[] | undefined {
  const required = recordOf(recordOf(recordOf(volume['spec'])['nodeAffinity'])['required']);
  return Array.isArray(required['nodeSelectorTerms'])
    ? (required['nodeSelectorTerms'] as readonly NodeSelectorTermSpec[])
    : undefined;
}

/** The class of a claim: its own, or the default one. */
export function classOf(store: KubeStore, claim: StoredObject): StoredObject | undefined {
  const classes = store.state.table('storageclasses.storage.k8s.io');
  const name = recordOf(claim['spec'])['storageClassName'];
  if (typeof name === 'string') return classes.get(name);
  return [...classes.values()].find(
    (one) => one.metadata.annotations?.['storageclass.kubernetes.io/is-default-class'] === 'true',
  );
}

/** The wishes of a claim. A claim that names no class asks for the default one. */
export function wantedBy(store: KubeStore, claim: StoredObject): WantedStorage | undefined {
  const wanted = wantedStorage(claim);
  if (wanted === undefined || wanted.className !== '') return wanted;
  return { ...wanted, className: classOf(store, claim)?.metadata.name ?? '' };
}

/** The volumes that nothing keeps from the claim: those of no other claim. */
export function volumesFor(
  store: KubeStore,
  wanted: WantedStorage,
  uid: string,
): readonly OfferedVolume[] {
  return [...store.state.table('persistentvolumes').values()].flatMap((object) => {
    const offered = offeredStorage(object);
    const isFree =
      offered !== undefined &&
      (offered.reservedFor === undefined || isReservedFor(offered, wanted, uid));
    return isFree ? [{ ...offered, object, terms: nodeTerms(object) }] : [];
  });
}

/** Keeps a volume for a claim, which the volume controller then binds to it. */
export function reserve(store: KubeStore, volume: StoredObject, claim: StoredObject): void {
  const { namespace, name, uid, resourceVersion } = claim.metadata;
  const { name: kept } = recordOf(recordOf(volume['spec'])['claimRef']);
  store.patch(store.type('', 'v1', 'persistentvolumes'), {
    name: volume.metadata.name,
    patch: {
      type: 'merge',
      body: {
        ...(kept === undefined
          ? { metadata: { annotations: { 'pv.kubernetes.io/bound-by-controller': 'yes' } } }
          : {}),
        spec: {
          claimRef: {
            apiVersion: 'v1',
            kind: 'PersistentVolumeClaim',
            namespace,
            name,
            uid,
            resourceVersion,
          },
        },
      },
    },
  });
}
