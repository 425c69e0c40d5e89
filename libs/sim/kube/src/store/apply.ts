import { conflict as conflictError, StatusError } from '../errors.js';
import { cloneJson, equalJson, isRecord, recordOf, type JsonRecord } from '../json.js';
import { timeText, type Sent, type Stored } from '../model.js';
import type { Schema } from '../schema/schema.js';
import { decode } from '../schema/decode.js';
import { addressed } from './access.js';
import { fieldsOf, mergedByFields, missingFrom, pathsOf, removedPaths, type FieldSet } from './fields.js';
import { apiVersionOf, type ResourceType } from './registry.js';
import type { KubeStore, Ref } from './store.js';
import type { WriteOptions } from './write.js';

/** Who applies, and whether fields of others are taken over. */
export type ApplyOptions = WriteOptions & { readonly manager: string; readonly force: boolean };

type Managed = { readonly manager: string; readonly operation: string; readonly fieldsV1: FieldSet; readonly subresource?: string; readonly [field: string]: unknown };

const managedOf = (object: Stored | undefined): readonly Managed[] => (object?.metadata.managedFields ?? []) as unknown as readonly Managed[];

function conflicts(type: ResourceType, name: string, clashes: readonly { readonly manager: string; readonly path: string }[]): StatusError {
  const [first] = clashes;
  const message = clashes.length === 1 && first !== undefined ? `conflict with "${first.manager}": ${first.path}` : `conflicts with ${[...new Set(clashes.map((one) => `"${one.manager}"`))].join(', ')}:\n${clashes.map((one) => `- ${one.path}`).join('\n')}`;
  return new StatusError({
    code: 409,
    reason: 'Conflict',
    message: `Apply failed with ${clashes.length} conflict${clashes.length === 1 ? '' : 's'}: ${message}`,
    details: { name, kind: type.plural, causes: clashes.map((one) => ({ reason: 'FieldManagerConflict', message: `conflict with "${one.manager}"`, field: one.path })) },
  });
}

function clashesOf(schema: Schema | undefined, before: Stored, applied: JsonRecord, others: readonly Managed[]): readonly { manager: string; path: string }[] {
  return others.flatMap((other) =>
    pathsOf(schema, applied, other.fieldsV1).filter(({ path, value }) => !equalJson(missingFrom(schema, before, path), value)).map(({ text }) => ({ manager: other.manager, path: text })));
}

/** The configuration without what says which object it is. */
function configuration(sent: Sent): JsonRecord {
  const { apiVersion: _version, kind: _kind, metadata, ...fields } = sent;
  const { name: _name, namespace: _namespace, managedFields: _managed, resourceVersion: _revision, uid: _uid, creationTimestamp: _created, ...rest } = metadata ?? {};
  return Object.keys(rest).length === 0 ? fields : { ...fields, metadata: rest };
}

/**
 * Server-side apply: the fields of the configuration are set and belong to the manager, those it no longer has are
 * removed unless somebody else applied them too. Only managers that apply are recorded. Throws 409 with each clash when
 * another manager's field would change and `force` is off.
 */
export function applyObject(store: KubeStore, type: ResourceType, target: Ref & { readonly object: Sent }, options: ApplyOptions): Stored {
  const before = store.find(type, target);
  const sent = decode(type, addressed(type, target.namespace, { ...target.object, metadata: { name: target.name, ...target.object.metadata } }), options);
  if (target.object.metadata?.resourceVersion !== undefined && before === undefined) throw conflictError(type, target.name, 'the object does not exist');
  const applied = cloneJson(configuration(sent));
  const fieldsV1 = fieldsOf(type.schema, applied);
  const isMine = (one: Managed): boolean => one.manager === options.manager && one.operation === 'Apply' && (one.subresource ?? '') === (options.subresource ?? '');
  const mine = managedOf(before).find(isMine);
  let others = managedOf(before).filter((one) => !isMine(one));
  if (before !== undefined) {
    const clashes = clashesOf(type.schema, before, applied, others);
    if (clashes.length > 0 && !options.force) throw conflicts(type, target.name, clashes);
    others = others.map((one) => ({ ...one, fieldsV1: removedPaths(one.fieldsV1, clashes.length === 0 ? {} : fieldsV1) })).filter((one) => Object.keys(one.fieldsV1).length > 0);
  }
  const time = mine !== undefined && equalJson(mine.fieldsV1, fieldsV1) ? mine['time'] : timeText(store.clock.nowMs());
  const entry: Managed = { manager: options.manager, operation: 'Apply', apiVersion: apiVersionOf(type), time, fieldsType: 'FieldsV1', fieldsV1, ...(options.subresource === undefined ? {} : { subresource: options.subresource }) };
  const managedFields = [...others, entry] as unknown as readonly JsonRecord[];
  const merged = mergedByFields(type.schema, before ?? {}, applied, { mine: mine?.fieldsV1 ?? {}, others: others.map((one) => one.fieldsV1) });
  const object = { ...merged, apiVersion: apiVersionOf(type), kind: type.kind, metadata: { ...recordOf(merged['metadata']), name: target.name, managedFields } } as Sent;
  if (before === undefined) return store.create(type, { namespace: target.namespace, object }, options);
  const resourceVersion = isRecord(target.object.metadata) ? target.object.metadata.resourceVersion : undefined;
  return store.update(type, { ...target, object: { ...object, metadata: { ...object.metadata, resourceVersion: resourceVersion ?? before.metadata.resourceVersion } } }, options);
}
