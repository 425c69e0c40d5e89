import {
  KubeError,
  type KubeObject,
  type KubePatches,
  type KubeReads,
  type ObjectRef,
} from '@dovetail/core-ports';

/**
 * A merge patch without `metadata.resourceVersion`. Undefined means that the object needs no
 * change.
 */
export type Change =
  | { readonly metadata?: Readonly<Record<string, unknown>>; readonly [field: string]: unknown }
  | undefined;

/** The part of the API that a guarded change needs. */
export type KubeChanges = Pick<KubeReads, 'get'> & KubePatches;

/** A value and the version of the object that it was read from. */
type Reading<T> = { readonly value: T; readonly resourceVersion: string };

/** The object to change. One of the same name and another UID is another object. */
export type ChangedObject = ObjectRef & { readonly uid: string };

/** A change of one object, made anew from a fresh reading whenever another writer came first. */
export type GuardedChange<T> = {
  readonly kube: KubeChanges;
  readonly ref: ChangedObject;
  /** Reads the API server's answer. If it throws, nothing more is written. */
  readonly read: (object: KubeObject) => T;
  /** The patch that brings the object from this reading to the wanted state. */
  readonly change: (now: T) => Change;
  /** The reading for the first try. If absent, the object is read live. */
  readonly first?: Reading<T>;
  readonly subresource?: 'status';
};

/**
 * Tries before the conflict is given up. Each lost race means that another writer made progress.
 * Only a handful of controllers write to one object, so more losses in a row mean a fight to
 * report.
 */
const triesMax = 6;

/**
 * Changes an object by a merge patch that is guarded by the version of its reading. After a
 * conflict the object is read live and the change is decided afresh.
 *
 * Returns the object as it is afterwards; undefined if it is gone or another object has its name.
 * Rejects with KubeError.
 */
export async function changeGuarded<T>(options: GuardedChange<T>): Promise<T | undefined> {
  let now = options.first ?? (await readLive(options));
  for (let tries = 1; now !== undefined; tries += 1) {
    const body = options.change(now.value);
    if (body === undefined) return now.value;
    try {
      return options.read(await patch(options, body, now.resourceVersion));
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      if (error.code === 'not-found') return undefined;
      if (error.code !== 'conflict' || tries >= triesMax) throw error;
    }
    now = await readLive(options);
  }
  return undefined;
}

/** Does the same for an object that is read live, with no mirror of it. */
export const changeLive = (
  kube: KubeChanges,
  ref: ChangedObject,
  change: (now: KubeObject) => Change,
  options: { readonly subresource?: 'status' } = {},
): Promise<KubeObject | undefined> =>
  changeGuarded({ kube, ref, read: (object) => object, change, ...options });

async function readLive<T>({ kube, ref, read }: GuardedChange<T>): Promise<Reading<T> | undefined> {
  const { uid, ...place } = ref;
  const object = await kube.get(place);
  if (object?.metadata.uid !== uid) return undefined;
  return { value: read(object), resourceVersion: object.metadata.resourceVersion ?? '' };
}

function patch<T>(
  { kube, ref, subresource }: GuardedChange<T>,
  body: NonNullable<Change>,
  resourceVersion: string,
): Promise<KubeObject> {
  const { uid: _, ...place } = ref;
  const guarded = { ...body, metadata: { ...body.metadata, resourceVersion } };
  return kube.patch(
    place,
    { type: 'merge', body: guarded },
    subresource === undefined ? {} : { subresource },
  );
}
