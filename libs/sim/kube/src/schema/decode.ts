import { lookUp, put } from '@dovetail/core-invariant';
import { isRecord, type Raw } from '@dovetail/core-kube-model';

import { badRequest } from '../model/errors.js';
import type { SentObject } from '../model/objects.js';
import { canonicalQuantity } from './canonical-quantity.js';
import { resolved, type Schema } from './schema.js';

type Walk = {
  struct: string;
  readonly kind: string;
  readonly version: string;
  readonly custom: boolean;
  readonly unknown: string[];
};

const jsonTypeOf = (value: unknown): string =>
  Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value;

const goTypes: Readonly<Record<string, string>> = {
  integer: 'int32',
  boolean: 'bool',
  string: 'string',
  number: 'float64',
  array: 'list',
  object: 'map',
};

function mistyped(walk: Walk, path: string, schema: Schema, value: unknown): Error {
  const found = jsonTypeOf(value) === 'boolean' ? 'bool' : jsonTypeOf(value);
  const wanted =
    schema.type === 'integer'
      ? (schema.format ?? 'int32')
      : (lookUp(goTypes, schema.type ?? '') ?? 'value');
  return badRequest(
    `${walk.kind} in version "${walk.version}" cannot be handled as a ${walk.kind}: json: cannot unmarshal ${found} into Go struct field ${walk.struct}${path} of type ${wanted}`,
  );
}

const fits = (type: string, value: unknown): boolean => {
  switch (type) {
    case 'object':
      return isRecord(value);
    case 'array':
      return Array.isArray(value);
    case 'integer':
      return typeof value === 'number' && Number.isInteger(value);
    case 'number':
      return typeof value === 'number';
    default:
      return typeof value === type;
  }
};

function walkObject(walk: Walk, schema: Schema, path: string, value: Raw): Raw {
  const kept: Record<string, unknown> = {};
  for (const [field, inner] of Object.entries(value)) {
    const below = lookUp(schema.properties, field);
    if (below !== undefined) {
      const decoded = walkValue(walk, below, `${path}.${field}`, inner);
      if (decoded !== undefined) put(kept, field, decoded);
    } else if (isRecord(schema.additionalProperties)) {
      put(kept, field, walkElement(walk, schema.additionalProperties, `${path}.${field}`, inner));
    } else if (
      schema.properties === undefined &&
      schema.additionalProperties === undefined &&
      !walk.custom
    ) {
      put(kept, field, inner);
    } else if (schema.preserveUnknown === true || schema.additionalProperties === true) {
      put(kept, field, inner);
    } else {
      walk.unknown.push(`${path}.${field}`.slice(1));
    }
  }
  return kept;
}

/**
 * Go's decoder leaves the zero value where a map or a list of one of Kubernetes' own kinds has a
 * null.
 */
function zeroOf(reference: Schema): unknown {
  const schema = resolved(reference);
  if (reference.ref === 'api.resource.Quantity' || schema.format === 'quantity') return '0';
  if (schema.type === 'array') return null;
  return lookUp(zeroByType, schema.type ?? '') ?? {};
}

const zeroByType: Readonly<Record<string, unknown>> = {
  string: '',
  integer: 0,
  number: 0,
  boolean: false,
};

/** An element of a map or of a list. */
const walkElement = (walk: Walk, schema: Schema, path: string, value: unknown): unknown =>
  value === null && !walk.custom ? zeroOf(schema) : walkValue(walk, schema, path, value);

/** Complaints name the innermost definition, as Go's decoder does. */
function walkValue(walk: Walk, reference: Schema, path: string, value: unknown): unknown {
  if (value === null) return walk.custom ? null : undefined;
  const outer = walk.struct;
  if (reference.ref !== undefined)
    walk.struct = reference.ref.slice(reference.ref.lastIndexOf('.') + 1);
  const decoded = walkPlain(walk, reference, path, value);
  walk.struct = outer;
  return decoded;
}

function walkPlain(walk: Walk, reference: Schema, path: string, value: unknown): unknown {
  const schema = resolved(reference);
  if (reference.ref === 'api.resource.Quantity' || schema.format === 'quantity')
    return quantityValue(walk, path, value);
  const isOpen =
    schema.type === undefined || schema.format === 'int-or-string' || schema.intOrString === true;
  if (!walk.custom && !isOpen && !fits(schema.type ?? '', value))
    throw mistyped(walk, path, schema, value);
  if (Array.isArray(value)) {
    const items = schema.items;
    return items === undefined
      ? value
      : value.map((item: unknown, index) => walkElement(walk, items, `${path}[${index}]`, item));
  }
  if (!isRecord(value)) return value;
  if (schema.embedded === true) return walkEmbedded(walk, schema, path, value);
  return isOpen && schema.properties === undefined && schema.additionalProperties === undefined
    ? value
    : walkObject(walk, schema, path, value);
}

function walkEmbedded(walk: Walk, schema: Schema, path: string, value: Raw): Raw {
  const { apiVersion, kind, metadata, ...rest } = value;
  const own = Object.fromEntries(
    Object.entries({ apiVersion, kind, metadata }).filter(([, field]) => field !== undefined),
  );
  return { ...own, ...walkObject(walk, schema, path, rest) };
}

function quantityValue(walk: Walk, path: string, value: unknown): string {
  const text =
    typeof value === 'string' || typeof value === 'number'
      ? canonicalQuantity(String(value))
      : undefined;
  if (text !== undefined) return text;
  throw badRequest(
    `${walk.kind} in version "${walk.version}" cannot be handled as a ${walk.kind}: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$' at ${path.slice(1)}`,
  );
}

const metadataFields = new Set([
  'name',
  'generateName',
  'namespace',
  'selfLink',
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'labels',
  'annotations',
  'ownerReferences',
  'finalizers',
  'managedFields',
]);

function decodedMetadata(walk: Walk, metadata: Raw): Raw {
  const kept: Record<string, unknown> = {};
  for (const [field, value] of Object.entries(metadata)) {
    if (!metadataFields.has(field)) walk.unknown.push(`metadata.${field}`);
    else if (value !== null) put(kept, field, value);
  }
  for (const field of ['labels', 'annotations']) {
    const map = lookUp(kept, field);
    if (map === undefined) continue;
    if (!isRecord(map))
      throw mistyped(
        { ...walk, struct: 'ObjectMeta' },
        `.metadata.${field}`,
        { type: 'object' },
        map,
      );
    const texts = Object.entries(map).map(([key, value]) => [key, value ?? ''] as const);
    put(kept, field, Object.fromEntries(texts));
    for (const [, value] of texts)
      if (typeof value !== 'string')
        throw mistyped(
          { ...walk, struct: 'ObjectMeta' },
          `.metadata.${field}`,
          { type: 'string' },
          value,
        );
    if (Object.keys(map).length === 0) delete kept[field];
  }
  for (const field of ['finalizers', 'ownerReferences']) {
    const list = lookUp(kept, field);
    if (Array.isArray(list) && list.length === 0) delete kept[field];
  }
  return kept;
}

function report(
  walk: Walk,
  options: {
    readonly fieldValidation?: 'Strict' | 'Warn' | 'Ignore';
    readonly warn?: (message: string) => void;
  },
): void {
  const { unknown, kind, version } = walk;
  if (unknown.length === 0 || options.fieldValidation === 'Ignore') return;
  const complaints = unknown.map((path) => `unknown field ${JSON.stringify(path)}`);
  if (options.fieldValidation === 'Strict')
    throw badRequest(
      `${kind} in version "${version}" cannot be handled as a ${kind}: strict decoding error: ${complaints.join(', ')}`,
    );
  for (const complaint of complaints) options.warn?.(complaint);
}

/**
 * Decodes an object as its kind. Throws 400 for wrong types. Fields that the kind does not have are
 * refused, named in a warning or dropped. Quantities take their canonical form.
 */
export function decode(
  type: {
    readonly kind: string;
    readonly version: string;
    readonly custom: boolean;
    readonly schema?: Schema;
  },
  sent: SentObject,
  options: {
    readonly fieldValidation?: 'Strict' | 'Warn' | 'Ignore';
    readonly warn?: (message: string) => void;
  },
): SentObject {
  const walk: Walk = {
    struct: '',
    kind: type.kind,
    version: type.version,
    custom: type.custom,
    unknown: [],
  };
  const { apiVersion, kind, metadata, ...fields } = sent;
  const decoded =
    type.schema === undefined
      ? fields
      : (walkValue(walk, withoutTypeMeta(type.schema), '', fields) as Raw);
  const result = {
    apiVersion,
    kind,
    metadata: decodedMetadata(walk, metadata ?? {}),
    ...decoded,
  } as SentObject;
  report(walk, options);
  return result;
}

const trimmed = new WeakMap<Schema, Schema>();

/** apiVersion, kind and metadata are the same for every kind and read apart. */
function withoutTypeMeta(reference: Schema): Schema {
  const schema = resolved(reference);
  const before = trimmed.get(schema);
  if (before !== undefined) return before;
  const {
    apiVersion: _version,
    kind: _kind,
    metadata: _metadata,
    ...properties
  } = schema.properties ?? {};
  const without = { ...schema, properties };
  trimmed.set(schema, without);
  return without;
}
