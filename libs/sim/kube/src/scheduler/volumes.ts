import {
  isRecord,
  matchingVolume,
  type Raw,
  recordOf,
  type WantedStorage,
} from '@dovetail/core-kube-model';

import { listOf, textOf } from '../model/json.js';
import type { NodeSelectorTermSpec, Pod, StoredObject } from '../model/objects.js';
import type { KubeStore } from '../store/store.js';
import type { NodeInfo } from './cache.js';
import { termMatches } from './matching.js';
import { classOf, nodeTerms, type OfferedVolume, volumesFor, wantedBy } from './static-volumes.js';

type WaitingClaim = {
  readonly claim: StoredObject;
  /** Undefined: its amount of storage cannot be read. */
  readonly wanted: WantedStorage | undefined;
  /** The volumes of no other claim. */
  readonly volumes: readonly OfferedVolume[];
  /** Where its class provisions (OR; none: anywhere). Undefined: it provisions nothing. */
  readonly topologies: readonly NodeSelectorTermSpec[] | undefined;
};

/** The demands of a pod's claims on its node, or the reason why the pod cannot be placed at all. */
export type VolumeState = {
  readonly problem?: string;
  /** Alternatives (OR) for each bound volume. */
  readonly bound: readonly (readonly NodeSelectorTermSpec[])[];
  /** The claims whose class waits for their first consumer. */
  readonly waiting: readonly WaitingClaim[];
};

/** Whether the volume controller has bound a claim. */
export const isBound = ({ metadata }: StoredObject): boolean =>
  metadata.annotations?.['pv.kubernetes.io/bind-completed'] !== undefined;

/** The names of the claims that a pod mounts; ephemeral ones are named after pod and volume. */
function claimNames(pod: Pod): readonly string[] {
  return (pod.spec.volumes ?? []).flatMap((volume) => {
    if (volume.persistentVolumeClaim !== undefined) return [volume.persistentVolumeClaim.claimName];
    return volume.ephemeral === undefined ? [] : [`${pod.metadata.name}-${volume.name}`];
  });
}

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

/** The provisioner of a class whose volumes are all made by hand. */
export const noProvisioner = 'kubernetes.io/no-provisioner';

/** A claim that waits for its first consumer, with what could become its volume. */
function waitingClaim(
  store: KubeStore,
  claim: StoredObject,
  storageClass: StoredObject,
): WaitingClaim {
  const wanted = wantedBy(store, claim);
  return {
    claim,
    wanted,
    volumes: wanted === undefined ? [] : volumesFor(store, wanted, claim.metadata.uid),
    topologies:
      storageClass['provisioner'] === noProvisioner ? undefined : topologyTerms(storageClass),
  };
}

/** Reads a pod's claims. */
export function volumeState(store: KubeStore, pod: Pod): VolumeState {
  const bound: (readonly NodeSelectorTermSpec[])[] = [];
  const waiting: WaitingClaim[] = [];
  for (const name of claimNames(pod)) {
    const claim = store.state
      .table('persistentvolumeclaims')
      .get(`${pod.metadata.namespace}/${name}`);
    const quoted = JSON.stringify(name);
    if (claim === undefined)
      return { problem: `persistentvolumeclaim ${quoted} not found`, bound, waiting };
    if (claim.metadata.deletionTimestamp !== undefined)
      return { problem: `persistentvolumeclaim ${quoted} is being deleted`, bound, waiting };
    const volume = store.state
      .table('persistentvolumes')
      .get(textOf(recordOf(claim['spec'])['volumeName']));
    if (isBound(claim)) {
      const terms = volume === undefined ? undefined : nodeTerms(volume);
      if (terms !== undefined) bound.push(terms);
      continue;
    }
    const storageClass = classOf(store, claim);
    if (storageClass?.['volumeBindingMode'] !== 'WaitForFirstConsumer')
      return { problem: 'pod has unbound immediate PersistentVolumeClaims', bound, waiting };
    waiting.push(waitingClaim(store, claim, storageClass));
  }
  return { bound, waiting };
}

/**
 * For each claim that waits for its first consumer, the volume that it is given at the node;
 * without one it is provisioned there. Undefined: the node cannot have them all.
 */
export function volumesAt(
  { waiting }: VolumeState,
  node: NodeInfo,
): readonly { readonly claim: StoredObject; readonly volume?: OfferedVolume }[] | undefined {
  const taken = new Set<OfferedVolume>();
  const given: { claim: StoredObject; volume?: OfferedVolume }[] = [];
  for (const { claim, wanted, volumes, topologies } of waiting) {
    const within = volumes.filter(
      (one) =>
        !taken.has(one) &&
        (one.terms === undefined || one.terms.some((term) => termMatches(term, node))),
    );
    const volume = wanted && matchingVolume(wanted, within, claim.metadata.uid);
    const isProvisioned =
      topologies !== undefined &&
      (topologies.length === 0 || topologies.some((term) => termMatches(term, node)));
    if (volume === undefined && !isProvisioned) return undefined;
    if (volume !== undefined) taken.add(volume);
    given.push({ claim, ...(volume === undefined ? {} : { volume }) });
  }
  return given;
}

/** Why the node cannot have the pod's volumes; undefined when it can. */
export function volumeProblem(state: VolumeState, node: NodeInfo): string | undefined {
  if (state.bound.some((terms) => !terms.some((term) => termMatches(term, node))))
    return "node(s) didn't match PersistentVolume's node affinity";
  return volumesAt(state, node) === undefined
    ? "node(s) didn't find available persistent volumes to bind"
    : undefined;
}
