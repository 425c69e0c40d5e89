import type { LabelSelector } from './pod.js';
import { type Raw, recordOf } from './project/raw.js';
import { readSelector } from './project/terms.js';
import { parseAmount } from './quantity-text.js';
import { selectorMatches } from './selector.js';
import { compareText } from './text-order.js';

/** A claim or a volume in the terms that both are compared in. */
type Storage = {
  /** Empty for a volume. */
  readonly namespace: string;
  readonly name: string;
  /** Empty: no class. */
  readonly className: string;
  readonly volumeMode: string;
  readonly accessModes: readonly string[];
  /** The room that the volume has, or that the claim asks for. */
  readonly bytes: number;
};

/** The wishes of a PersistentVolumeClaim. */
export type WantedStorage = Storage & {
  /** The volume that the claim names; empty: any. */
  readonly volumeName: string;
  /** The volumes that the claim would take; absent: all. */
  readonly selector?: LabelSelector;
};

/** The offer of a PersistentVolume. */
export type OfferedStorage = Storage & {
  readonly labels: Readonly<Record<string, string>>;
  /** The claim that the volume is bound to, or kept for. */
  readonly reservedFor?: {
    readonly namespace: string;
    readonly name: string;
    readonly uid: string;
  };
  readonly isEnding: boolean;
};

/** Where the classes of volumes stood before they had a field. It goes before the field. */
const betaClass = 'volume.beta.kubernetes.io/storage-class';

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

function storageOf(object: Raw, amount: unknown): Storage | undefined {
  const metadata = recordOf(object['metadata']);
  const spec = recordOf(object['spec']);
  const modes = spec['accessModes'];
  const bytes = amount === undefined ? 0 : parseAmount(amount);
  if (bytes === undefined) return undefined;
  return {
    namespace: textOf(metadata['namespace']),
    name: textOf(metadata['name']),
    className: textOf(recordOf(metadata['annotations'])[betaClass] ?? spec['storageClassName']),
    volumeMode: textOf(spec['volumeMode']) || 'Filesystem',
    accessModes: Array.isArray(modes) ? modes.map(textOf) : [],
    bytes,
  };
}

/** Reads a claim. Undefined: its amount of storage cannot be read. */
export function wantedStorage(claim: Raw): WantedStorage | undefined {
  const spec = recordOf(claim['spec']);
  const storage = storageOf(claim, recordOf(recordOf(spec['resources'])['requests'])['storage']);
  if (storage === undefined) return undefined;
  const selector = readSelector(spec['selector'], 'spec.selector');
  return {
    ...storage,
    volumeName: textOf(spec['volumeName']),
    ...(selector === undefined ? {} : { selector }),
  };
}

/** Reads a volume. Undefined: its amount of storage cannot be read. */
export function offeredStorage(volume: Raw): OfferedStorage | undefined {
  const metadata = recordOf(volume['metadata']);
  const spec = recordOf(volume['spec']);
  const storage = storageOf(volume, recordOf(spec['capacity'])['storage']);
  const { namespace, name, uid } = recordOf(spec['claimRef']);
  if (storage === undefined) return undefined;
  return {
    ...storage,
    labels: recordOf(metadata['labels']) as Readonly<Record<string, string>>,
    ...(name === undefined
      ? {}
      : { reservedFor: { namespace: textOf(namespace), name: textOf(name), uid: textOf(uid) } }),
    isEnding: metadata['deletionTimestamp'] !== undefined,
  };
}

/**
 * Whether the volume is kept for this claim, or bound to it. A claim without a UID has not been
 * created yet.
 */
export function isReservedFor(
  { reservedFor }: OfferedStorage,
  { namespace, name }: WantedStorage,
  uid = '',
): boolean {
  if (reservedFor === undefined) return false;
  const isSame = reservedFor.uid === '' || uid === '' || reservedFor.uid === uid;
  return isSame && reservedFor.namespace === namespace && reservedFor.name === name;
}

/** Whether a volume could hold what the claim asks for, whatever its class. */
const isEnough = (volume: OfferedStorage, claim: WantedStorage): boolean =>
  volume.volumeMode === claim.volumeMode &&
  volume.bytes >= claim.bytes &&
  claim.accessModes.every((mode) => volume.accessModes.includes(mode)) &&
  !volume.isEnding;

/**
 * The volume that Kubernetes binds a claim to: the one that the claim names, or the one that is
 * kept for it, or the one of its class with the fewest access modes and the least room
 * (k8s.io/component-helpers/storage/volume, FindMatchingVolume; pkg/controller/volume,
 * findByClaim). Volumes of other claims are left out. A claim's `uid` tells it from an older one of
 * its name.
 */
export function matchingVolume<Volume extends OfferedStorage>(
  claim: WantedStorage,
  volumes: readonly Volume[],
  uid = '',
): Volume | undefined {
  const ofIt = (volume: Volume): boolean => isReservedFor(volume, claim, uid);
  if (claim.volumeName !== '') {
    const named = volumes.find(({ name }) => name === claim.volumeName);
    if (named === undefined || ofIt(named)) return named;
    const isFree = named.reservedFor === undefined && named.className === claim.className;
    return isFree && isEnough(named, claim) ? named : undefined;
  }
  const enough = volumes.filter((volume) => isEnough(volume, claim));
  const kept = enough.find(ofIt);
  if (kept !== undefined) return kept;
  return enough
    .filter(
      ({ reservedFor, className, labels }) =>
        reservedFor === undefined &&
        className === claim.className &&
        (claim.selector === undefined || selectorMatches(claim.selector, labels)),
    )
    .sort(
      (a, b) =>
        a.accessModes.length - b.accessModes.length ||
        a.bytes - b.bytes ||
        compareText(a.name, b.name),
    )[0];
}
