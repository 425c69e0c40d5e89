import { labels } from '@dovetail/core-api';
import {
  compareText,
  describeSet,
  intersectRequirements,
  isUnsatisfiable,
  type NodeSelectorTerm,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Pod,
  type PodVolume,
  type Requirements,
  requirementsOf,
  type RequirementSpec,
  type StorageClass,
  toSpecs,
} from '@dovetail/core-kube-model';

import type { Reason } from '../reasons.js';
import type { Snapshot } from '../snapshot.js';
import { usableTerms } from './levels.js';

/**
 * The demands of a pod's volumes on a node: one of the alternatives, and room for attachments by
 * CSI driver.
 */
export type VolumeDemand = {
  /** Alternatives (OR) in a fixed order; one empty entry if volumes do not narrow the choice. */
  readonly alternatives: readonly { readonly requirements: Requirements; readonly text: string }[];
  readonly attachments: readonly Attachment[];
};
/**
 * One volume that a node must attach. Without an id, each pod of the class brings its own
 * (ephemeral volumes).
 */
export type Attachment = { readonly driver: string; readonly id?: string };

/** Volume objects by name. */
export type VolumeIndex = {
  readonly claims: ReadonlyMap<string, PersistentVolumeClaim>;
  readonly volumes: ReadonlyMap<string, PersistentVolume>;
  readonly classes: ReadonlyMap<string, StorageClass>;
  /** The default class of claims that name none: the newest class marked as default. */
  readonly defaultClass: StorageClass | undefined;
};

/**
 * Indexes the claims, volumes and storage classes of a snapshot. Of several default classes the
 * newest counts, as in Kubernetes.
 */
export function volumeIndexOf(snapshot: Snapshot): VolumeIndex {
  const defaults = snapshot.storageClasses
    .filter((one) => one.isDefault)
    .sort((a, b) => b.createdMs - a.createdMs || compareText(a.name, b.name));
  return {
    claims: new Map(
      snapshot.persistentVolumeClaims.map((claim) => [`${claim.namespace}/${claim.name}`, claim]),
    ),
    volumes: new Map(snapshot.persistentVolumes.map((volume) => [volume.name, volume])),
    classes: new Map(snapshot.storageClasses.map((one) => [one.name, one])),
    defaultClass: defaults[0],
  };
}

const refused = (message: string, values: Readonly<Record<string, string>>): Reason => ({
  code: 'volume',
  message,
  values,
});

type Source = {
  readonly topologies: readonly NodeSelectorTerm[] | undefined;
  readonly local: boolean;
  readonly attachment?: Attachment;
};

function boundSource(claim: PersistentVolumeClaim, index: VolumeIndex): Source | Reason {
  const name = claim.volumeName ?? '';
  const volume = index.volumes.get(name);
  const values = { claim: `${claim.namespace}/${claim.name}`, volume: name };
  if (!claim.bindCompleted)
    return refused(
      `claim ${values.claim} names volume ${name} but its binding is not complete; wait for the volume controller`,
      values,
    );
  if (volume === undefined)
    return refused(
      `claim ${values.claim} is bound to volume ${name}, which does not exist; restore the volume or recreate the claim`,
      values,
    );
  if (volume.deletionMs !== undefined)
    return refused(
      `volume ${name} of claim ${values.claim} is being deleted; recreate the claim`,
      values,
    );
  const attachment =
    volume.driver === undefined ? {} : { attachment: { driver: volume.driver, id: volume.name } };
  return { topologies: volume.nodeAffinity, local: volume.local, ...attachment };
}

function unboundSource(
  what: { readonly id: string; readonly className: string | undefined; readonly own: boolean },
  index: VolumeIndex,
): Source | Reason {
  const values = { claim: what.id, storageClass: what.className ?? '' };
  if (what.className === '')
    return refused(
      `unbound claim ${what.id} has an empty storage class, so only a volume that exists can be bound to it; bind one, or name a class`,
      values,
    );
  const found =
    what.className === undefined ? index.defaultClass : index.classes.get(what.className);
  if (found === undefined)
    return refused(
      `unbound claim ${what.id} has ${what.className === undefined ? 'no storage class and there is no default class' : `storage class ${what.className}, which does not exist`}; name an existing class`,
      values,
    );
  if (found.bindingMode === 'Immediate')
    return refused(
      `claim ${what.id} of class ${found.name} binds immediately and is not bound yet; wait for its volume or use WaitForFirstConsumer`,
      values,
    );
  return {
    topologies: found.allowedTopologies,
    local: false,
    attachment: { driver: found.provisioner, ...(what.own ? {} : { id: what.id }) },
  };
}

function sourceOf(pod: Pod, volume: PodVolume, index: VolumeIndex): Source | Reason {
  const id = `${pod.namespace}/${volume.claimName}`;
  const claim = index.claims.get(id);
  if (claim === undefined) {
    if (volume.ephemeral !== undefined)
      return unboundSource({ id, className: volume.ephemeral.storageClassName, own: true }, index);
    return refused(`claim ${id} does not exist; create it`, { claim: id });
  }
  if (claim.deletionMs !== undefined)
    return refused(`claim ${id} is being deleted; recreate it`, { claim: id });
  if (claim.phase === 'Lost')
    return refused(`claim ${id} has lost its volume; recreate it`, { claim: id });
  if (claim.volumeName !== undefined && claim.volumeName !== '') return boundSource(claim, index);
  return unboundSource(
    { id, className: claim.storageClassName, own: volume.ephemeral !== undefined },
    index,
  );
}

function requirementsOfTopology(term: NodeSelectorTerm, local: boolean): Requirements {
  // The hostname of a local volume may belong to a node that is gone. The pod could never be
  // planned with it.
  const kept = local
    ? term.matchExpressions.filter((one) => one.key !== labels.hostname)
    : term.matchExpressions;
  return requirementsOf(kept);
}

function crossed(branches: readonly Requirements[], source: Source): readonly Requirements[] {
  if (source.topologies === undefined || source.topologies.length === 0) return branches;
  const all = source.topologies.flatMap((term) =>
    branches.map((branch) =>
      intersectRequirements(branch, requirementsOfTopology(term, source.local)),
    ),
  );
  return all.filter((one) => !isUnsatisfiable(one));
}

/** The places where a node with this volume may be, as text. */
const placesOf = ({ topologies = [], local }: Source): string =>
  topologies
    .map((term) =>
      [...requirementsOfTopology(term, local)]
        .map(([key, set]) => `${key} ${describeSet(set)}`)
        .join(' and '),
    )
    .join(', or ');

/** Whether a pod's own selectors allow some of the places that its volumes leave. */
function isAllowed(pod: Pod, branches: readonly Requirements[]): boolean {
  const selector = Object.entries(pod.nodeSelector).map(([key, value]): RequirementSpec => ({
    key,
    operator: 'In',
    values: [value],
  }));
  const terms = usableTerms(pod).map(({ matchExpressions }) => matchExpressions);
  return (terms.length === 0 ? [[]] : terms).some((expressions) => {
    const own = requirementsOf([...selector, ...expressions]);
    return branches.some((branch) => !isUnsatisfiable(intersectRequirements(branch, own)));
  });
}

type Placed = { readonly claim: string; readonly places: string };

/** The reason of a pod whose volumes, or whose volumes and selectors, leave no place. */
function apart(placed: readonly Placed[], what: 'each other' | 'the selectors'): Reason {
  const list = placed.map(({ claim, places }) => `claim ${claim}: ${places}`).join('; ');
  const among = what === 'each other';
  return {
    ...refused(
      among
        ? `no node is where all volumes of the pod are (${list})`
        : `the node selector and affinity of the pod exclude the places of its volumes (${list})`,
      Object.fromEntries(placed.map(({ claim, places }) => [claim, places])),
    ),
    remedy: among
      ? 'use volumes of one zone, or give them to pods of their own'
      : 'let the pod select the zone of its volumes, or use volumes of another zone',
  };
}

/** Returns the demands of a pod's volumes, or the reason why its claims must be repaired first. */
export function volumeDemandOf(pod: Pod, index: VolumeIndex): VolumeDemand | Reason {
  let branches: readonly Requirements[] = [new Map()];
  const attachments: Attachment[] = [];
  const placed: Placed[] = [];
  for (const volume of pod.volumes) {
    const source = sourceOf(pod, volume, index);
    if ('code' in source) return source;
    branches = crossed(branches, source);
    const claim = `${pod.namespace}/${volume.claimName}`;
    if ((source.topologies ?? []).length > 0) placed.push({ claim, places: placesOf(source) });
    if (branches.length === 0) return apart(placed, 'each other');
    if (source.attachment !== undefined) attachments.push(source.attachment);
  }
  if (placed.length > 0 && !isAllowed(pod, branches)) return apart(placed, 'the selectors');
  const alternatives = branches.map((requirements) => ({
    requirements,
    text: requirements.size === 0 ? '' : JSON.stringify(toSpecs(requirements)),
  }));
  return { alternatives, attachments };
}

/** Returns the attachments of a running pod. Claims that cannot be resolved are not counted. */
export function attachmentsOf(pod: Pod, index: VolumeIndex): readonly Attachment[] {
  return pod.volumes.flatMap((volume) => {
    const source = sourceOf(pod, volume, index);
    return 'code' in source || source.attachment === undefined ? [] : [source.attachment];
  });
}
