import { conflict } from '../model/errors.js';
import { type Pod, type StoredObject, timeText } from '../model/objects.js';
import { presented, readStored } from './access.js';
import type { ResourceType } from './registry.js';
import type { StoreState } from './state.js';
import { commitUpdate } from './write.js';

/** The options of a deletion, as in DeleteOptions. */
export type RemoveOptions = {
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly gracePeriodSeconds?: number;
  readonly propagation?: 'Background' | 'Foreground' | 'Orphan';
  readonly dryRun?: boolean;
};

/** Finalizers that the garbage collector takes off. */
export const foregroundFinalizer = 'foregroundDeletion';

/** The finalizer of an object whose dependents are to stay. */
export const orphanFinalizer = 'orphan';

function guard(type: ResourceType, before: StoredObject, options: RemoveOptions): void {
  const { name, uid, resourceVersion } = before.metadata;
  if (options.uid !== undefined && options.uid !== uid)
    throw conflict(
      type,
      name,
      `Precondition failed: UID in precondition: ${options.uid}, UID in object meta: ${uid}`,
    );
  if (options.resourceVersion !== undefined && options.resourceVersion !== resourceVersion) {
    throw conflict(
      type,
      name,
      `Precondition failed: ResourceVersion in precondition: ${options.resourceVersion}, ResourceVersion in object meta: ${resourceVersion}`,
    );
  }
}

/** Only pods that a kubelet may have started end gracefully. */
function graceSecondsOf(object: StoredObject, asked: number | undefined): number {
  if (object.kind !== 'Pod') return 0;
  const pod = object as Pod;
  if (
    pod.spec.nodeName === undefined ||
    pod.spec.nodeName === '' ||
    pod.status?.phase === 'Succeeded' ||
    pod.status?.phase === 'Failed'
  )
    return 0;
  return Math.max(0, asked ?? pod.spec.terminationGracePeriodSeconds ?? 30);
}

function finalizersOf(
  object: StoredObject,
  propagation: RemoveOptions['propagation'],
): readonly string[] {
  const others = (object.metadata.finalizers ?? []).filter(
    (one) => one !== foregroundFinalizer && one !== orphanFinalizer,
  );
  if (propagation === 'Foreground') return [...others, foregroundFinalizer];
  if (propagation === 'Orphan') return [...others, orphanFinalizer];
  return propagation === undefined ? (object.metadata.finalizers ?? []) : others;
}

function marked(
  state: StoreState,
  before: StoredObject,
  graceSeconds: number,
  finalizers: readonly string[],
): StoredObject {
  const { finalizers: _old, ...metadata } = before.metadata;
  const held = finalizers.length === 0 ? metadata : { ...metadata, finalizers };
  const dueMs = state.clock.nowMs() + graceSeconds * 1000;
  const sooner =
    metadata.deletionGracePeriodSeconds === undefined ||
    graceSeconds < metadata.deletionGracePeriodSeconds;
  if (metadata.deletionTimestamp !== undefined && !sooner) return { ...before, metadata: held };
  const generation =
    metadata.generation === undefined || metadata.deletionTimestamp !== undefined
      ? {}
      : { generation: metadata.generation + 1 };
  return {
    ...before,
    metadata: {
      ...held,
      ...generation,
      deletionTimestamp: timeText(dueMs),
      deletionGracePeriodSeconds: graceSeconds,
    },
  };
}

/**
 * Deletes the object, or marks it when finalizers or a grace period hold it. Returns its last
 * state, and whether it is gone. Throws StatusError: 404, or 409 when a precondition fails.
 */
export function removeObject(
  state: StoreState,
  type: ResourceType,
  ref: { readonly namespace?: string | undefined; readonly name: string },
  options: RemoveOptions,
): { readonly object: StoredObject; readonly gone: boolean } {
  const before = readStored(state, type, ref);
  guard(type, before, options);
  const graceSeconds = graceSecondsOf(before, options.gracePeriodSeconds);
  const finalizers = finalizersOf(before, options.propagation);
  const isNamespace = type.table === 'namespaces';
  if (graceSeconds === 0 && finalizers.length === 0 && !isNamespace) {
    if (options.dryRun !== true)
      return {
        object: presented(
          type,
          state.commit({ kind: 'deleted', table: type.table, object: before, before }),
        ),
        gone: true,
      };
    return { object: presented(type, before), gone: true };
  }
  let after = marked(state, before, graceSeconds, finalizers);
  if (isNamespace) after = { ...after, status: { phase: 'Terminating' } };
  if (options.dryRun === true) return { object: presented(type, after), gone: false };
  const stored = commitUpdate(state, type, before, after);
  return {
    object: presented(type, stored),
    gone: state.table(type.table).get(ref.name) === undefined && !type.namespaced,
  };
}
