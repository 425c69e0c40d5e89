import { badRequest, forbidden, notFound, StatusError } from '../model/errors.js';
import { cloneJson } from '../model/json.js';
import type { Namespace, SentObject, StoredObject } from '../model/objects.js';
import { convertFrom, convertTo } from './convert.js';
import { apiVersionOf, type ResourceType } from './registry.js';
import type { StoreState } from './state.js';
import { keyOf } from './table.js';

/** The stored object as the version that was asked for shows it. */
export function presented(type: ResourceType, object: StoredObject): StoredObject {
  const apiVersion = apiVersionOf(type);
  return object.apiVersion === apiVersion && object.kind === type.kind
    ? object
    : convertTo(type, object, apiVersion);
}

/** A sent object in the form in which it is stored. */
export const storable = (type: ResourceType, object: SentObject): SentObject =>
  convertFrom(type, object);

/** The stored object. Throws 404 if there is none. */
export function readStored(
  state: StoreState,
  type: ResourceType,
  ref: { readonly namespace?: string | undefined; readonly name: string },
): StoredObject {
  const found = state
    .table(type.table)
    .get(keyOf(type.namespaced ? ref.namespace : undefined, ref.name));
  if (found === undefined) throw notFound(type, ref.name);
  return found;
}

/**
 * Refuses an object that was sent to the wrong address. Returns a copy with the address filled in.
 */
export function addressed(
  type: ResourceType,
  namespace: string | undefined,
  sent: SentObject,
): SentObject {
  const apiVersion = apiVersionOf(type);
  if (sent.apiVersion !== undefined && sent.apiVersion !== apiVersion) {
    throw badRequest(
      `the API version in the data (${sent.apiVersion}) does not match the expected API version (${apiVersion})`,
    );
  }
  if (sent.kind !== undefined && sent.kind !== type.kind) {
    throw badRequest(
      `${sent.kind} in version "${type.version}" cannot be handled as a ${type.kind}: no kind "${sent.kind}" is registered for version "${apiVersion}"`,
    );
  }
  const inside = sent.metadata?.namespace;
  if (type.namespaced && inside !== undefined && inside !== '' && inside !== namespace) {
    throw badRequest(
      'the namespace of the provided object does not match the namespace sent on the request',
    );
  }
  const { namespace: _dropped, ...metadata } = sent.metadata ?? {};
  return cloneJson({
    ...sent,
    apiVersion,
    kind: type.kind,
    metadata: type.namespaced && namespace !== undefined ? { ...metadata, namespace } : metadata,
  });
}

/** Throws unless the namespace of a new object exists and is not being deleted. */
export function requireNamespace(
  state: StoreState,
  type: ResourceType,
  namespace: string | undefined,
  name: string,
): void {
  if (!type.namespaced) return;
  if (namespace === undefined || namespace === '')
    throw badRequest('an empty namespace may not be set during creation');
  const namespaces = { group: '', plural: 'namespaces', kind: 'Namespace' };
  const found = state.table('namespaces').get(namespace) as Namespace | undefined;
  if (found === undefined) throw notFound(namespaces, namespace);
  if (found.metadata.deletionTimestamp === undefined) return;
  const why = `unable to create new content in namespace ${namespace} because it is being terminated`;
  const refused = forbidden(type, name, why);
  throw new StatusError({
    code: 403,
    reason: 'Forbidden',
    message: refused.message,
    details: {
      ...refused.details,
      causes: [
        {
          reason: 'NamespaceTerminating',
          message: `namespace ${namespace} is being terminated`,
          field: 'metadata.namespace',
        },
      ],
    },
  });
}
