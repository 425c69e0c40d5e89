import { compareText } from '@dovetail/core-kube-model';

import { badRequest, expired } from '../model/errors.js';
import { textOf, valueAt } from '../model/json.js';
import type { StoredObject } from '../model/objects.js';
import {
  type FieldTerm,
  type LabelTest,
  parseFieldSelector,
  parseLabelSelector,
} from '../model/selectors.js';
import { presented } from './access.js';
import type { ResourceType } from './registry.js';
import type { StoreState } from './state.js';
import type { ResourceTable } from './table.js';

/** Selects objects by namespace, labels and fields. */
export type Selection = {
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
};

/** The objects to list, and how many in one page. The token continues a list. */
export type ListQuery = Selection & { readonly limit?: number; readonly continueToken?: string };

/** A page of a list. The token is absent on the last one. */
export type ListPage = {
  readonly items: readonly StoredObject[];
  readonly resourceVersion: string;
  readonly continueToken?: string;
  readonly remaining?: number;
};

/** Whether a selection includes the object. */
export type ObjectTest = (object: StoredObject) => boolean;

/** How to read a field of an object as text. Paths are parsed once, not once an object. */
function fieldReader(field: string): (object: StoredObject) => string {
  const path = field === 'source' ? ['source', 'component'] : field.split('.');
  if (field === 'spec.unschedulable' || field === 'spec.hostNetwork')
    return (object) => String(valueAt(object, path) === true);
  return (object) => textOf(valueAt(object, path));
}

function checkedTerms(type: ResourceType, terms: readonly FieldTerm[]): readonly FieldTerm[] {
  for (const { field } of terms) {
    if (field !== 'metadata.name' && field !== 'metadata.namespace' && !type.fields.includes(field))
      throw badRequest(`field label not supported: ${field}`);
  }
  return terms;
}

/**
 * The selection as a test. Throws StatusError 400 when a selector does not parse or names a field
 * without an index.
 */
export function selectionTest(type: ResourceType, selection: Selection): ObjectTest {
  const labels: LabelTest = parseLabelSelector(selection.labelSelector);
  const terms = checkedTerms(type, parseFieldSelector(selection.fieldSelector)).map(
    ({ field, value, equal }) => ({ read: fieldReader(field), value, equal }),
  );
  const namespace = type.namespaced ? selection.namespace : undefined;
  return (object) =>
    (namespace === undefined || namespace === '' || object.metadata.namespace === namespace) &&
    labels(object.metadata.labels) &&
    terms.every(({ read, value, equal }) => (read(object) === value) === equal);
}

type Position = { readonly revision: number; readonly after: string };

function positionOf(token: string | undefined): Position | undefined {
  if (token === undefined || token === '') return undefined;
  try {
    const parsed = JSON.parse(Buffer.from(token, 'base64url').toString()) as Position;
    if (typeof parsed.revision === 'number' && typeof parsed.after === 'string') return parsed;
  } catch {
    // Reported below: the text is no token of ours.
  }
  throw badRequest('continue key is not valid: it was not issued by this server');
}

function firstAfter(keys: readonly string[], key: string): number {
  let low = 0;
  for (let high = keys.length; low < high;) {
    const middle = (low + high) >> 1;
    if (compareText(keys[middle] as string, key) <= 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The keys to look at. A selector of one node has an index, and every other looks at all. */
function keysFor(table: ResourceTable, { fieldSelector }: Selection): readonly string[] {
  const onNode = parseFieldSelector(fieldSelector).find(
    ({ field, value, equal }) => equal && field === 'spec.nodeName' && value !== '',
  );
  return onNode === undefined ? table.keys() : table.keysOnNode(onNode.value);
}

/** Where a namespace's keys begin and end: they stand together. */
function rangeOf(
  type: ResourceType,
  keys: readonly string[],
  namespace: string,
): { readonly prefix: string; readonly end: number } {
  if (!type.namespaced || namespace === '') return { prefix: '', end: keys.length };
  return { prefix: `${namespace}/`, end: firstAfter(keys, `${namespace}/\uffff`) };
}

/**
 * One page of a list, by namespace and name. Later pages show the objects as they are by then,
 * under the first page's resourceVersion. A watch from there sees every change in between. Throws
 * 410 when that revision is no longer watchable.
 */
export function listObjects(state: StoreState, type: ResourceType, query: ListQuery): ListPage {
  const table = state.table(type.table);
  const test = selectionTest(type, query);
  const position = positionOf(query.continueToken);
  if (position !== undefined && table.since(position.revision) === undefined) {
    throw expired(
      'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter.',
    );
  }
  const revision = position?.revision ?? state.revision;
  const keys = keysFor(table, query);
  const items: StoredObject[] = [];
  const { prefix, end } = rangeOf(type, keys, query.namespace ?? '');
  let at = firstAfter(keys, position?.after ?? prefix);
  const limit = query.limit === undefined || query.limit <= 0 ? Infinity : query.limit;
  for (; at < end && items.length < limit; at += 1) {
    const object = table.get(keys[at] as string) as StoredObject;
    if (test(object)) items.push(presented(type, object));
  }
  const page = { items, resourceVersion: String(revision) };
  if (at >= end) return page;
  const continueToken = Buffer.from(
    JSON.stringify({ revision, after: keys[at - 1] as string }),
  ).toString('base64url');
  const filtered = (query.labelSelector ?? '') !== '' || (query.fieldSelector ?? '') !== '';
  return filtered ? { ...page, continueToken } : { ...page, continueToken, remaining: end - at };
}
