import { compareText } from '@dovetail/core-kube-model';

import { valueAt } from '../model/json.js';
import type { StoredObject } from '../model/objects.js';

/** One change of one object. `before` is what it was, for changes and removals. */
export type Change = {
  readonly kind: 'added' | 'modified' | 'deleted';
  readonly table: string;
  readonly revision: number;
  readonly object: StoredObject;
  readonly before?: StoredObject;
};

/** The key of an object in the table of its resource. */
export const keyOf = (namespace: string | undefined, name: string): string =>
  namespace === undefined || namespace === '' ? name : `${namespace}/${name}`;

const nodeNamePath = ['spec', 'nodeName'];

function nodeNameOf(object: StoredObject): string | undefined {
  const name = valueAt(object, nodeNamePath);
  return typeof name === 'string' && name !== '' ? name : undefined;
}

/**
 * The objects of one resource, and the changes that watches can still replay. Invariant: the log is
 * sorted by revision.
 */
export class ResourceTable {
  readonly name: string;
  readonly #objects = new Map<string, StoredObject>();
  /** Keys of the objects on each node. A real API server keeps the same index of pods. */
  readonly #onNode = new Map<string, Set<string>>();
  readonly #logMax: number;
  #log: Change[] = [];
  #forgottenRevision = 0;
  #sorted: readonly string[] | undefined;

  constructor(name: string, logMax: number) {
    this.name = name;
    this.#logMax = logMax;
  }

  get(key: string): StoredObject | undefined {
    return this.#objects.get(key);
  }

  get size(): number {
    return this.#objects.size;
  }

  values(): IterableIterator<StoredObject> {
    return this.#objects.values();
  }

  /** The keys in the order of lists. */
  keys(): readonly string[] {
    return (this.#sorted ??= [...this.#objects.keys()].sort(compareText));
  }

  /** The keys of the objects whose `spec.nodeName` is this node, in the order of lists. */
  keysOnNode(nodeName: string): readonly string[] {
    return [...(this.#onNode.get(nodeName) ?? [])].sort(compareText);
  }

  record(change: Change): void {
    const key = keyOf(change.object.metadata.namespace, change.object.metadata.name);
    this.#moveToNode(key, change.kind === 'deleted' ? undefined : nodeNameOf(change.object));
    if (change.kind === 'deleted') this.#objects.delete(key);
    else this.#objects.set(key, change.object);
    if (change.kind !== 'modified') this.#sorted = undefined;
    this.#log.push(change);
    if (this.#log.length > this.#logMax * 2) this.forget(this.#log.length - this.#logMax);
  }

  #moveToNode(key: string, nodeName: string | undefined): void {
    const held = this.#objects.get(key);
    const before = held === undefined ? undefined : nodeNameOf(held);
    if (before === nodeName) return;
    if (before !== undefined) {
      const left = this.#onNode.get(before);
      left?.delete(key);
      if (left?.size === 0) this.#onNode.delete(before);
    }
    if (nodeName === undefined) return;
    this.#onNode.set(nodeName, (this.#onNode.get(nodeName) ?? new Set()).add(key));
  }

  /** Drops the oldest changes. Watches from before them must list again. */
  forget(count = this.#log.length): void {
    const last = this.#log[count - 1];
    if (last === undefined) return;
    this.#forgottenRevision = last.revision;
    this.#log = this.#log.slice(count);
  }

  /** The changes after a revision; undefined when some of them were dropped. */
  since(revision: number): readonly Change[] | undefined {
    if (revision < this.#forgottenRevision) return undefined;
    let low = 0;
    for (let high = this.#log.length; low < high;) {
      const middle = (low + high) >> 1;
      if ((this.#log[middle] as Change).revision <= revision) low = middle + 1;
      else high = middle;
    }
    return this.#log.slice(low);
  }
}
