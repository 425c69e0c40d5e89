import { compareText } from '@dovetail/core-kube-model';

import type { StoredObject } from '../model/objects.js';
import type { KubeStore } from '../store/store.js';
import { keyOf } from '../store/table.js';

/** The objects with one value, and their keys in order until one comes or goes. */
type Bucket = { readonly objects: Map<string, StoredObject>; sorted?: readonly string[] };

/** Objects of one table by a value computed from each, kept up to date by the store's changes. */
export class ObjectIndex {
  readonly #byValue = new Map<string, Bucket>();
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
      if (change.kind !== 'deleted') this.#add(change.object);
      const kept = change.kind === 'deleted' ? [] : this.#valuesOf(change.object);
      if (change.before !== undefined) this.#remove(change.before, kept);
    });
  }

  /** The objects with that value, by namespace and name. */
  get(value: string): readonly StoredObject[] {
    const found = this.#byValue.get(value);
    if (found === undefined) return [];
    found.sorted ??= [...found.objects.keys()].sort(compareText);
    return found.sorted.flatMap((key) => found.objects.get(key) ?? []);
  }

  stop(): void {
    this.#unsubscribe();
  }

  #add(object: StoredObject): void {
    const key = keyOf(object.metadata.namespace, object.metadata.name);
    for (const value of this.#valuesOf(object)) {
      const bucket: Bucket = this.#byValue.get(value) ?? { objects: new Map() };
      if (!bucket.objects.has(key)) delete bucket.sorted;
      bucket.objects.set(key, object);
      this.#byValue.set(value, bucket);
    }
  }

  #remove(object: StoredObject, kept: readonly string[]): void {
    for (const value of this.#valuesOf(object)) {
      if (kept.includes(value)) continue;
      const bucket = this.#byValue.get(value);
      bucket?.objects.delete(keyOf(object.metadata.namespace, object.metadata.name));
      delete bucket?.sorted;
      if (bucket?.objects.size === 0) this.#byValue.delete(value);
    }
  }
}
