import { type Raw, recordOf } from '@dovetail/core-kube-model';

import { conflict as conflictError, StatusError } from '../model/errors.js';
import { cloneJson, equalJson } from '../model/json.js';
import { type SentObject, type StoredObject, timeText } from '../model/objects.js';
import { decode } from '../schema/decode.js';
import type { Schema } from '../schema/schema.js';
import { addressed, presented } from './access.js';
import {
  type FieldSet,
  fieldsOf,
  mergedByFields,
  missingFrom,
  pathsOf,
  removedPaths,
} from './fields.js';
import { apiVersionOf, type ResourceType } from './registry.js';
import type { KubeStore, Ref } from './store.js';
import type { WriteOptions } from './write.js';

/** `manager` owns the fields that are applied; `force` takes over fields of other managers. */
export type ApplyOptions = WriteOptions & { readonly manager: string; readonly force: boolean };

/** One entry of metadata.managedFields. */
type Managed = {
  readonly manager: string;
  readonly operation: string;
  readonly fieldsV1: FieldSet;
  readonly subresource?: string;
  readonly [field: string]: unknown;
};

const managedOf = (object: StoredObject | undefined): readonly Managed[] =>
  (object?.metadata.managedFields ?? []) as unknown as readonly Managed[];

function conflicts(
  type: ResourceType,
  name: string,
  clashes: readonly { readonly manager: string; readonly path: string }[],
): StatusError {
  const [first] = clashes;
  const message =
    clashes.length === 1 && first !== undefined
      ? `conflict with "${first.manager}": ${first.path}`
      : `conflicts with ${[...new Set(clashes.map((one) => `"${one.manager}"`))].join(', ')}:\n${clashes.map((one) => `- ${one.path}`).join('\n')}`;
  return new StatusError({
    code: 409,
    reason: 'Conflict',
    message: `Apply failed with ${clashes.length} conflict${clashes.length === 1 ? '' : 's'}: ${message}`,
    details: {
      name,
      kind: type.plural,
      causes: clashes.map((one) => ({
        reason: 'FieldManagerConflict',
        message: `conflict with "${one.manager}"`,
        field: one.path,
      })),
    },
  });
}

function clashesOf(
  schema: Schema | undefined,
  before: StoredObject,
  applied: Raw,
  others: readonly Managed[],
): readonly { manager: string; path: string }[] {
  return others.flatMap((other) =>
    pathsOf(schema, applied, other.fieldsV1)
      .filter(({ path, value }) => !equalJson(missingFrom(schema, before, path), value))
      .map(({ text }) => ({ manager: other.manager, path: text })),
  );
}

/** The configuration without the fields that identify the object. */
function configuration(sent: SentObject): Raw {
  const { apiVersion: _version, kind: _kind, metadata, ...fields } = sent;
  const {
    name: _name,
    namespace: _namespace,
    managedFields: _managed,
    resourceVersion: _revision,
    uid: _uid,
    creationTimestamp: _created,
    ...rest
  } = metadata ?? {};
  return Object.keys(rest).length === 0 ? fields : { ...fields, metadata: rest };
}

/** The objects of one apply: what was there, what is asked for, and who owns which fields. */
type Apply = {
  readonly type: ResourceType;
  readonly before: StoredObject | undefined;
  readonly applied: Raw;
  readonly fieldsV1: FieldSet;
  readonly mine: Managed | undefined;
  readonly others: readonly Managed[];
};

function configurationSent(
  type: ResourceType,
  target: Ref & { readonly object: SentObject },
  options: ApplyOptions,
): Raw {
  const metadata = { name: target.name, ...target.object.metadata };
  const sent = addressed(type, target.namespace, { ...target.object, metadata });
  return cloneJson(configuration(decode(type, sent, options)));
}

/** The fields of other managers after this apply takes over those that it sets differently. */
function othersAfter(
  { type, before, applied, fieldsV1, others }: Apply,
  name: string,
  force: boolean,
): readonly Managed[] {
  if (before === undefined) return others;
  const clashes = clashesOf(type.schema, before, applied, others);
  if (clashes.length > 0 && !force) throw conflicts(type, name, clashes);
  const taken = clashes.length === 0 ? {} : fieldsV1;
  return others
    .map((one) => ({ ...one, fieldsV1: removedPaths(one.fieldsV1, taken) }))
    .filter((one) => Object.keys(one.fieldsV1).length > 0);
}

/** The manager's own entry. Its time moves only when its set of fields changes. */
function ownEntry({ type, mine, fieldsV1 }: Apply, options: ApplyOptions, nowMs: number): Managed {
  const unchanged = mine !== undefined && equalJson(mine.fieldsV1, fieldsV1);
  return {
    manager: options.manager,
    operation: 'Apply',
    apiVersion: apiVersionOf(type),
    time: unchanged ? mine['time'] : timeText(nowMs),
    fieldsType: 'FieldsV1',
    fieldsV1,
    ...(options.subresource === undefined ? {} : { subresource: options.subresource }),
  };
}

/** The object after the apply, ready to be written. */
function appliedObject(
  apply: Apply,
  name: string,
  options: ApplyOptions,
  nowMs: number,
): SentObject {
  const { type, before, applied, mine } = apply;
  const others = othersAfter(apply, name, options.force);
  const managedFields = [...others, ownEntry(apply, options, nowMs)];
  const merged = mergedByFields(type.schema, before ?? {}, applied, {
    mine: mine?.fieldsV1 ?? {},
    others: others.map((one) => one.fieldsV1),
  });
  return {
    ...merged,
    apiVersion: apiVersionOf(type),
    kind: type.kind,
    metadata: { ...recordOf(merged['metadata']), name, managedFields },
  };
}

/**
 * Server-side apply: sets the fields of the configuration and gives them to the manager. Removes
 * the fields that the manager's last configuration had and this one has not, unless another manager
 * applied them too. Records only managers that apply. Throws 409 with each clash when another
 * manager's field would change and `force` is off.
 */
export function applyObject(
  store: KubeStore,
  type: ResourceType,
  target: Ref & { readonly object: SentObject },
  options: ApplyOptions,
): StoredObject {
  const stored = store.find(type, target);
  // Fields are owned in the version in which they are applied.
  const before = stored === undefined ? undefined : presented(type, stored);
  const applied = configurationSent(type, target, options);
  const guard = target.object.metadata?.resourceVersion;
  if (guard !== undefined && before === undefined)
    throw conflictError(type, target.name, 'the object does not exist');
  const isMine = (one: Managed): boolean =>
    one.manager === options.manager &&
    one.operation === 'Apply' &&
    (one.subresource ?? '') === (options.subresource ?? '');
  const apply: Apply = {
    type,
    before,
    applied,
    fieldsV1: fieldsOf(type.schema, applied),
    mine: managedOf(before).find(isMine),
    others: managedOf(before).filter((one) => !isMine(one)),
  };
  const object = appliedObject(apply, target.name, options, store.clock.nowMs());
  if (before === undefined)
    return store.create(type, { namespace: target.namespace, object }, options);
  const resourceVersion = guard ?? before.metadata.resourceVersion;
  const guarded = { ...object, metadata: { ...object.metadata, resourceVersion } };
  return store.update(type, { ...target, object: guarded }, options);
}
