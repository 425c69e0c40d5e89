import { type Raw, recordOf } from '@dovetail/core-kube-model';

import {
  badRequest,
  invalid,
  invalidValue,
  methodNotAllowed,
  noSuchPath,
} from '../model/errors.js';
import { textOf, withValueAt } from '../model/json.js';
import type { LabelSelectorSpec, StoredObject } from '../model/objects.js';
import { mergePatch } from '../store/patch.js';
import type { ResourceType, ScalePaths } from '../store/registry.js';
import type { Ref } from '../store/store.js';
import { answer, type Exchange, objectBody } from './exchange.js';
import { removeOptions } from './options.js';
import { valuesAtPath } from './tables/json-path.js';
import { selectorText } from './tables/workloads.js';

function scaleSelector(object: StoredObject, paths: ScalePaths): string {
  const own = recordOf(object['spec'])['selector'];
  if (paths.labelSelectorPath !== undefined) {
    const [text] = valuesAtPath(object, paths.labelSelectorPath);
    if (typeof text === 'string') return text;
  }
  return own === undefined ? '' : selectorText(own as LabelSelectorSpec);
}

function scaleOf(type: ResourceType, object: StoredObject): Raw {
  const paths = type.scale as ScalePaths;
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const selector = scaleSelector(object, paths);
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    spec: { replicas: Number(valuesAtPath(object, paths.specReplicasPath)[0] ?? 0) },
    status: {
      replicas: Number(valuesAtPath(object, paths.statusReplicasPath)[0] ?? 0),
      ...(selector === '' ? {} : { selector }),
    },
  };
}

function setScale(exchange: Exchange, type: ResourceType, ref: Ref, scale: Raw): void {
  const before = exchange.store.get(type, ref);
  const replicas = Number(recordOf(scale['spec'])['replicas'] ?? 0);
  if (!Number.isInteger(replicas) || replicas < 0)
    throw invalid({ group: 'autoscaling', plural: 'scales', kind: 'Scale' }, ref.name, [
      invalidValue('spec.replicas', replicas, 'must be greater than or equal to 0'),
    ]);
  const path = (type.scale as ScalePaths).specReplicasPath.replace(/^\./, '').split('.');
  const resourceVersion = textOf(recordOf(scale['metadata'])['resourceVersion']);
  const after = withValueAt(before, path, replicas) as unknown as StoredObject;
  const guarded =
    resourceVersion === '' ? after : { ...after, metadata: { ...after.metadata, resourceVersion } };
  answer(exchange, 200, scaleOf(type, exchange.store.update(type, { ...ref, object: guarded })));
}

/** GET, PUT and PATCH of the scale subresource. */
export async function serveScale(exchange: Exchange, type: ResourceType, ref: Ref): Promise<void> {
  if (type.scale === undefined) throw noSuchPath();
  const current = scaleOf(type, exchange.store.get(type, ref));
  switch (exchange.request.method ?? '') {
    case 'GET':
      return answer(exchange, 200, current);
    case 'PUT':
      return setScale(exchange, type, ref, await objectBody(exchange));
    case 'PATCH': {
      const { metadata, ...rest } = current;
      const { resourceVersion: _current, ...unguarded } = recordOf(metadata);
      return setScale(
        exchange,
        type,
        ref,
        recordOf(mergePatch({ ...rest, metadata: unguarded }, await objectBody(exchange))),
      );
    }
    default:
      throw methodNotAllowed();
  }
}

const success = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 };

/** POST of an Eviction. */
export async function serveEviction(exchange: Exchange, ref: Ref): Promise<void> {
  if (exchange.request.method !== 'POST') throw methodNotAllowed();
  const body = await objectBody(exchange);
  const named = textOf(recordOf(body['metadata'])['name']);
  if (named !== '' && named !== ref.name)
    throw badRequest('name in URL does not match name in Eviction object');
  exchange.store.evict(
    { namespace: ref.namespace ?? '', name: ref.name },
    removeOptions(exchange, recordOf(body['deleteOptions'])),
  );
  answer(exchange, 201, success);
}

/** POST of a Binding. */
export async function serveBinding(exchange: Exchange, ref: Ref): Promise<void> {
  if (exchange.request.method !== 'POST') throw methodNotAllowed();
  const body = await objectBody(exchange);
  const uid = textOf(recordOf(body['metadata'])['uid']);
  const target = recordOf(body['target']);
  const kind = textOf(target['kind']);
  if (kind !== '' && kind !== 'Node')
    throw invalid({ group: '', plural: 'bindings', kind: 'Binding' }, ref.name, [
      {
        type: 'FieldValueNotSupported',
        field: 'target.kind',
        message: `Unsupported value: ${JSON.stringify(kind)}: supported values: "Node", "<empty>"`,
      },
    ]);
  exchange.store.bind(
    { namespace: ref.namespace ?? '', name: ref.name, ...(uid === '' ? {} : { uid }) },
    textOf(target['name']),
  );
  answer(exchange, 201, success);
}
