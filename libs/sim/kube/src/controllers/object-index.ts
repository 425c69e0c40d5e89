import { compareText } from '@dovetail/core-kube-model';

import type { StoredObject } from '../model/objects.js';
import type { KubeStore } from '../store/store.js';
import { keyOf } from '../store/table.js';

/** Objects of one table by a value computed from each, kept up to date by the store's changes. */
export class ObjectIndex {
  readonly #byValue = new Map<string, Map<string, StoredObject>>();
  readonly #valuesOf: (object: StoredObject) => readonly string[];
  readonly #unsubscribe: () => void;

  constructor(
    store: KubeStore,
    table: string,
    valuesOf: (object: StoredObject) => readonly string[],
  ) {
    this.#valuesOf = valuesOf;
    for (const object of store.state.table(table).values()) this.#add(object);
    this.#unsubscribe = store.subscribe((change) => {
      if (change.table !== table) return;
      if (change.before !== undefined) this.#remove(change.before);
      if (change.kind !== 'deleted') this.#add(change.object);
    });
  }

  /** The objects with that value, by namespace and name. */
  get(value: string): readonly StoredObject[] {
    const found = this.#byValue.get(value);
    if (found === undefined) return [];
    return [...found]
      .sort(([left], [right]) => compareText(left, right))
      .map(([, object]) => object);
  }

  stop(): void {
    this.#unsubscribe();
  }

  #add(object: StoredObject): void {
    for (const value of this.#valuesOf(object)) {
      let bucket = this.#byValue.get(value);
      if (bucket === undefined) {
        bucket = new Map();
        this.#byValue.set(value, bucket);
      }
      bucket.set(keyOf(object.metadata.namespace, object.metadata.name), object);
    }
  }

  #remove(object: StoredObject): void {
    for (const value of this.#valuesOf(object)) {
      const bucket = this.#byValue.get(value);
      bucket?.delete(keyOf(object.metadata.namespace, object.metadata.name));
      if (bucket?.size === 0) this.#byValue.delete(value);
    }
  }
}
