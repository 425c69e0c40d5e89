import {
  compareText,
  parseAmount,
  type Raw,
  readSelector,
  recordOf,
  selectorMatches,
} from '@dovetail/core-kube-model';

import { errorAt } from '../manifests/objects.js';
import type { Inventory, Item } from './kinds.js';

/** A claim or a volume in the terms that both are compared in. */
type Storage = {
  readonly item: Item;
  readonly spec: Raw;
  /** Empty: no class. */
  readonly className: string;
  readonly mode: string;
  readonly accessModes: readonly unknown[];
  readonly bytes: number;
};

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
const betaClass = 'volume.beta.kubernetes.io/storage-class';
const bindCompleted = 'pv.kubernetes.io/bind-completed';
const annotationsOf = ({ object }: Item): Raw =>
  recordOf(recordOf(object['metadata'])['annotations']);

/** Throws InputError for an amount that cannot be read. */
async function storageOf(item: Item, amounts: string): Promise<Storage> {
  const spec = recordOf(item.object['spec']);
  const { storage } = recordOf(
    amounts === 'capacity' ? spec['capacity'] : recordOf(spec['resources'])['requests'],
  );
  const bytes = storage === undefined ? 0 : parseAmount(storage);
  if (bytes === undefined)
    throw await errorAt(item, {
      field: `spec.${amounts}.storage`,
      value: JSON.stringify(storage),
      remedy: 'write a Kubernetes quantity such as 10Gi',
    });
  return {
    item,
    spec,
    className: textOf(spec['storageClassName'] ?? annotationsOf(item)[betaClass]),
    mode: textOf(spec['volumeMode']) || 'Filesystem',
    accessModes: Array.isArray(spec['accessModes']) ? spec['accessModes'] : [],
    bytes,
  };
}

/** Whether a volume is reserved: for this claim, for another one, or not at all. */
function reservation({ spec }: Storage, { item }: Storage): 'claim' | 'other' | 'none' {
  const { namespace, name } = recordOf(spec['claimRef']);
  if (name === undefined) return 'none';
  return namespace === item.namespace && name === item.name ? 'claim' : 'other';
}

/** Whether a volume is what a claim asks for. */
const satisfies = (volume: Storage, claim: Storage): boolean =>
  volume.className === claim.className &&
  volume.mode === claim.mode &&
  volume.bytes >= claim.bytes &&
  claim.accessModes.every((mode) => volume.accessModes.includes(mode)) &&
  recordOf(volume.item.object['metadata'])['deletionTimestamp'] === undefined;

function selects({ spec }: Storage, { item }: Storage): boolean {
  if (spec['selector'] === undefined) return true;
  const labels = recordOf(recordOf(item.object['metadata'])['labels']);
  return selectorMatches(
    readSelector(spec['selector'], 'spec.selector'),
    labels as Readonly<Record<string, string>>,
  );
}

/**
 * The volume that Kubernetes' volume controller binds a claim to (pkg/controller/volume, by its
 * documentation): the one that the claim names, or the one that is reserved for it, or the smallest
 * that it matches.
 */
function volumeFor(claim: Storage, volumes: readonly Storage[]): Storage | undefined {
  const named = textOf(claim.spec['volumeName']);
  const free = volumes.filter(
    (volume) => reservation(volume, claim) !== 'other' && satisfies(volume, claim),
  );
  if (named !== '') return free.find(({ item }) => item.name === named);
  const ofIt = (volume: Storage): number => (reservation(volume, claim) === 'claim' ? 0 : 1);
  return free
    .filter((volume) => ofIt(volume) === 0 || selects(claim, volume))
    .sort(
      (a, b) => ofIt(a) - ofIt(b) || a.bytes - b.bytes || compareText(a.item.name, b.item.name),
    )[0];
}

/** The claim as the volume controller leaves it. */
function boundItem(item: Item, volumeName: string): Item {
  const { object } = item;
  const metadata = recordOf(object['metadata']);
  const annotations = { ...annotationsOf(item), [bindCompleted]: 'yes' };
  return {
    ...item,
    object: {
      ...object,
      metadata: { ...metadata, annotations },
      spec: { ...recordOf(object['spec']), volumeName },
      status: { ...recordOf(object['status']), phase: 'Bound' },
    },
  };
}

const isBound = (item: Item): boolean => annotationsOf(item)[bindCompleted] !== undefined;

/** Storage classes of the input whose claims wait for their pod, and are provisioned then. */
const provisioning = (inventory: Inventory): ReadonlySet<string> =>
  new Set(
    inventory
      .of('StorageClass')
      .filter(({ object }) => object['provisioner'] !== 'kubernetes.io/no-provisioner')
      .map(({ name }) => name),
  );

async function all(
  items: readonly Item[],
  amounts: string,
  { problems }: Inventory,
): Promise<readonly Storage[]> {
  const read: Storage[] = [];
  for (const item of items) {
    const storage = await problems.reading(() => storageOf(item, amounts));
    if (storage !== undefined) read.push(storage);
  }
  return read;
}

/**
 * The input with claims bound to the volumes that were made for them by hand, as the volume
 * controller would bind them. Claims of a class that provisions volumes are left to that, unless
 * they name a volume. A note says how many were bound.
 */
export async function withBoundClaims(inventory: Inventory): Promise<Inventory> {
  const claims = inventory.of('PersistentVolumeClaim').filter((item) => !isBound(item));
  const volumes = await all(inventory.of('PersistentVolume'), 'capacity', inventory);
  if (claims.length === 0 || volumes.length === 0) return inventory;
  const provisioned = provisioning(inventory);
  const taken = new Set<Storage>();
  const bound = new Map<Item, Item>();
  // A claim that names its volume, or has one reserved, is bound before the others choose.
  const wishes = await all(claims, 'resources.requests', inventory);
  const isSure = (claim: Storage): boolean =>
    textOf(claim.spec['volumeName']) !== '' ||
    volumes.some((volume) => reservation(volume, claim) === 'claim');
  for (const claim of wishes.toSorted((a, b) => Number(isSure(b)) - Number(isSure(a)))) {
    if (!isSure(claim) && provisioned.has(claim.className)) continue;
    const volume = volumeFor(
      claim,
      volumes.filter((one) => !taken.has(one)),
    );
    if (volume === undefined) continue;
    taken.add(volume);
    bound.set(claim.item, boundItem(claim.item, volume.item.name));
  }
  if (bound.size === 0) return inventory;
  const [word, are] = bound.size === 1 ? ['claim', 'counts'] : ['claims', 'count'];
  return {
    ...inventory,
    of: (kind) => inventory.of(kind).map((item) => bound.get(item) ?? item),
    notes: [
      ...inventory.notes,
      `${bound.size} ${word} ${are} as bound to volumes of the manifests that match`,
    ],
  };
}
