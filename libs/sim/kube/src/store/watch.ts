import { expired } from '../model/errors.js';
import type { StoredObject } from '../model/objects.js';
import { presented } from './access.js';
import { type ObjectTest, type Selection, selectionTest } from './list.js';
import type { ResourceType } from './registry.js';
import type { StoreState } from './state.js';
import type { Change } from './table.js';

/** One message of a watch, as on the wire. */
export type WatchMessage = {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: StoredObject;
};

/**
 * A change as a watch with a selection sees it: an object that starts to match is an addition, one
 * that stops is a deletion.
 */
function seenChange(
  type: ResourceType,
  test: ObjectTest,
  change: Change,
): WatchMessage | undefined {
  const now = change.kind !== 'deleted' && test(change.object);
  const was = change.before !== undefined && test(change.before);
  if (!now && !was) return undefined;
  const object = presented(type, change.object);
  if (now) return { type: was ? 'MODIFIED' : 'ADDED', object };
  return { type: 'DELETED', object };
}

/**
 * Passes every change after `fromRevision` and then new ones to `tell`, in order, until the
 * returned function is called. Without a revision, all objects come first as additions. Throws
 * StatusError 410 when changes since then are forgotten.
 */
export function watchObjects(
  state: StoreState,
  type: ResourceType,
  query: Selection & { readonly fromRevision?: number },
  tell: (message: WatchMessage) => void,
): () => void {
  const test = selectionTest(type, query);
  const table = state.table(type.table);
  if (query.fromRevision === undefined) {
    for (const key of table.keys()) {
      const object = table.get(key) as StoredObject;
      if (test(object)) tell({ type: 'ADDED', object: presented(type, object) });
    }
  } else {
    const missed = table.since(query.fromRevision);
    if (missed === undefined)
      throw expired(`too old resource version: ${query.fromRevision} (${state.revision})`);
    for (const change of missed) {
      const message = seenChange(type, test, change);
      if (message !== undefined) tell(message);
    }
  }
  return state.subscribe((change) => {
    if (change.table !== type.table) return;
    const message = seenChange(type, test, change);
    if (message !== undefined) tell(message);
  });
}
