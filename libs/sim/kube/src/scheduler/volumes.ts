import { isRecord, type Raw, recordOf } from '@dovetail/core-kube-model';

import { listOf, textOf } from '../model/json.js';
import type { NodeSelectorTermSpec, Pod, StoredObject } from '../model/objects.js';
import type { KubeStore } from '../store/store.js';
import type { NodeInfo } from './cache.js';
import { termMatches } from './matching.js';

/** The demands of a pod's claims on its node, or the reason why the pod cannot be placed at all. */
export type VolumeState = {
  readonly problem?: string;
  /** Alternatives (OR) for each bound volume, each class that waits for its first consumer. */
  readonly bound: readonly (readonly NodeSelectorTermSpec[])[];
  readonly waiting: readonly {
    readonly claim: StoredObject;
    readonly topologies: readonly NodeSelectorTermSpec[];
  }[];
};

/** The names of the claims that a pod mounts; ephemeral ones are named after pod and volume. */
function claimNames(pod: Pod): readonly string[] {
  return (pod.spec.volumes ?? []).flatMap((volume) => {
    if (volume.persistentVolumeClaim !== undefined) return [volume.persistentVolumeClaim.claimName];
    return volume.ephemeral === undefined ? [] : [`${pod.metadata.name}-${volume.name}`];
  });
}

const nodeTerms = (volume: StoredObject): readonly NodeSelectorTermSpec[] | undefined => {
  const required = recordOf(recordOf(recordOf(volume['spec'])['nodeAffinity'])['required']);
  return Array.isArray(required['nodeSelectorTerms'])
    ? (required['nodeSelectorTerms'] as readonly NodeSelectorTermSpec[])
    : undefined;
};

/** A storage class's allowed topologies as node selector terms. */
export function topologyTerms(storageClass: Raw | undefined): readonly NodeSelectorTermSpec[] {
  return listOf(storageClass?.['allowedTopologies'])
    .filter(isRecord)
    .map((topology) => ({
      matchExpressions: listOf(topology['matchLabelExpressions'])
        .filter(isRecord)
        .map((one) => ({
          key: textOf(one['key']),
          operator: 'In',
          values: listOf(one['values']) as readonly string[],
        })),
    }));
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

/** Reads a pod's claims. */
export function volumeState(store: KubeStore, pod: Pod): VolumeState {
  const bound: (readonly NodeSelectorTermSpec[])[] = [];
  const waiting: { claim: StoredObject; topologies: readonly NodeSelectorTermSpec[] }[] = [];
  for (const name of claimNames(pod)) {
    const claim = store.state
      .table('persistentvolumeclaims')
      .get(`${pod.metadata.namespace}/${name}`);
    if (claim === undefined)
      return { problem: `persistentvolumeclaim ${JSON.stringify(name)} not found`, bound, waiting };
    if (claim.metadata.deletionTimestamp !== undefined)
      return {
        problem: `persistentvolumeclaim ${JSON.stringify(name)} is being deleted`,
        bound,
        waiting,
      };
    const volumeName = textOf(recordOf(claim['spec'])['volumeName']);
    if (volumeName !== '') {
      const volume = store.state.table('persistentvolumes').get(volumeName);
      const terms = volume === undefined ? undefined : nodeTerms(volume);
      if (terms !== undefined) bound.push(terms);
      continue;
    }
    const storageClass = classOf(store, claim);
    if (storageClass?.['volumeBindingMode'] !== 'WaitForFirstConsumer')
      return { problem: 'pod has unbound immediate PersistentVolumeClaims', bound, waiting };
    waiting.push({ claim, topologies: topologyTerms(storageClass) });
  }
  return { bound, waiting };
}

/** Why the node cannot have the pod's volumes; undefined when it can. */
export function volumeProblem(state: VolumeState, node: NodeInfo): string | undefined {
  if (state.bound.some((terms) => !terms.some((term) => termMatches(term, node))))
    return "node(s) didn't match PersistentVolume's node affinity";
  const unreachable = state.waiting.some(
    ({ topologies }) =>
      topologies.length > 0 && !topologies.some((term) => termMatches(term, node)),
  );
  return unreachable ? "node(s) didn't find available persistent volumes to bind" : undefined;
}
