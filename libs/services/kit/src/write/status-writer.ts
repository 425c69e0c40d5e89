import type { Condition } from '@dovetail/core-api';
import { lookUp } from '@dovetail/core-invariant';
import type { Clock, KubeObject } from '@dovetail/core-ports';

import { type Change, type ChangedObject, changeLive, type KubeChanges } from './change-guarded.js';
import { conditionObjects, conditionsIn } from './conditions.js';

/** The wanted status of an object. */
export type StatusWish = {
  /** Fields beside the conditions. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** The wanted conditions, from those that the object has now. */
  readonly conditions: (
    held: readonly Condition[],
    nowMs: number,
    object: KubeObject,
  ) => readonly Condition[];
};

type Status = Readonly<Record<string, unknown>>;

/** Writes the status of objects when it differs from the wanted one. */
export class StatusWriter {
  readonly #kube: KubeChanges;
  readonly #clock: Clock;
  /**
   * UID and the status that was written last. The API server may store a status in another form
   * (defaults, order of fields). Comparing with our own text avoids writing it for ever.
   */
  readonly #written = new Map<string, string>();

  constructor({ kube, clock }: { readonly kube: KubeChanges; readonly clock: Clock }) {
    this.#kube = kube;
    this.#clock = clock;
  }

  /** Forgets an object that is gone. */
  forget(uid: string): void {
    this.#written.delete(uid);
  }

  /** Resolves once the object has the wanted status or is gone. Rejects with KubeError. */
  async write(ref: ChangedObject, wish: StatusWish): Promise<void> {
    let text = '';
    const change = (object: KubeObject): Change => {
      const held = conditionsIn(object);
      const conditions = wish.conditions(held, this.#clock.nowMs(), object);
      const status = statusOf(object, wish.fields, conditions);
      text = JSON.stringify(status);
      const isWritten = this.#written.get(ref.uid) === text && conditions === held;
      return isWritten || isHeld(object, status, text) ? undefined : { status };
    };
    const object = await changeLive(this.#kube, ref, change, { subresource: 'status' });
    if (object === undefined) this.#written.delete(ref.uid);
    else this.#written.set(ref.uid, text);
  }
}

const statusOf = (
  { metadata }: KubeObject,
  fields: Status,
  conditions: readonly Condition[],
): Status => ({
  ...fields,
  conditions: conditionObjects(conditions).map((condition) => ({
    ...condition,
    observedGeneration: metadata.generation ?? 0,
  })),
});

/** Whether the object's status already has all of this. */
function isHeld(object: KubeObject, status: Status, text: string): boolean {
  const held = (object['status'] ?? {}) as Status;
  return (
    JSON.stringify(
      Object.fromEntries(Object.keys(status).map((key) => [key, lookUp(held, key)])),
    ) === text
  );
}
