import {
  type RepairMethod,
  type UnhealthyCondition,
  unhealthyConditionOf,
} from '@dovetail/core-disruption';

/** The nodes that are unhealthy by their conditions, by UID, as the watch of nodes shows them. */
export class UnhealthyNodes {
  readonly #conditions = new Map<string, UnhealthyCondition>();
  readonly #listeners = new Set<() => void>();
  readonly #method: RepairMethod;

  constructor(method: RepairMethod) {
    this.#method = method;
  }

  /** The unhealthy condition of a Node as the API has it. Undefined: it is healthy. */
  read(rawNode: unknown): UnhealthyCondition | undefined {
    return unhealthyConditionOf(rawNode, this.#method);
  }

  /** The unhealthy condition of a node. Undefined: it is healthy, or gone. */
  of(uid: string): UnhealthyCondition | undefined {
    return this.#conditions.get(uid);
  }

  /** Notes what a node says of itself. Undefined: it is healthy, or gone. */
  note(uid: string, condition: UnhealthyCondition | undefined): void {
    const held = this.#conditions.get(uid);
    if (JSON.stringify(held) === JSON.stringify(condition)) return;
    if (condition === undefined) this.#conditions.delete(uid);
    else this.#conditions.set(uid, condition);
    for (const listener of this.#listeners) listener();
  }

  /** Calls on every change until the answer is called. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
