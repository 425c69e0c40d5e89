import { lookUp } from '@dovetail/core-invariant';
import { recordOf } from '@dovetail/core-kube-model';

import { badRequest, methodNotAllowed, noSuchPath, StatusError } from '../model/errors.js';
import type { SentObject } from '../model/objects.js';
import { applyObject } from '../store/apply.js';
import type { ListPage, Selection } from '../store/list.js';
import type { PatchBody } from '../store/patch.js';
import { apiVersionOf, type ResourceType } from '../store/registry.js';
import type { Ref } from '../store/store.js';
import type { WriteOptions } from '../store/write.js';
import {
  answer,
  answerObject,
  bodyOf,
  type Exchange,
  includeOf,
  metadataOnly,
  objectBody,
  shapeOf,
  textOfObject,
} from './exchange.js';
import { removeOptions, writeOptions } from './options.js';
import type { Target } from './request.js';
import { serveBinding, serveEviction, serveScale } from './subresources.js';
import { tableOf } from './tables/table.js';
import { streamWatch } from './watch-stream.js';

type ResourceTarget = Target & { readonly kind: 'resource' };

function selectionOf(exchange: Exchange, target: ResourceTarget): Selection {
  const { query } = exchange;
  const byName = target.name === undefined ? undefined : `metadata.name=${target.name}`;
  const fields = [byName, query.get('fieldSelector') ?? undefined]
    .filter((part) => part !== undefined && part !== '')
    .join(',');
  return {
    namespace: target.namespace,
    labelSelector: query.get('labelSelector') ?? undefined,
    fieldSelector: fields === '' ? undefined : fields,
  };
}

const listMetadata = (page: ListPage): object => ({
  resourceVersion: page.resourceVersion,
  ...(page.continueToken === undefined ? {} : { continue: page.continueToken }),
  ...(page.remaining === undefined ? {} : { remainingItemCount: page.remaining }),
});

function answerList(exchange: Exchange, type: ResourceType, page: ListPage): void {
  const metadata = listMetadata(page);
  switch (shapeOf(exchange)) {
    case 'table':
      return answer(
        exchange,
        200,
        tableOf(type, page.items, {
          metadata,
          nowMs: exchange.store.clock.nowMs(),
          include: includeOf(exchange),
          headers: true,
        }),
      );
    case 'metadata':
      return answer(exchange, 200, {
        kind: 'PartialObjectMetadataList',
        apiVersion: 'meta.k8s.io/v1',
        metadata,
        items: page.items.map(metadataOnly),
      });
    case 'object': {
      const head = JSON.stringify({
        kind: type.listKind,
        apiVersion: apiVersionOf(type),
        metadata,
      }).slice(0, -1);
      return answer(exchange, 200, `${head},"items":[${page.items.map(textOfObject).join(',')}]}`);
    }
  }
}

function serveList(exchange: Exchange, type: ResourceType, target: ResourceTarget): void {
  const { query, store } = exchange;
  const selection = selectionOf(exchange, target);
  if (query.get('watch') === 'true' || query.get('watch') === '1')
    return streamWatch(exchange, type, selection);
  const limit = Number(query.get('limit') ?? 0);
  const continueToken = query.get('continue') ?? undefined;
  answerList(
    exchange,
    type,
    store.list(type, {
      ...selection,
      ...(limit > 0 ? { limit } : {}),
      ...(continueToken === undefined ? {} : { continueToken }),
    }),
  );
}

async function deleteCollection(
  exchange: Exchange,
  type: ResourceType,
  target: ResourceTarget,
): Promise<void> {
  const options = removeOptions(exchange, recordOf(await bodyOf(exchange)));
  const page = exchange.store.list(type, selectionOf(exchange, target));
  for (const object of page.items) exchange.store.delete(type, object.metadata, options);
  answerList(exchange, type, page);
}

async function serveCollection(
  exchange: Exchange,
  type: ResourceType,
  target: ResourceTarget,
): Promise<void> {
  switch (exchange.request.method ?? '') {
    case 'GET':
      return serveList(exchange, type, target);
    case 'POST': {
      const object = (await objectBody(exchange)) as SentObject;
      return answerObject(
        exchange,
        201,
        type,
        exchange.store.create(
          type,
          { namespace: target.namespace, object },
          writeOptions(exchange),
        ),
      );
    }
    case 'DELETE':
      return await deleteCollection(exchange, type, target);
    default:
      throw methodNotAllowed();
  }
}

const patchTypes: Readonly<Record<string, PatchBody['type']>> = {
  'application/merge-patch+json': 'merge',
  'application/strategic-merge-patch+json': 'strategic',
  'application/json-patch+json': 'json',
};

async function serveApply(
  exchange: Exchange,
  type: ResourceType,
  ref: Ref,
  options: WriteOptions,
): Promise<void> {
  const { store, query } = exchange;
  const manager = query.get('fieldManager') ?? '';
  if (manager === '')
    throw badRequest(
      'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
    );
  const existed = store.find(type, ref) !== undefined;
  const object = applyObject(
    store,
    type,
    { ...ref, object: await objectBody(exchange) },
    { ...options, manager, force: query.get('force') === 'true' },
  );
  answerObject(exchange, existed ? 200 : 201, type, object);
}

const unknownPatchType = (): StatusError =>
  new StatusError({
    code: 415,
    reason: 'UnsupportedMediaType',
    message:
      'the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json, application/apply-patch+yaml',
  });

async function servePatch(
  exchange: Exchange,
  type: ResourceType,
  ref: Ref,
  subresource: 'status' | undefined,
): Promise<void> {
  const mediaType = (exchange.request.headers['content-type'] ?? '').split(';')[0]?.trim() ?? '';
  const options = {
    ...writeOptions(exchange),
    ...(subresource === undefined ? {} : { subresource }),
  };
  if (mediaType === 'application/apply-patch+yaml')
    return await serveApply(exchange, type, ref, options);
  const kind = lookUp(patchTypes, mediaType);
  if (kind === undefined) throw unknownPatchType();
  const patch = { type: kind, body: await bodyOf(exchange) };
  answerObject(exchange, 200, type, exchange.store.patch(type, { ...ref, patch }, options));
}

async function serveDelete(exchange: Exchange, type: ResourceType, ref: Ref): Promise<void> {
  const { object, gone } = exchange.store.delete(
    type,
    ref,
    removeOptions(exchange, recordOf(await bodyOf(exchange))),
  );
  if (!gone || type.table === 'pods') return answerObject(exchange, 200, type, object);
  const { name, uid } = object.metadata;
  answer(exchange, 200, {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: { name, ...(type.group === '' ? {} : { group: type.group }), kind: type.plural, uid },
  });
}

async function serveObject(
  exchange: Exchange,
  type: ResourceType,
  ref: Ref,
  subresource: 'status' | undefined,
): Promise<void> {
  const { store } = exchange;
  switch (exchange.request.method ?? '') {
    case 'GET':
      return answerObject(exchange, 200, type, store.get(type, ref));
    case 'PUT': {
      const object = (await objectBody(exchange)) as SentObject;
      return answerObject(
        exchange,
        200,
        type,
        store.update(
          type,
          { ...ref, object },
          { ...writeOptions(exchange), ...(subresource === undefined ? {} : { subresource }) },
        ),
      );
    }
    case 'PATCH':
      return await servePatch(exchange, type, ref, subresource);
    case 'DELETE':
      if (subresource !== undefined) throw methodNotAllowed();
      return await serveDelete(exchange, type, ref);
    default:
      throw methodNotAllowed();
  }
}

/** PUT of a namespace's finalize subresource: takes its spec's finalizers as given. */
async function serveFinalize(exchange: Exchange, type: ResourceType, ref: Ref): Promise<void> {
  if (type.table !== 'namespaces' || exchange.request.method !== 'PUT') throw noSuchPath();
  const body = await objectBody(exchange);
  const before = exchange.store.get(type, ref);
  const after = exchange.store.state.commit({
    kind: 'modified',
    table: type.table,
    object: { ...before, spec: body['spec'] },
    before,
  });
  answerObject(exchange, 200, type, after);
}

/** Serves everything about one resource: collections, objects and subresources. */
export async function serveResource(exchange: Exchange, target: ResourceTarget): Promise<void> {
  const { store, query } = exchange;
  const type = store.type(target.group, target.version, target.plural);
  if (target.name === undefined) return await serveCollection(exchange, type, target);
  if (query.get('watch') === 'true' && exchange.request.method === 'GET')
    return serveList(exchange, type, target);
  const ref: Ref = { namespace: target.namespace, name: target.name };
  if (target.subresource === undefined) return await serveObject(exchange, type, ref, undefined);
  const { subresource } = target;
  if (subresource === 'finalize') return await serveFinalize(exchange, type, ref);
  if (!type.subresources.some((one) => one === subresource)) throw noSuchPath();
  switch (subresource) {
    case 'status':
      return await serveObject(exchange, type, ref, 'status');
    case 'scale':
      return await serveScale(exchange, type, ref);
    case 'eviction':
      return await serveEviction(exchange, ref);
    case 'binding':
      return await serveBinding(exchange, ref);
    default:
      throw noSuchPath();
  }
}
