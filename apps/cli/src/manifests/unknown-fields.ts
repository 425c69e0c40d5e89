import { annotations, labels } from '@dovetail/core-api';
import { lookUp } from '@dovetail/core-invariant';
import { isRecord, type Raw, recordOf } from '@dovetail/core-kube-model';
import { closest } from '@dovetail/core-scheduling';

import { knownFieldsJson } from './known-fields.js';
import type { Source } from './objects.js';

/**
 * The fields of a value: a shape by name, any value (0), a list or a map of a shape (in brackets),
 * or the fields of an object.
 */
type Shape = string | 0 | readonly [Shape] | { readonly [field: string]: Shape };

type Known = {
  /** The shape of each kind, by `apiVersion/kind`. */
  readonly kinds: Readonly<Record<string, Shape>>;
  readonly shapes: Readonly<Record<string, Shape>>;
};

let parsed: Known | undefined;
const known = (): Known => (parsed ??= JSON.parse(knownFieldsJson) as Known);

/** A field that its object's kind does not have, and the one that may be meant. */
export type UnknownField = { readonly field: string; readonly meant?: string };

/** The shape whose maps have resources as keys. */
const quantity = 'api.resource.Quantity';

/** The resources without a domain of Kubernetes and Karpenter, beside sizes of huge pages. */
const resources = ['cpu', 'memory', 'ephemeral-storage', 'storage', 'pods', 'nodes'];
const isResource = (name: string): boolean =>
  name.includes('/') || resources.includes(name) || /^(?:hugepages|attachable-volumes)-/.test(name);

/** Annotations and labels that change what Dovetail or Karpenter does. */
const ourKeys = new Set<string>([
  ...Object.values(annotations),
  ...Object.values(labels),
  'karpenter.sh/do-not-evict',
  'karpenter.sh/do-not-consolidate',
  'kubernetes.io/metadata.name',
]);
const domainOf = (key: string): string => key.slice(0, key.indexOf('/'));
const ourDomains = ['karpenter.sh', 'karpenter.k8s.aws', 'dovetail.sh'];

/** The key that is meant by a key that is none of ours, and looks like one. */
function meantKey(key: string): string | undefined {
  if (!key.includes('/') || ourKeys.has(key)) return undefined;
  const domain = domainOf(key);
  const isNear = ourDomains.includes(domain) || closest(domain, ourDomains) !== undefined;
  return isNear ? closest(key, ourKeys) : undefined;
}

/** Walks over the fields of an object and collects those that are unknown. */
class Walk {
  readonly found: UnknownField[] = [];
  /** The unknown fields with the objects that they stand in. */
  readonly held: (UnknownField & { readonly owner: Raw; readonly key: string })[] = [];

  value(shape: Shape, value: unknown, path: string): void {
    const fields = typeof shape === 'string' ? (lookUp(known().shapes, shape) ?? 0) : shape;
    if (fields === 0 || typeof value !== 'object' || value === null) return;
    if (Array.isArray(fields)) this.#each((fields as readonly [Shape])[0], value, path);
    else if (isRecord(value)) this.#object(fields as Readonly<Record<string, Shape>>, value, path);
  }

  #each(shape: Shape, value: object, path: string): void {
    if (Array.isArray(value))
      value.forEach((item: unknown, index) => this.value(shape, item, `${path}[${index}]`));
    else
      for (const [key, item] of Object.entries(value)) {
        if (shape === quantity && !isResource(key)) this.#add(`${path}.${key}`, key, resources);
        this.value(shape, item, `${path}.${key}`);
      }
  }

  #object(
    fields: Readonly<Record<string, Shape>>,
    value: Readonly<Record<string, unknown>>,
    path: string,
  ): void {
    for (const key in value) {
      const at = path === '' ? key : `${path}.${key}`;
      const shape = lookUp(fields, key);
      if (shape === undefined)
        this.held.push({ ...this.#add(at, key, Object.keys(fields)), owner: value, key });
      else this.value(shape, lookUp(value, key), at);
    }
  }

  /** Adds the labels and annotations of an object that look like ours. */
  keys(metadata: Readonly<Record<string, unknown>>): void {
    for (const map of ['annotations', 'labels'])
      for (const key of Object.keys(recordOf(lookUp(metadata, map)))) {
        const meant = meantKey(key);
        if (meant !== undefined) this.found.push({ field: `metadata.${map}.${key}`, meant });
      }
  }

  #add(field: string, key: string, fields: readonly string[]): UnknownField {
    const meant = closest(key, fields);
    const unknown = { field, ...(meant === undefined ? {} : { meant }) };
    this.found.push(unknown);
    return unknown;
  }
}

/**
 * The fields of an object that its kind does not have, in Kubernetes 1.34 or the definitions of
 * deploy/crds: an API server drops them. Empty for a kind that is not known in this version.
 */
export function unknownFields({ kind, apiVersion, object }: Source): readonly UnknownField[] {
  const shape = lookUp(known().kinds, `${apiVersion}/${kind}`);
  if (shape === undefined) return [];
  const walk = new Walk();
  walk.value(shape, object, '');
  if (isRecord(object['metadata'])) walk.keys(object['metadata']);
  return walk.found;
}

/**
 * The object without the fields that its kind does not have, and these fields: an API server would
 * refuse or drop them. One of an unknown kind is given back as it is.
 */
export function withoutUnknownFields(object: Raw): {
  readonly object: Raw;
  readonly fields: readonly UnknownField[];
} {
  const shape = lookUp(known().kinds, `${String(object['apiVersion'])}/${String(object['kind'])}`);
  if (shape === undefined) return { object, fields: [] };
  const copy = structuredClone(object) as Record<string, unknown>;
  const walk = new Walk();
  walk.value(shape, copy, '');
  for (const { owner, key } of walk.held) delete (owner as Record<string, unknown>)[key];
  return { object: copy, fields: walk.held.map(({ owner: _owner, key: _key, ...field }) => field) };
}
