import { KubeError, type KubeApi, type KubeObject, type ObjectRef } from '@dovetail/core-ports';

const attemptsMax = 5;

/**
 * Changes an object from what it is now: reads it, asks `change` for a merge patch, and writes that guarded by the version read;
 * another's write in between starts it over. Undefined when the object is gone or another has taken its name. A `change` that
 * answers undefined writes nothing: the object is as it should be.
 */
export async function editLive(kube: KubeApi, ref: ObjectRef & { readonly uid: string }, change: (object: KubeObject) => Readonly<Record<string, unknown>> | undefined,
  options?: { readonly subresource: 'status' }): Promise<KubeObject | undefined> {
  const { uid, ...place } = ref;
  for (let attempt = 1; ; attempt += 1) {
    const object = await kube.get(place);
    if (object?.metadata.uid !== uid) return undefined;
    const body = change(object);
    if (body === undefined) return object;
    const metadata = (body['metadata'] ?? {}) as Readonly<Record<string, unknown>>;
    const guarded = { ...body, metadata: { ...metadata, resourceVersion: object.metadata.resourceVersion } };
    try {
      return await kube.patch(place, { type: 'merge', body: guarded }, options);
    } catch (error) {
      if (error instanceof KubeError && error.code === 'not-found') return undefined;
      if (!(error instanceof KubeError) || error.code !== 'conflict' || attempt >= attemptsMax) throw error;
    }
  }
}
