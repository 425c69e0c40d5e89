import { lookUp } from '@dovetail/core-invariant';
import {
  isReservedFor,
  matchingVolume,
  type OfferedStorage,
  offeredStorage,
  type Raw,
  recordOf,
  type WantedStorage,
  wantedStorage,
} from '@dovetail/core-kube-model';

import { errorAt } from '../manifests/objects.js';
import type { Inventory, Item } from './kinds.js';

/** A claim, or a volume, with the object that it was read from. */
type Read<Storage> = Storage & { readonly item: Item };

const bindCompleted = 'pv.kubernetes.io/bind-completed';
const annotationsOf = ({ object }: Item): Raw =>
  recordOf(recordOf(object['metadata'])['annotations']);

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

/** The objects that can be read. An amount that cannot be is told with its field. */
async function all<Storage>(
  inventory: Inventory,
  kind: 'PersistentVolumeClaim' | 'PersistentVolume',
  read: (object: Raw) => Storage | undefined,
): Promise<readonly Read<Storage>[]> {
  const field = kind === 'PersistentVolume' ? 'spec.capacity' : 'spec.resources.requests';
  const found: Read<Storage>[] = [];
  for (const item of inventory.of(kind)) {
    if (isBound(item)) continue;
    const storage = await inventory.problems.reading(async () => {
      const known = read(item.object);
      if (known !== undefined) return { ...known, item };
      throw await errorAt(item, {
        field: `${field}.storage`,
        value: JSON.stringify(amountAt(item.object, field)),
        remedy: 'write a Kubernetes quantity such as 10Gi',
      });
    });
    if (storage !== undefined) found.push(storage);
  }
  return found;
}

const amountAt = (object: Raw, field: string): unknown =>
  field.split('.').reduce<Raw>((at, name) => recordOf(lookUp(at, name)), object)['storage'];

/**
 * The input with claims bound to the volumes that were made for them by hand, as the volume
 * controller would bind them. Claims of a class that provisions volumes are left to that, unless
 * they name a volume. A note says how many were bound.
 */
export async function withBoundClaims(inventory: Inventory): Promise<Inventory> {
  const volumes = await all(inventory, 'PersistentVolume', offeredStorage);
  if (volumes.length === 0 || inventory.of('PersistentVolumeClaim').every(isBound))
    return inventory;
  const provisioned = provisioning(inventory);
  const taken = new Set<OfferedStorage>();
  const bound = new Map<Item, Item>();
  // A claim that names its volume, or has one reserved, is bound before the others choose.
  const wishes = await all(inventory, 'PersistentVolumeClaim', wantedStorage);
  const isSure = (claim: WantedStorage): boolean =>
    claim.volumeName !== '' || volumes.some((volume) => isReservedFor(volume, claim));
  for (const claim of wishes.toSorted((a, b) => Number(isSure(b)) - Number(isSure(a)))) {
    if (!isSure(claim) && provisioned.has(claim.className)) continue;
    const volume = matchingVolume(
      claim,
      volumes.filter((one) => !taken.has(one)),
    );
    if (volume === undefined) continue;
    taken.add(volume);
    bound.set(claim.item, boundItem(claim.item, volume.name));
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
