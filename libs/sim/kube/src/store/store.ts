import type { SimClock } from '../ambient/clock.js';
import { noSuchPath } from '../model/errors.js';
import type { SentObject, StoredObject } from '../model/objects.js';
import { initialNamespaces } from '../model/served-resources.js';
import { presented, readStored } from './access.js';
import { followDefinitions } from './custom-types.js';
import { listObjects, type ListPage, type ListQuery, type Selection } from './list.js';
import { type PatchBody, patched } from './patch.js';
import { bindPod, evictPod } from './pod-actions.js';
import type { Registry } from './registry.js';
import { type ResourceType } from './registry.js';
import { removeObject, type RemoveOptions } from './remove.js';
import { type ChangeListener, type StoreOptions, StoreState } from './state.js';
import { keyOf } from './table.js';
import { type WatchMessage, watchObjects } from './watch.js';
import { createObject, updateObject, type WriteOptions } from './write.js';

/** Names one object of a resource. */
export type Ref = { readonly namespace?: string | undefined; readonly name: string };

/**
 * The twin's API server without its HTTP: objects, their rules and their watches. Every method
 * works at once, or throws StatusError as the API server would answer. Returned objects are shared:
 * never change them in place.
 */
export class KubeStore {
  readonly state: StoreState;

  constructor(options: StoreOptions) {
    this.state = new StoreState(options);
    followDefinitions(this.state);
    const namespaces = this.type('', 'v1', 'namespaces');
    for (const name of initialNamespaces)
      this.create(namespaces, { object: { metadata: { name } } });
  }

  get clock(): SimClock {
    return this.state.clock;
  }

  get registry(): Registry {
    return this.state.registry;
  }

  /** The resource by group, version and plural; 404 when it is not served. */
  type(group: string, version: string, plural: string): ResourceType {
    const found = this.state.registry.find(group, version, plural);
    if (found === undefined) throw noSuchPath();
    return found;
  }

  /** 404 when there is none. */
  get(type: ResourceType, ref: Ref): StoredObject {
    return presented(type, readStored(this.state, type, ref));
  }

  /** Undefined when there is none. */
  find(type: ResourceType, ref: Ref): StoredObject | undefined {
    return this.state
      .table(type.table)
      .get(keyOf(type.namespaced ? ref.namespace : undefined, ref.name));
  }

  list(type: ResourceType, query: ListQuery = {}): ListPage {
    return listObjects(this.state, type, query);
  }

  watch(
    type: ResourceType,
    query: Selection & { readonly fromRevision?: number },
    tell: (message: WatchMessage) => void,
  ): () => void {
    return watchObjects(this.state, type, query, tell);
  }

  create(
    type: ResourceType,
    target: { readonly namespace?: string | undefined; readonly object: SentObject },
    options: WriteOptions = {},
  ): StoredObject {
    return createObject(this.state, type, target, options);
  }

  update(
    type: ResourceType,
    target: Ref & { readonly object: SentObject },
    options: WriteOptions = {},
  ): StoredObject {
    return updateObject(this.state, type, target, options);
  }

  /** A patch whose body names a resourceVersion is guarded by it. */
  patch(
    type: ResourceType,
    target: Ref & { readonly patch: PatchBody },
    options: WriteOptions = {},
  ): StoredObject {
    const before = this.get(type, target);
    return updateObject(
      this.state,
      type,
      { ...target, object: patched(type, before, target.patch) },
      options,
    );
  }

  delete(
    type: ResourceType,
    ref: Ref,
    options: RemoveOptions = {},
  ): { readonly object: StoredObject; readonly gone: boolean } {
    return removeObject(this.state, type, ref, options);
  }

  bind(
    pod: { readonly namespace: string; readonly name: string; readonly uid?: string | undefined },
    nodeName: string,
  ): void {
    bindPod(this.state, pod, nodeName);
  }

  evict(
    pod: { readonly namespace: string; readonly name: string },
    options: RemoveOptions = {},
  ): void {
    evictPod(this.state, pod, options);
  }

  /** Calls the listener with every change of every object, within the write. */
  subscribe(listener: ChangeListener): () => void {
    return this.state.subscribe(listener);
  }

  /** Makes earlier watches and lists answer 410, as after etcd's compaction. Tests only. */
  compact(): void {
    for (const table of this.state.registry.tables().keys()) this.state.table(table).forget();
  }
}
