import { lookUp, put } from '@dovetail/core-invariant';
import { isRecord, type Raw, recordOf } from '@dovetail/core-kube-model';

import { badRequest, invalid, StatusError } from '../model/errors.js';
import { cloneJson, equalJson, valueAt } from '../model/json.js';
import type { SentObject, StoredObject } from '../model/objects.js';
import type { ResourceType } from './registry.js';
import { strategicMerge } from './strategic.js';

type JsonOperation = {
  readonly op: string;
  readonly path: string;
  readonly value?: unknown;
  readonly from?: string;
};

/** A patch and the rules by which it is merged. */
export type PatchBody =
  | { readonly type: 'merge'; readonly body: unknown }
  | { readonly type: 'strategic'; readonly body: unknown }
  | { readonly type: 'json'; readonly body: unknown };

/** RFC 7396: null removes, objects merge, everything else replaces. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch;
  const merged: Record<string, unknown> = { ...recordOf(target) };
  for (const [field, value] of Object.entries(patch)) {
    if (value === null) delete merged[field];
    else put(merged, field, mergePatch(lookUp(merged, field), value));
  }
  return merged;
}

const unescape = (token: string): string => token.replaceAll('~1', '/').replaceAll('~0', '~');

function pointerOf(path: string): readonly string[] {
  if (path === '') return [];
  if (!path.startsWith('/'))
    throw badRequest(`json patch path ${JSON.stringify(path)} must start with "/"`);
  return path.slice(1).split('/').map(unescape);
}

/** Kubernetes does not say which operation failed, so the twin does not either. */
const cannotApply = (): StatusError =>
  new StatusError({
    code: 422,
    reason: 'Invalid',
    message: 'the server rejected our request due to an error in our request',
  });

type Container = Record<string, unknown> | unknown[];

function parentOf(
  document: unknown,
  operation: JsonOperation,
  pointer: readonly string[],
): Container {
  const parent = valueAt(document, pointer.slice(0, -1));
  if (typeof parent !== 'object' || parent === null) throw cannotApply();
  return parent as Container;
}

function setAt(document: unknown, operation: JsonOperation, value: unknown): unknown {
  const pointer = pointerOf(operation.path);
  const last = pointer.at(-1);
  if (last === undefined) return value;
  const parent = parentOf(document, operation, pointer);
  if (!Array.isArray(parent)) {
    if (operation.op === 'replace' && lookUp(parent, last) === undefined) throw cannotApply();
    put(parent, last, value);
    return document;
  }
  const index = last === '-' ? parent.length : Number(last);
  const max = operation.op === 'replace' ? parent.length - 1 : parent.length;
  if (!Number.isInteger(index) || index < 0 || index > max) throw cannotApply();
  parent.splice(index, operation.op === 'replace' ? 1 : 0, value);
  return document;
}

function removeAt(document: unknown, operation: JsonOperation, path: string): unknown {
  const pointer = pointerOf(path);
  const last = pointer.at(-1);
  if (last === undefined) return {};
  const parent = parentOf(document, operation, pointer);
  if (Array.isArray(parent)) {
    if (!(Number(last) in parent)) throw cannotApply();
    parent.splice(Number(last), 1);
  } else {
    if (!Object.hasOwn(parent, last)) throw cannotApply();
    delete parent[last];
  }
  return document;
}

function applyOperation(document: unknown, operation: JsonOperation): unknown {
  switch (operation.op) {
    case 'add':
    case 'replace':
      return setAt(document, operation, cloneJson(operation.value));
    case 'remove':
      return removeAt(document, operation, operation.path);
    case 'test':
      if (equalJson(valueAt(document, pointerOf(operation.path)) ?? null, operation.value ?? null))
        return document;
      throw cannotApply();
    case 'copy':
    case 'move': {
      const value: unknown = cloneJson(valueAt(document, pointerOf(operation.from ?? '')));
      const without =
        operation.op === 'move' ? removeAt(document, operation, operation.from ?? '') : document;
      return setAt(without, { ...operation, op: 'add' }, value);
    }
    default:
      throw badRequest(`unexpected json patch operation ${JSON.stringify(operation.op)}`);
  }
}

/** RFC 6902. Throws StatusError 422 when a test fails or a path leads nowhere. */
function jsonPatch(target: unknown, operations: unknown): unknown {
  if (!Array.isArray(operations)) throw badRequest('json patch must be a list of operations');
  return (operations as JsonOperation[]).reduce<unknown>(applyOperation, cloneJson(target));
}

/** The object after the patch, ready to be sent as an update. */
export function patched(type: ResourceType, before: StoredObject, patch: PatchBody): SentObject {
  if (patch.type === 'strategic' && type.custom) {
    throw new StatusError({
      code: 415,
      reason: 'UnsupportedMediaType',
      message:
        'the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml, application/apply-patch+cbor',
    });
  }
  const after =
    patch.type === 'merge'
      ? mergePatch(before, patch.body)
      : patch.type === 'json'
        ? jsonPatch(before, patch.body)
        : strategicMerge(type.schema, before, patch.body);
  const result = after as SentObject & Raw;
  if (result.metadata?.name !== before.metadata.name)
    throw invalid(type, before.metadata.name, [
      {
        type: 'FieldValueInvalid',
        field: 'metadata.name',
        message: `Invalid value: ${JSON.stringify(result.metadata?.name ?? '')}: field is immutable`,
      },
    ]);
  return result;
}
