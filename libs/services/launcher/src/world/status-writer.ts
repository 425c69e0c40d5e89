import type { Condition } from '@dovetail/core-api';
import { KubeError, type Clock, type KubeApi, type KubeObject, type KubeResource } from '@dovetail/core-ports';
import { conditionObjects, conditionsIn } from '../lifecycle/conditions.js';

/** What an object's status should say beside its conditions; absent fields are removed. */
export type StatusWish = {
  readonly fields: Readonly<Record<string, unknown>>;
  /** From the conditions that stand there now. */
  readonly conditions: (held: readonly Condition[], nowMs: number) => readonly Condition[];
};

/** Writes the status of pools and classes, when it has changed, guarded by the version that it was decided on. */
export class StatusWriter {
  readonly #kube: KubeApi;
  readonly #clock: Clock;
  readonly #written = new Map<string, string>();

  constructor(kube: KubeApi, clock: Clock) {
    this.#kube = kube;
    this.#clock = clock;
  }

  /** Rejects with KubeError; `conflict` means that somebody else wrote: the caller looks again. */
  async write(resource: KubeResource, object: { readonly name: string; readonly uid: string; readonly resourceVersion?: string }, wish: StatusWish): Promise<void> {
    const now = await this.#kube.get({ resource, name: object.name });
    if (now === undefined || now.metadata.uid !== object.uid) return;
    const held = conditionsIn(now);
    const conditions = wish.conditions(held, this.#clock.nowMs());
    const status = { ...wish.fields, conditions: conditionObjects(conditions).map((each) => ({ ...each, observedGeneration: now.metadata.generation ?? 0 })) };
    const text = JSON.stringify(status);
    if (this.#written.get(object.uid) === text && conditions === held) return;
    if (JSON.stringify(pickFields(now, status)) === text) { this.#written.set(object.uid, text); return; }
    try {
      await this.#kube.patch({ resource, name: object.name }, { type: 'merge', body: { metadata: { resourceVersion: now.metadata.resourceVersion }, status } }, { subresource: 'status' });
      this.#written.set(object.uid, text);
    } catch (error) {
      if (error instanceof KubeError && error.code === 'not-found') return;
      throw error;
    }
  }
}

/** What the object's status says now of the fields that are to be written. */
function pickFields(object: KubeObject, status: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const held = (object['status'] ?? {}) as Readonly<Record<string, unknown>>;
  return Object.fromEntries(Object.keys(status).map((key) => [key, held[key]]));
}
