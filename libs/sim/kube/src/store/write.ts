import { recordOf } from '@dovetail/core-kube-model';

import { nameSuffix, uuidFrom } from '../ambient/random.js';
import {
  alreadyExists,
  conflict,
  type FieldError,
  forbiddenValue,
  invalid,
  invalidValue,
  modifiedMeanwhile,
  StatusError,
} from '../model/errors.js';
import { equalJson } from '../model/json.js';
import { type ObjectMeta, type SentObject, type StoredObject, timeText } from '../model/objects.js';
import { checkCustom, customDefaults } from '../schema/custom.js';
import { decode } from '../schema/decode.js';
import { addressed, presented, readStored, requireNamespace, storable } from './access.js';
import { metadataErrors } from './metadata.js';
import type { ResourceType } from './registry.js';
import type { StoreState } from './state.js';
import { keyOf } from './table.js';

/** The options of a write. */
export type WriteOptions = {
  /** Checks everything and stores nothing. */
  readonly dryRun?: boolean;
  /** Fields that the kind does not have are refused, named in a warning, or dropped. */
  readonly fieldValidation?: 'Strict' | 'Warn' | 'Ignore';
  readonly warn?: (message: string) => void;
  readonly subresource?: 'status' | 'scale';
};

type Place = { readonly namespace?: string | undefined; readonly name: string };

function freshMetadata(state: StoreState, sent: SentObject): ObjectMeta {
  const {
    name,
    generateName,
    deletionTimestamp: _deletion,
    deletionGracePeriodSeconds: _grace,
    generation: _generation,
    managedFields,
    ...rest
  } = sent.metadata ?? {};
  const chosen =
    name !== undefined && name !== ''
      ? name
      : generateName !== undefined && generateName !== ''
        ? `${generateName.slice(0, 58)}${nameSuffix(state.random)}`
        : '';
  const random = {
    uid: uuidFrom(state.random),
    resourceVersion: '',
    creationTimestamp: timeText(state.clock.nowMs()),
  };
  const kept = managedFields === undefined ? {} : { managedFields };
  return {
    name: chosen,
    ...(generateName === undefined ? {} : { generateName }),
    ...rest,
    ...random,
    ...kept,
  };
}

/** The errors by the kind's own rules, its metadata's rules and its custom schema. */
function errorsOf(
  state: StoreState,
  type: ResourceType,
  object: StoredObject,
  before: StoredObject | undefined,
): readonly FieldError[] {
  const strategy = state.strategyOf(type);
  const errors = [...metadataErrors(object, strategy.names)];
  if (type.custom) errors.push(...checkCustom(type, object, before));
  return [...errors, ...(strategy.validate?.(object, before) ?? [])];
}

/** Creates the object, or throws StatusError: 400, 403, 404, 409 or 422 as the API server would. */
export function createObject(
  state: StoreState,
  type: ResourceType,
  target: { readonly namespace?: string | undefined; readonly object: SentObject },
  options: WriteOptions,
): StoredObject {
  const strategy = state.strategyOf(type);
  const sent = storable(
    type,
    decode(type, addressed(type, target.namespace, target.object), options),
  );
  const metadata = freshMetadata(state, sent);
  requireNamespace(state, type, target.namespace, metadata.name);
  const { status, ...rest } = { ...sent, metadata } as StoredObject;
  const dropsStatus = type.subresources.includes('status') && strategy.statusOnCreate !== true;
  let object = dropsStatus || status === undefined ? rest : { ...rest, status };
  if (type.generation || type.custom)
    object = { ...object, metadata: { ...object.metadata, generation: 1 } };
  if (type.custom) object = customDefaults(type, object);
  object = strategy.defaults?.(object) ?? object;
  object = strategy.prepareCreate?.(object, state) ?? object;
  const errors = errorsOf(state, type, object, undefined);
  if (errors.length > 0) throw invalid(type, metadata.name, errors);
  if (state.table(type.table).get(keyOf(metadata.namespace, metadata.name)) !== undefined)
    throw alreadyExists(type, metadata.name);
  strategy.admit?.(object, state);
  if (options.dryRun === true) return presented(type, object);
  return presented(type, state.commit({ kind: 'added', table: type.table, object }));
}

function guardUpdate(type: ResourceType, before: StoredObject, sent: SentObject): void {
  const name = before.metadata.name;
  const { resourceVersion, uid } = sent.metadata ?? {};
  if (uid !== undefined && uid !== '' && uid !== before.metadata.uid) {
    throw conflict(
      type,
      name,
      `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${before.metadata.uid}`,
    );
  }
  if (
    resourceVersion !== undefined &&
    resourceVersion !== '' &&
    resourceVersion !== before.metadata.resourceVersion
  )
    throw conflict(type, name, modifiedMeanwhile);
}

function mergedMetadata(before: ObjectMeta, sent: Partial<ObjectMeta>): ObjectMeta {
  const {
    name,
    namespace,
    uid,
    resourceVersion,
    creationTimestamp,
    generation,
    generateName,
    deletionTimestamp,
    deletionGracePeriodSeconds,
  } = before;
  const fixed = {
    name,
    namespace,
    uid,
    resourceVersion,
    creationTimestamp,
    generation,
    generateName,
    deletionTimestamp,
    deletionGracePeriodSeconds,
  };
  const given = Object.entries({ ...sent, ...fixed }).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as unknown as ObjectMeta;
}

/**
 * The new object within the limits of the subresource: a status write changes only the status, and
 * other writes keep it.
 */
function mergedObject(
  type: ResourceType,
  before: StoredObject,
  sent: SentObject,
  subresource: WriteOptions['subresource'],
): StoredObject {
  if (subresource === 'status') {
    const metadata = type.custom
      ? {
          ...before.metadata,
          ...(sent.metadata?.managedFields === undefined
            ? {}
            : { managedFields: sent.metadata.managedFields }),
        }
      : mergedMetadata(before.metadata, {
          ...sent.metadata,
          ...(before.metadata.ownerReferences === undefined
            ? {}
            : { ownerReferences: before.metadata.ownerReferences }),
        });
    return { ...before, metadata, status: sent['status'] };
  }
  const object = {
    ...sent,
    metadata: mergedMetadata(before.metadata, sent.metadata ?? {}),
  } as StoredObject;
  if (!type.subresources.includes('status')) return object;
  const { status: _ignored, ...rest } = object;
  return before['status'] === undefined ? rest : { ...rest, status: before['status'] };
}

const withoutStatus = (object: StoredObject): object => ({
  ...recordOf(object),
  metadata: undefined,
  status: undefined,
});

function generationOf(type: ResourceType, before: StoredObject, after: StoredObject): StoredObject {
  if (!type.generation && !type.custom) return after;
  const same =
    type.custom && !type.subresources.includes('status')
      ? equalJson({ ...before, metadata: undefined }, { ...after, metadata: undefined })
      : equalJson(withoutStatus(before), withoutStatus(after));
  return same
    ? after
    : {
        ...after,
        metadata: { ...after.metadata, generation: (before.metadata.generation ?? 0) + 1 },
      };
}

function finalizerErrors(before: StoredObject, after: StoredObject): readonly FieldError[] {
  if (before.metadata.deletionTimestamp === undefined) return [];
  const known = before.metadata.finalizers ?? [];
  const added = (after.metadata.finalizers ?? []).filter((finalizer) => !known.includes(finalizer));
  if (added.length === 0) return [];
  return [
    forbiddenValue(
      'metadata.finalizers',
      `no new finalizers can be added if the object is being deleted, found new finalizers []string{${added.map((item) => JSON.stringify(item)).join(', ')}}`,
    ),
  ];
}

/** True when no finalizer and no grace period holds a deleted object any more. */
function isFinished(object: StoredObject): boolean {
  const { deletionTimestamp, finalizers, deletionGracePeriodSeconds } = object.metadata;
  if (deletionTimestamp === undefined || (finalizers ?? []).length > 0) return false;
  const own = recordOf(object['spec'])['finalizers'];
  if (object.kind === 'Namespace' && Array.isArray(own) && own.length > 0) return false;
  return (deletionGracePeriodSeconds ?? 0) === 0;
}

/** Stores a decided change. Unchanged objects keep their resourceVersion. */
export function commitUpdate(
  state: StoreState,
  type: ResourceType,
  before: StoredObject,
  after: StoredObject,
): StoredObject {
  if (equalJson(before, after)) return before;
  const changed = state.commit({ kind: 'modified', table: type.table, object: after, before });
  return isFinished(changed)
    ? state.commit({ kind: 'deleted', table: type.table, object: changed, before: changed })
    : changed;
}

/** Replaces the object, or throws StatusError: 400, 404, 409 or 422 as the API server would. */
export function updateObject(
  state: StoreState,
  type: ResourceType,
  target: Place & { readonly object: SentObject },
  options: WriteOptions,
): StoredObject {
  const before = readStored(state, type, target);
  const bodyName = target.object.metadata?.name;
  if (bodyName !== undefined && bodyName !== target.name) {
    throw new StatusError({
      code: 400,
      reason: 'BadRequest',
      message: `the name of the object (${bodyName}) does not match the name on the URL (${target.name})`,
    });
  }
  const sent = storable(
    type,
    decode(type, addressed(type, target.namespace, target.object), options),
  );
  guardUpdate(type, before, sent);
  const strategy = state.strategyOf(type);
  let after = mergedObject(type, before, sent, options.subresource);
  if (type.custom) after = customDefaults(type, after);
  if (options.subresource !== 'status') {
    after = strategy.defaults?.(after) ?? after;
    after = strategy.prepareUpdate?.(after, before) ?? after;
    after = generationOf(type, before, after);
  }
  const errors = [...finalizerErrors(before, after), ...errorsOf(state, type, after, before)];
  if (type.custom && (sent.metadata?.resourceVersion ?? '') === '')
    errors.unshift(invalidValue('metadata.resourceVersion', 0, 'must be specified for an update'));
  if (errors.length > 0) throw invalid(type, target.name, errors);
  return presented(
    type,
    options.dryRun === true ? after : commitUpdate(state, type, before, after),
  );
}
