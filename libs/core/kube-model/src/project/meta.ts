import type { Resources } from '../quantity.js';
import { resourcesOf } from '../quantity-text.js';
import type { Raw } from './raw.js';
import {
  isRecord,
  Malformed,
  optional,
  readInteger,
  readRecord,
  readRequiredText,
  readText,
  readTextMap,
  readTexts,
  readTimeMs,
  withoutNulls,
} from './raw.js';

/** The metadata that every projected object shares. */
export type Meta = {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  readonly resourceVersion: string;
  readonly generation: number;
  readonly createdMs: number;
  readonly deletionMs?: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly finalizers: readonly string[];
};

/**
 * Reads metadata. Name and UID are required, because objects are known by them. An object without a
 * namespace is in `default`. A manifest has an empty resourceVersion and counts as the oldest.
 */
export function readMeta(object: Raw): Meta {
  const metadata = readRecord(object['metadata'], 'metadata');
  return {
    uid: readRequiredText(metadata['uid'], 'metadata.uid'),
    name: readRequiredText(metadata['name'], 'metadata.name'),
    namespace: readText(metadata['namespace'], 'metadata.namespace') || 'default',
    resourceVersion: readText(metadata['resourceVersion'], 'metadata.resourceVersion') ?? '',
    generation: readInteger(metadata['generation'], 'metadata.generation') ?? 0,
    createdMs: readTimeMs(metadata['creationTimestamp'], 'metadata.creationTimestamp') ?? 0,
    ...optional(
      'deletionMs',
      readTimeMs(metadata['deletionTimestamp'], 'metadata.deletionTimestamp'),
    ),
    labels: readTextMap(metadata['labels'], 'metadata.labels'),
    annotations: readTextMap(metadata['annotations'], 'metadata.annotations'),
    finalizers: readTexts(metadata['finalizers'], 'metadata.finalizers'),
  };
}

/** The object that a parser was given, with its fields unchecked. */
export function readObject(raw: unknown): Raw {
  if (!isRecord(raw)) throw new Malformed('', raw, 'write a Kubernetes object here');
  return raw;
}

const readPrefixes = ['karpenter.sh/', 'karpenter.k8s.aws/', 'dovetail.sh/'];

/** Keeps the annotations that Dovetail reads on nodes and claims: Karpenter's and its own. */
export function managedAnnotations(
  annotations: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(annotations).filter(([key]) =>
      readPrefixes.some((prefix) => key.startsWith(prefix)),
    ),
  );
}

/** Reads a resource list of a custom resource or a status. A bad quantity names its own path. */
export function readResources(raw: unknown, field: string): Resources {
  const parsed = resourcesOf(readRecord(withoutNulls(raw), field));
  if (!parsed.ok)
    throw new Malformed(
      `${field}.${parsed.name}`,
      parsed.value,
      'write a Kubernetes quantity such as 500m, 2 or 4Gi',
    );
  return parsed.value;
}
