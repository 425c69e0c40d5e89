import { lookUp } from '@dovetail/core-invariant';
import { isRecord, type Raw, recordOf } from '@dovetail/core-kube-model';

import type { Source } from '../../manifests/objects.js';

/** A change to a field, by its path in the object that was given. */
export type Note = { readonly field: string; readonly text: string };

/** Says what became of a field. */
export type Tell = (field: string, text: string) => void;

/** An object of the output, and what was changed in it. */
export type Draft = {
  readonly source: Source;
  object: Raw;
  readonly notes: Note[];
  /** For a pool of an older version: the kubelet settings that belong to its class in v1. */
  readonly kubelet?: { readonly field: string; readonly settings: Raw | undefined };
};

/** The flags of a conversion: facts of the cluster that the objects leave out. */
export type Cluster = {
  readonly role?: string;
  readonly instanceProfile?: string;
  readonly kubernetes: { readonly major: number; readonly minor: number };
};

/** Whether a field is there: kubectl drops those that are null. */
export const isPresent = (value: unknown): boolean => value !== undefined && value !== null;

/** A field as text; empty when it is none. */
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** The object's name. */
export const nameOf = (object: Raw): string => textOf(recordOf(object['metadata'])['name']);

/** The object without some fields. */
export const without = (object: Raw, ...names: readonly string[]): Raw =>
  Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)));

/** Those of the fields that are there. */
export const only = (object: Raw, ...names: readonly string[]): Raw =>
  Object.fromEntries(
    names
      .filter((name) => isPresent(lookUp(object, name)))
      .map((name) => [name, lookUp(object, name)]),
  );

/** Says for each field outside of the known ones that v1 has none of its name. */
export function tellUnknown(object: Raw, known: readonly string[], path: string, tell: Tell): void {
  for (const name of Object.keys(object))
    if (!known.includes(name) && isPresent(lookUp(object, name)))
      tell(`${path}.${name}`, 'left out: v1 has no such field; correct the name or remove it');
}

const keptMetadata = ['name', 'labels', 'annotations'];
const oldAnnotations = [
  'kubectl.kubernetes.io/last-applied-configuration',
  'karpenter.sh/provisioner-hash',
  'karpenter.k8s.aws/nodetemplate-hash',
];

/**
 * The metadata of an object that becomes one of another kind: name, labels and annotations. The
 * rest is the API server's record of the object before.
 */
export function movedMetadata(raw: unknown, tell: Tell): Raw {
  const metadata = recordOf(raw);
  const kept = only(metadata, ...keptMetadata);
  for (const name of Object.keys(metadata))
    if (!keptMetadata.includes(name) && isPresent(lookUp(metadata, name)))
      tell(`metadata.${name}`, 'left out: it belongs to the object of the old kind');
  if (!isRecord(kept['annotations'])) return kept;
  const stale = oldAnnotations.filter((name) =>
    isPresent(lookUp(recordOf(kept['annotations']), name)),
  );
  for (const name of stale)
    tell(`metadata.annotations[${name}]`, 'left out: it describes the object of the old kind');
  const annotations = without(kept['annotations'], ...stale);
  return Object.keys(annotations).length === 0
    ? without(kept, 'annotations')
    : { ...kept, annotations };
}
