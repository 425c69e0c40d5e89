import { recordOf } from '@dovetail/core-kube-model';

import { listOf } from '../model/json.js';
import type { OwnerReference, StoredObject } from '../model/objects.js';
import type { ResourceType } from '../store/registry.js';
import { foregroundFinalizer, orphanFinalizer } from '../store/remove.js';
import type { KubeStore } from '../store/store.js';
import { type Change, keyOf } from '../store/table.js';
import type { Controller, ControllerContext } from './context.js';
import { WorkQueue } from './work-queue.js';

type Located = { readonly table: string; readonly key: string };

/** Which objects name which owner, over all tables. */
class Dependents {
  readonly #byOwner = new Map<string, Map<string, Located>>();
  readonly owners = new Map<string, Located>();

  heard(change: Change): void {
    const located = {
      table: change.table,
      key: keyOf(change.object.metadata.namespace, change.object.metadata.name),
    };
    const id = `${located.table} ${located.key}`;
    for (const owner of change.before?.metadata.ownerReferences ?? [])
      this.#byOwner.get(owner.uid)?.delete(id);
    if (change.kind === 'deleted') {
      this.owners.delete(change.object.metadata.uid);
      return;
    }
    this.owners.set(change.object.metadata.uid, located);
    for (const owner of change.object.metadata.ownerReferences ?? []) {
      const bucket = this.#byOwner.get(owner.uid) ?? new Map<string, Located>();
      this.#byOwner.set(owner.uid, bucket.set(id, located));
    }
  }

  of(uid: string): readonly Located[] {
    return [...(this.#byOwner.get(uid)?.values() ?? [])];
  }
}

type Setup = ControllerContext & { readonly dependents: Dependents; readonly queue: WorkQueue };

const idOf = (located: Located): string => `${located.table} ${located.key}`;

/** Deletes objects whose owners are gone, and finishes foreground and orphaning deletions. */
export function garbageCollector(context: ControllerContext): Controller {
  const { store } = context;
  const dependents = new Dependents();
  const queue: WorkQueue = new WorkQueue({
    clock: store.clock,
    work: (id) => collect({ ...context, dependents, queue }, id),
    onError: (id, error) => context.onError('garbage-collector', id, error),
  });
  for (const table of store.registry.tables().keys()) {
    for (const object of store.state.table(table).values()) {
      dependents.heard({ kind: 'added', table, revision: 0, object });
      if (
        (object.metadata.ownerReferences ?? []).length > 0 ||
        object.metadata.deletionTimestamp !== undefined
      )
        queue.add(`${table} ${keyOf(object.metadata.namespace, object.metadata.name)}`);
    }
  }
  return { stop: () => queue.stop(), heard: (change) => heard(queue, dependents, change) };
}

function heard(queue: WorkQueue, dependents: Dependents, change: Change): void {
  const { metadata } = change.object;
  dependents.heard(change);
  const owners = metadata.ownerReferences ?? [];
  if (change.kind === 'deleted') {
    for (const located of dependents.of(metadata.uid)) queue.add(idOf(located));
    for (const owner of owners) {
      const located = dependents.owners.get(owner.uid);
      if (located !== undefined) queue.add(idOf(located));
    }
    return;
  }
  if (change.kind === 'added' && owners.length === 0) return;
  if (
    change.kind === 'added' ||
    metadata.deletionTimestamp !== undefined ||
    change.before?.metadata.ownerReferences !== metadata.ownerReferences
  )
    queue.add(`${change.table} ${keyOf(metadata.namespace, metadata.name)}`);
}

function typeOfTable(store: KubeStore, table: string): ResourceType | undefined {
  return store.registry.tables().get(table);
}

function collect(setup: Setup, id: string): void {
  const [table = '', key = ''] = id.split(' ');
  const { store } = setup;
  const object = store.state.table(table).get(key);
  const type = typeOfTable(store, table);
  if (object === undefined || type === undefined) return;
  const finalizers = object.metadata.finalizers ?? [];
  if (object.metadata.deletionTimestamp !== undefined) {
    if (finalizers.includes(orphanFinalizer)) return orphan(setup, type, object);
    if (finalizers.includes(foregroundFinalizer)) return foreground(setup, type, object);
    return;
  }
  const owners = object.metadata.ownerReferences ?? [];
  if (owners.length === 0 || owners.some((owner) => isAlive(setup, object, owner))) return;
  store.delete(type, object.metadata, { uid: object.metadata.uid, propagation: 'Background' });
}

/** True when the owner exists, is in reach, and does not wait for this dependent to go. */
function isAlive(setup: Setup, object: StoredObject, owner: OwnerReference): boolean {
  const located = setup.dependents.owners.get(owner.uid);
  const found =
    located === undefined ? undefined : setup.store.state.table(located.table).get(located.key);
  if (found === undefined) return false;
  const inReach =
    found.metadata.namespace === undefined ||
    found.metadata.namespace === object.metadata.namespace;
  const waits =
    found.metadata.deletionTimestamp !== undefined &&
    (found.metadata.finalizers ?? []).includes(foregroundFinalizer);
  return inReach && !waits;
}

function dropFinalizer(
  store: KubeStore,
  type: ResourceType,
  object: StoredObject,
  finalizer: string,
): void {
  store.patch(type, {
    ...object.metadata,
    patch: {
      type: 'merge',
      body: {
        metadata: {
          finalizers: (object.metadata.finalizers ?? []).filter((one) => one !== finalizer),
        },
      },
    },
  });
}

function orphan(setup: Setup, type: ResourceType, object: StoredObject): void {
  const { store } = setup;
  for (const located of setup.dependents.of(object.metadata.uid)) {
    const dependent = store.state.table(located.table).get(located.key);
    const dependentType = typeOfTable(store, located.table);
    if (dependent === undefined || dependentType === undefined) continue;
    const ownerReferences = (dependent.metadata.ownerReferences ?? []).filter(
      (owner) => owner.uid !== object.metadata.uid,
    );
    store.patch(dependentType, {
      ...dependent.metadata,
      patch: { type: 'merge', body: { metadata: { ownerReferences } } },
    });
  }
  dropFinalizer(store, type, object, orphanFinalizer);
}

function foreground(setup: Setup, type: ResourceType, object: StoredObject): void {
  const { store, dependents } = setup;
  const waiting = dependents.of(object.metadata.uid).filter((located) => {
    const dependent = store.state.table(located.table).get(located.key);
    return (
      dependent?.metadata.ownerReferences?.some(
        (owner) => owner.uid === object.metadata.uid && owner.blockOwnerDeletion === true,
      ) === true
    );
  });
  if (waiting.length === 0) return dropFinalizer(store, type, object, foregroundFinalizer);
  for (const located of waiting) {
    const dependent = store.state.table(located.table).get(located.key);
    const dependentType = typeOfTable(store, located.table);
    if (
      dependent === undefined ||
      dependentType === undefined ||
      dependent.metadata.deletionTimestamp !== undefined
    )
      continue;
    store.delete(dependentType, dependent.metadata, {
      uid: dependent.metadata.uid,
      propagation: 'Foreground',
    });
  }
}

/** Empties namespaces that are being deleted, then lets them go. */
export function namespaceController(context: ControllerContext): Controller {
  const { store } = context;
  const queue: WorkQueue = new WorkQueue({
    clock: store.clock,
    work: (name) => empty(store, queue, name),
    onError: (name, error) => context.onError('namespace-controller', name, error),
  });
  for (const name of store.state.table('namespaces').keys()) queue.add(name);
  return {
    stop: () => queue.stop(),
    heard: (change) => {
      if (change.table === 'namespaces' && change.kind !== 'deleted')
        queue.add(change.object.metadata.name);
      else if (change.kind === 'deleted' && change.object.metadata.namespace !== undefined)
        queue.add(change.object.metadata.namespace);
    },
  };
}

function empty(store: KubeStore, queue: WorkQueue, name: string): void {
  const namespace = store.state.table('namespaces').get(name);
  if (namespace?.metadata.deletionTimestamp === undefined) return;
  let left = 0;
  for (const type of store.registry.tables().values()) {
    if (!type.namespaced) continue;
    for (const object of [...store.state.table(type.table).values()]) {
      if (object.metadata.namespace !== name) continue;
      if (object.metadata.deletionTimestamp === undefined)
        store.delete(type, object.metadata, {
          uid: object.metadata.uid,
          propagation: 'Background',
        });
      if (store.find(type, object.metadata) !== undefined) left += 1;
    }
  }
  if (left > 0) return queue.addAfter(name, 1000);
  if (listOf(recordOf(namespace['spec'])['finalizers']).length === 0) return;
  const after = { ...namespace, spec: {} };
  const stored = store.state.commit({
    kind: 'modified',
    table: 'namespaces',
    object: after,
    before: namespace,
  });
  if ((stored.metadata.finalizers ?? []).length === 0)
    store.state.commit({ kind: 'deleted', table: 'namespaces', object: stored, before: stored });
}
