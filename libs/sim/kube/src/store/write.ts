import { alreadyExists, conflict, forbiddenValue, invalid, invalidValue, modifiedMeanwhile, StatusError, type FieldError } from '../errors.js';
import { equalJson, recordOf } from '../json.js';
import { timeText, type ObjectMeta, type Sent, type Stored } from '../model.js';
import { nameSuffix, uuidFrom } from '../random.js';
import { checkCustom, customDefaults } from '../schema/custom.js';
import { decode } from '../schema/decode.js';
import { metadataErrors } from '../strategies/metadata.js';
import { strategyOf } from '../strategies/strategies.js';
import { addressed, presented, readStored, requireNamespace, storable } from './access.js';
import type { ResourceType } from './registry.js';
import type { StoreState } from './state.js';
import { keyOf } from './table.js';

/** How a write is to be done. */
export type WriteOptions = {
  /** Everything but the storing. */
  readonly dryRun?: boolean;
  /** What happens to fields that the kind does not have: refused, named in a warning, or dropped. */
  readonly fieldValidation?: 'Strict' | 'Warn' | 'Ignore';
  readonly warn?: (message: string) => void;
  readonly subresource?: 'status' | 'scale';
};

type Place = { readonly namespace?: string | undefined; readonly name: string };

function freshMetadata(state: StoreState, sent: Sent): ObjectMeta {
  const { name, generateName, deletionTimestamp: _deletion, deletionGracePeriodSeconds: _grace, generation: _generation, managedFields, ...rest } = sent.metadata ?? {};
  const chosen = name !== undefined && name !== '' ? name : generateName !== undefined && generateName !== '' ? `${generateName.slice(0, 58)}${nameSuffix(state.random)}` : '';
  const random = { uid: uuidFrom(state.random), resourceVersion: '', creationTimestamp: timeText(state.clock.nowMs()) };
  const kept = managedFields === undefined ? {} : { managedFields };
  return { name: chosen, ...(generateName === undefined ? {} : { generateName }), ...rest, ...random, ...kept };
}

/** The complaints of the kind's own rules, its metadata's and its custom schema's. */
function errorsOf(type: ResourceType, object: Stored, before: Stored | undefined): readonly FieldError[] {
  const strategy = strategyOf(type);
  const errors = [...metadataErrors(object, strategy.names)];
  if (type.custom) errors.push(...checkCustom(type, object, before));
  return [...errors, ...(strategy.validate?.(object, before) ?? [])];
}

/** Creates the object, or throws StatusError: 400, 403, 404, 409 or 422 as the API server would. */
export function createObject(state: StoreState, type: ResourceType, target: { readonly namespace?: string | undefined; readonly object: Sent }, options: WriteOptions): Stored {
  const strategy = strategyOf(type);
  const sent = storable(type, decode(type, addressed(type, target.namespace, target.object), options));
  const metadata = freshMetadata(state, sent);
  requireNamespace(state, type, target.namespace, metadata.name);
  const { status, ...rest } = { ...sent, metadata } as Stored;
  const dropsStatus = type.subresources.includes('status') && strategy.statusOnCreate !== true;
  let object = (dropsStatus || status === undefined ? rest : { ...rest, status });
  if (type.generation || type.custom) object = { ...object, metadata: { ...object.metadata, generation: 1 } };
  if (type.custom) object = customDefaults(type, object);
  object = strategy.defaults?.(object) ?? object;
  object = strategy.prepareCreate?.(object, state) ?? object;
  const errors = errorsOf(type, object, undefined);
  if (errors.length > 0) throw invalid(type, metadata.name, errors);
  if (state.table(type.table).get(keyOf(metadata.namespace, metadata.name)) !== undefined) throw alreadyExists(type, metadata.name);
  strategy.admit?.(object, state);
  if (options.dryRun === true) return presented(type, object);
  return presented(type, state.commit({ kind: 'added', table: type.table, object }));
}

function guardUpdate(type: ResourceType, before: Stored, sent: Sent): void {
  const name = before.metadata.name;
  const { resourceVersion, uid } = sent.metadata ?? {};
  if (uid !== undefined && uid !== '' && uid !== before.metadata.uid) {
    throw conflict(type, name, `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${before.metadata.uid}`);
  }
  if (resourceVersion !== undefined && resourceVersion !== '' && resourceVersion !== before.metadata.resourceVersion) throw conflict(type, name, modifiedMeanwhile);
}

function mergedMetadata(before: ObjectMeta, sent: Partial<ObjectMeta>): ObjectMeta {
  const { name, namespace, uid, resourceVersion, creationTimestamp, generation, generateName, deletionTimestamp, deletionGracePeriodSeconds } = before;
  const fixed = { name, namespace, uid, resourceVersion, creationTimestamp, generation, generateName, deletionTimestamp, deletionGracePeriodSeconds };
  const given = Object.entries({ ...sent, ...fixed }).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as unknown as ObjectMeta;
}

/** The new object as the subresource allows it: the status leaves the rest alone, and the rest the status. */
function mergedObject(type: ResourceType, before: Stored, sent: Sent, subresource: WriteOptions['subresource']): Stored {
  if (subresource === 'status') {
    const metadata = type.custom ? { ...before.metadata, ...(sent.metadata?.managedFields === undefined ? {} : { managedFields: sent.metadata.managedFields }) } : mergedMetadata(before.metadata, { ...sent.metadata, ...(before.metadata.ownerReferences === undefined ? {} : { ownerReferences: before.metadata.ownerReferences }) });
    return { ...before, metadata, status: sent['status'] };
  }
  const object = { ...sent, metadata: mergedMetadata(before.metadata, sent.metadata ?? {}) } as Stored;
  if (!type.subresources.includes('status')) return object;
  const { status: _ignored, ...rest } = object;
  return (before['status'] === undefined ? rest : { ...rest, status: before['status'] });
}

const withoutStatus = (object: Stored): object => ({ ...recordOf(object), metadata: undefined, status: undefined });

function generationOf(type: ResourceType, before: Stored, after: Stored): Stored {
  if (!type.generation && !type.custom) return after;
  const same = type.custom && !type.subresources.includes('status') ? equalJson({ ...before, metadata: undefined }, { ...after, metadata: undefined }) : equalJson(withoutStatus(before), withoutStatus(after));
  return same ? after : { ...after, metadata: { ...after.metadata, generation: (before.metadata.generation ?? 0) + 1 } };
}

function finalizerErrors(before: Stored, after: Stored): readonly FieldError[] {
  if (before.metadata.deletionTimestamp === undefined) return [];
  const known = before.metadata.finalizers ?? [];
  const added = (after.metadata.finalizers ?? []).filter((finalizer) => !known.includes(finalizer));
  if (added.length === 0) return [];
  return [forbiddenValue('metadata.finalizers', `no new finalizers can be added if the object is being deleted, found new finalizers []string{${added.map((item) => JSON.stringify(item)).join(', ')}}`)];
}

/** Whether nothing holds a deleted object any more. */
export function isFinished(object: Stored): boolean {
  const { deletionTimestamp, finalizers, deletionGracePeriodSeconds } = object.metadata;
  if (deletionTimestamp === undefined || (finalizers ?? []).length > 0) return false;
  const own = recordOf(object['spec'])['finalizers'];
  if (object.kind === 'Namespace' && Array.isArray(own) && own.length > 0) return false;
  return (deletionGracePeriodSeconds ?? 0) === 0;
}

/** Stores a change that was already decided on; unchanged objects keep their resourceVersion. */
export function commitUpdate(state: StoreState, type: ResourceType, before: Stored, after: Stored): Stored {
  if (equalJson(before, after)) return before;
  const changed = state.commit({ kind: 'modified', table: type.table, object: after, before });
  return isFinished(changed) ? state.commit({ kind: 'deleted', table: type.table, object: changed, before: changed }) : changed;
}

/** Replaces the object, or throws StatusError: 400, 404, 409 or 422 as the API server would. */
export function updateObject(state: StoreState, type: ResourceType, target: Place & { readonly object: Sent }, options: WriteOptions): Stored {
  const before = readStored(state, type, target);
  const bodyName = target.object.metadata?.name;
  if (bodyName !== undefined && bodyName !== target.name) {
    throw new StatusError({ code: 400, reason: 'BadRequest', message: `the name of the object (${bodyName}) does not match the name on the URL (${target.name})` });
  }
  const sent = storable(type, decode(type, addressed(type, target.namespace, target.object), options));
  guardUpdate(type, before, sent);
  const strategy = strategyOf(type);
  let after = mergedObject(type, before, sent, options.subresource);
  if (type.custom) after = customDefaults(type, after);
  if (options.subresource !== 'status') {
    after = strategy.defaults?.(after) ?? after;
    after = strategy.prepareUpdate?.(after, before) ?? after;
    after = generationOf(type, before, after);
  }
  const errors = [...finalizerErrors(before, after), ...errorsOf(type, after, before)];
  if (type.custom && (sent.metadata?.resourceVersion ?? '') === '') errors.unshift(invalidValue('metadata.resourceVersion', 0, 'must be specified for an update'));
  if (errors.length > 0) throw invalid(type, target.name, errors);
  return presented(type, options.dryRun === true ? after : commitUpdate(state, type, before, after));
}
